"""Encoders and bins: the same codes as scikit-learn for every category, known or not; refusals by name."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import assert_every_form
from sklearn.compose import ColumnTransformer
from sklearn.impute import KNNImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read.sklearn.estimators import front_of

pytestmark = pytest.mark.filterwarnings("ignore")
ROWS = 10_000
ENCODERS = {
    "flags": OneHotEncoder(handle_unknown="ignore"),
    "without-the-first": OneHotEncoder(handle_unknown="ignore", drop="first"),
    "without-one-of-two": OneHotEncoder(handle_unknown="ignore", drop="if_binary"),
    "named-drop": OneHotEncoder(handle_unknown="ignore", drop=[2.0, 7.0, 1.0]),
    "rare-together": OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=60),
    "rare-ignored": OneHotEncoder(handle_unknown="ignore", max_categories=3, drop="first"),
    "rare-dropped": OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2, drop="first"),
    "whole": OneHotEncoder(handle_unknown="ignore", dtype=np.int64, sparse_output=False),
    "numbers": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "rare-numbers": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99, min_frequency=60),
    "targets": TargetEncoder(),
    "bins": KBinsDiscretizer(4, strategy="uniform"),
    "dense-bins": KBinsDiscretizer(3, encode="onehot-dense", strategy="kmeans", random_state=0),
    "numbered-bins": KBinsDiscretizer(5, encode="ordinal", quantile_method="averaged_inverted_cdf"),
}


def rows(count, seed=0):
    """Categories 0 to 4; five numbers, some rare; two; and a number that is none."""
    random = np.random.default_rng(seed)
    rare = random.choice([1, 2, 3, 4, 7], count, p=[0.5, 0.3, 0.1, 0.06, 0.04])
    columns = [random.integers(0, 5, count), rare, random.integers(0, 2, count), random.normal(size=count)]
    return np.column_stack(columns).astype(np.float32).astype(np.float64)


def unseen():
    """Rows with categories that were not there, and bins beyond both ends."""
    X = rows(ROWS, 1)
    X[:500, 1], X[500:900, 0], X[900:1000, 2] = 9, -3, 0.5
    return X


def labels(X):
    return (X[:, 0] + X[:, 1] > 3) * 1 + (X[:, 2] + X[:, 3] > 1)


@pytest.mark.parametrize("name", ENCODERS)
def test_codes_are_those_of_scikit_learn(name):
    X = rows(500)
    encoder = ENCODERS[name].fit(X[:, :3], labels(X))
    found = front_of(encoder, "a test").run(unseen()[:, :3])
    wanted = encoder.transform(unseen()[:, :3])
    np.testing.assert_allclose(found, getattr(wanted, "toarray", lambda: wanted)(), atol=1e-12)


@pytest.mark.compile
@pytest.mark.parametrize("name", ["rare-together", "targets", "numbered-bins"])
def test_every_form_of_a_pipeline(name, tmp_path):
    X, columns = rows(500), [0, 1, 2]
    chosen = ColumnTransformer([("codes", ENCODERS[name], columns), ("scaled", StandardScaler(), [3])])
    model = make_pipeline(chosen, SVC(decision_function_shape="ovo")).fit(X, labels(X))
    assert_every_form(model, unseen(), tmp_path, 2e-4, ("c", "onnx", "blob"), ("f64",))


def test_a_feature_that_is_not_finite_has_no_code():
    X = rows(500)
    program = sc.compile(make_pipeline(ENCODERS["bins"], LinearSVC()).fit(X, labels(X)))
    bad = unseen()[:3].copy()
    bad[0, 0], bad[1, 1] = np.nan, np.inf
    assert np.isnan(program.decision_function(bad)).all(axis=1).tolist() == [True, True, False]


def damaged(**attributes):
    X = rows(500)
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore", min_frequency=60), LinearSVC()).fit(
        X, labels(X)
    )
    vars(model[0]).update(attributes)
    return model


@pytest.mark.parametrize(
    "attributes",
    [
        {"categories_": [np.array([])] * 4},
        {"categories_": [np.zeros((2, 2))] * 4},
        {"_default_to_infrequent_mappings": [np.array([9] * 5)] * 4},
        {"_default_to_infrequent_mappings": [np.array([0])] * 4},
    ],
)
def test_damaged_encoders_are_refused(attributes):
    with pytest.raises((ReadError, UnsupportedError)):
        sc.compile(damaged(**attributes))


REFUSED = {
    "is not a float32 number": (OneHotEncoder(), lambda X: X + 0.1),
    "are bytes, neither text nor numbers": (OrdinalEncoder(), lambda X: X.astype("S8")),
    "are date, neither text nor numbers": (OrdinalEncoder(), lambda X: X.astype("datetime64[D]")),
    "dtype=float32": (OneHotEncoder(dtype=np.float32), lambda X: X),
    "unknown_value": (
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
        lambda X: X,
    ),
    "keeps every training row": (KNNImputer(), lambda X: X),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_cannot_be_compiled_is_refused_by_name(says):
    encoder, change = REFUSED[says]
    X = rows(300)[:, :3]
    model = make_pipeline(encoder, LinearSVC()).fit(change(X), labels(rows(300)))
    with pytest.raises(UnsupportedError, match=says):
        sc.compile(model)
