"""Quantiles and splines: the same as scikit-learn between, at and beyond knots; refusals by name."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import assert_every_form
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, SplineTransformer, StandardScaler
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read.sklearn.estimators import front_of

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = 10_000
CURVES = {
    "quantiles": QuantileTransformer(n_quantiles=40),
    "all-quantiles": QuantileTransformer(n_quantiles=500),
    "two-quantiles": QuantileTransformer(n_quantiles=2),
    "one-quantile": QuantileTransformer(n_quantiles=1),
    "normal": QuantileTransformer(n_quantiles=100, output_distribution="normal"),
    "all-normal": QuantileTransformer(n_quantiles=500, output_distribution="normal"),
    "one-normal": QuantileTransformer(n_quantiles=1, output_distribution="normal"),
    "cubic": SplineTransformer(),
    "lines": SplineTransformer(degree=1, n_knots=4, include_bias=False),
    "lines-on": SplineTransformer(degree=1, n_knots=3, extrapolation="continue"),
    "squares": SplineTransformer(degree=2, n_knots=2, extrapolation="linear"),
    "cubic-on": SplineTransformer(knots="quantile", extrapolation="continue", include_bias=False),
    "own-knots": SplineTransformer(knots=np.outer([-1, 0, 0.5, 3.0], [1, 1, 2, 2]), extrapolation="linear"),
    "repeated": SplineTransformer(knots="quantile", n_knots=9),
    "repeated-on": SplineTransformer(knots="quantile", n_knots=12, extrapolation="linear", degree=2),
    "circle": SplineTransformer(extrapolation="periodic"),
    "small-circle": SplineTransformer(extrapolation="periodic", n_knots=3, degree=2, include_bias=False),
    "hours": SplineTransformer(extrapolation="periodic", knots=np.outer([0, 1, 3, 4, 6], np.ones(4))),
    "steps": SplineTransformer(degree=0, extrapolation="continue"),
    "steps-in-circles": SplineTransformer(degree=0, extrapolation="periodic", n_knots=4),
    "missing": SplineTransformer(handle_missing="zeros"),
    "missing-on": SplineTransformer(handle_missing="zeros", extrapolation="continue", include_bias=False),
    "sparse": SplineTransformer(sparse_output=True, degree=4),
}


def rows(count, seed=0, spread=1.0):
    """Numbers; whole numbers, which repeat; many zeros; numbers of another size."""
    random = np.random.default_rng(seed)
    many = np.where(random.random(count) < 0.6, 0, random.exponential(size=count))
    columns = [
        random.normal(size=count),
        random.integers(0, 6, count),
        many,
        100 + random.normal(size=count),
    ]
    return (np.column_stack(columns) * spread).astype(np.float32).astype(np.float64)


def beyond(X):
    """Rows of which some lie outside the training rows, and some are training rows themselves."""
    found = rows(ROWS, 1)
    found[: len(X)] = X
    found[1000:2000] = rows(1000, 2, 1.5)
    found[2000:2100] = -1.0
    return found


def labels(X):
    return (X[:, 0] + X[:, 1] > 3) * 1 + (X[:, 2] + X[:, 3] > 101)


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_those_of_scikit_learn(name):
    X = rows(500)
    same = ("quantiles", "repeated", "normal", "circle")  # where one feature is the same everywhere
    X[:, 3] = 100 if name.endswith(same) else X[:, 3]
    curves, given = CURVES[name].fit(X), beyond(X)
    if name.startswith("missing"):
        given[::7, 1] = given[3::5, 2] = np.nan
    wanted = curves.transform(given)
    wanted = getattr(wanted, "toarray", lambda: wanted)()
    np.testing.assert_allclose(front_of(curves, "a test").run(given), wanted, rtol=1e-8, atol=1e-11)


def test_lines_of_one_feature_go_on():
    X = rows(500)
    curves, given = SplineTransformer(degree=1, extrapolation="linear").fit(X[:, :1]), beyond(X)[:, :1]
    np.testing.assert_allclose(front_of(curves, "a test").run(given), curves.transform(given), atol=1e-11)


@pytest.mark.compile
@pytest.mark.parametrize(
    "name", ["quantiles", "normal", "cubic", "cubic-on", "own-knots", "hours", "missing"]
)
def test_every_form_of_a_pipeline(name, tmp_path):
    X, given = rows(500), beyond(rows(500))
    if name == "missing":
        given[::7, 1] = given[3::5, 2] = np.nan
    chosen = ColumnTransformer([("curves", CURVES[name], [0, 1, 2, 3]), ("scaled", StandardScaler(), [3])])
    model = make_pipeline(chosen, SVC(decision_function_shape="ovo")).fit(X, labels(X))
    assert_every_form(model, given, tmp_path, 2e-3)


def test_a_feature_that_is_not_finite_has_no_curves():
    X = rows(500)
    program = sc.compile(make_pipeline(CURVES["cubic"], LinearSVC()).fit(X, labels(X)))
    bad = beyond(X)[:3].copy()
    bad[0, 0], bad[1, 1] = np.nan, np.inf
    assert np.isnan(program.decision_function(bad)).all(axis=1).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("quantiles", {"quantiles_": np.zeros((3, 4))}),
        ("quantiles", {"quantiles_": -np.arange(160.0).reshape(40, 4)}),
        ("quantiles", {"quantiles_": np.full((40, 4), np.nan)}),
        ("quantiles", {"references_": np.zeros((2, 2))}),
        ("cubic", {"bsplines_": []}),
        ("cubic", {"bsplines_": [None] * 4}),
        ("cubic", {"degree": 9}),
    ],
)
def test_damaged_curves_are_refused(name, attributes):
    X = rows(500)
    model = make_pipeline(CURVES[name], LinearSVC()).fit(X, labels(X))
    vars(model[0]).update(attributes)
    with pytest.raises((ReadError, UnsupportedError)):
        sc.compile(model)


REFUSED = {
    "ignore_implicit_zeros": QuantileTransformer(n_quantiles=9, ignore_implicit_zeros=True),
    "extrapolation='error'": SplineTransformer(extrapolation="error"),
    "degree=0 and extrapolation='constant'": SplineTransformer(degree=0),
    "degree=1 and": SplineTransformer(degree=1, extrapolation="linear"),
    "handle_missing": SplineTransformer(handle_missing="zeros", extrapolation="periodic"),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_cannot_be_compiled_is_refused_by_name(says):
    X = rows(300)
    with pytest.raises(UnsupportedError, match=says):
        front_of(REFUSED[says].fit(X), "a test")
