"""Power transforms: the same as scikit-learn for features of any sign and power; refusals by name."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import assert_every_form
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read.sklearn.estimators import front_of

ROWS = 10_000
METHODS = ("yeo-johnson", "box-cox")


def rows(count, method, seed=0):
    """Skewed to the right, to the left, not at all, and near one number."""
    random = np.random.default_rng(seed)
    columns = [np.exp(random.normal(size=count)), 9 - random.exponential(size=count)]
    columns += [5 + random.normal(size=count), 1 + random.random(count) / 100]
    X = np.column_stack(columns)
    X = np.maximum(X, 1e-3) if method == "box-cox" else X - [1, 9, 5, 1]
    return X.astype(np.float32).astype(np.float64)


def labels(X):
    return (X[:, 0] > np.median(X[:, 0])) * 1 + (X[:, 1] + X[:, 2] > np.median(X[:, 1] + X[:, 2]))


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_powers_are_those_of_scikit_learn(method, standardize):
    powers = PowerTransformer(method, standardize=standardize).fit(rows(500, method))
    given = rows(ROWS, method, 1)
    found = front_of(powers, "a test").run(given)
    np.testing.assert_allclose(found, powers.transform(given), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("power", [0.0, 2.0, 1.0, -3.0, 1e-9, 1e-3, 2 - 1e-9])
@pytest.mark.parametrize("method", METHODS)
def test_every_power(method, power):
    powers = PowerTransformer(method, standardize=False).fit(rows(50, method))
    powers.lambdas_ = np.full(4, power)
    given = rows(ROWS, method, 1)
    found = front_of(powers, "a test").run(given)
    np.testing.assert_allclose(found, powers.transform(given), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_rows_are_found_again(method):
    X = rows(500, method)
    front = front_of(PowerTransformer(method).fit(X), "a test")
    np.testing.assert_allclose(front.source(front.run(X)), X, rtol=1e-7, atol=1e-7)


@pytest.mark.compile
@pytest.mark.parametrize("method", METHODS)
def test_every_form_of_a_pipeline(method, tmp_path):
    X, given = rows(500, method), rows(ROWS, method, 1)
    model = make_pipeline(PowerTransformer(method), SVC(decision_function_shape="ovo")).fit(X, labels(X))
    assert_every_form(model, given, tmp_path, 5e-3)


def test_features_that_have_no_power_have_no_score():
    X = rows(500, "box-cox")
    program = sc.compile(make_pipeline(PowerTransformer("box-cox"), LinearSVC()).fit(X, labels(X)))
    bad = X[:5].copy()
    bad[0, 0], bad[1, 1], bad[2, 2], bad[3, 3] = np.nan, np.inf, 0.0, -1.0
    assert np.isnan(program.decision_function(bad)).all(axis=1).tolist() == [True] * 4 + [False]


@pytest.mark.parametrize(
    "attributes",
    [{"lambdas_": np.full(4, np.nan)}, {"lambdas_": np.ones(3)}, {"method": "other"}, {"_scaler": None}],
)
def test_damaged_powers_are_refused(attributes):
    X = rows(500, "yeo-johnson")
    model = make_pipeline(PowerTransformer(), LinearSVC()).fit(X, labels(X))
    vars(model[0]).update(attributes)
    with pytest.raises((ReadError, UnsupportedError)):
        sc.compile(model)
