"""Damaged estimators: whatever an attribute holds, reading gives a model or an error of ours."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import blobs, program_of
from scipy import sparse
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, OneClassSVM

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read import read


def broken_sparse():
    matrix = sparse.csr_matrix(np.eye(5))
    matrix.indices[0] = 10**6
    return matrix


WRONG_VALUES = {
    "None": None,
    "text": "text",
    "ragged": [[1], [1, 2]],
    "objects": np.array([object()]),
    "number strings": np.array(["1.0", "2.0"]),
    "complex": np.array([[1j]]),
    "nan": np.full((2, 2), np.nan),
    "inf": np.full(3, np.inf),
    "negative": np.array([-1, -1, -1], dtype=np.int32),
    "empty": np.zeros((0, 0)),
    "cube": np.zeros((2, 2, 2)),
    "scalar": 0.5,
    "huge int": 10**400,
    "broken sparse": broken_sparse(),
    "huge sparse": sparse.csr_matrix((10**6, 10**6)),
    "flag": True,
    "callable": len,
    "dict": {"a": 1},
}
ATTRIBUTES = {
    SVC: [
        "support_vectors_", "dual_coef_", "intercept_", "_intercept_", "_dual_coef_", "_n_support",
        "classes_", "kernel", "_gamma", "coef0", "degree", "break_ties", "decision_function_shape",
        "_probA", "feature_names_in_", "_impl",
    ],
    OneClassSVM: ["support_vectors_", "dual_coef_", "intercept_", "_gamma"],
    LinearSVC: ["coef_", "intercept_", "classes_"],
    LinearSVR: ["coef_", "intercept_"],
    LogisticRegression: ["coef_", "intercept_", "classes_", "solver"],
    SGDClassifier: ["coef_", "loss"],
    StandardScaler: ["mean_", "scale_", "with_mean", "with_std"],
    MinMaxScaler: ["scale_", "min_", "clip", "feature_range"],
    Pipeline: ["steps"],
}  # fmt: skip
CORRUPTIONS = [(kind, name) for kind, names in ATTRIBUTES.items() for name in names]


def healthy(kind):
    """A fitted estimator and the part of it that is to be broken."""
    X, y = blobs(3)
    if kind in (StandardScaler, MinMaxScaler):
        options = {"clip": True} if kind is MinMaxScaler else {}
        pipeline = make_pipeline(kind(**options), SVC(kernel="poly")).fit(X, y)
        return pipeline, pipeline[0]
    if kind is Pipeline:
        pipeline = make_pipeline(StandardScaler(), SVC()).fit(X, y)
        return pipeline, pipeline
    estimator = (SVC(kernel="poly") if kind is SVC else kind()).fit(X, y)
    return estimator, estimator


@pytest.mark.parametrize(("kind", "name"), CORRUPTIONS, ids=lambda v: getattr(v, "__name__", v))
def test_corrupted_attributes(kind, name):
    """Any wrong value gives a model that still fits together, or an error of ours."""
    estimator, part = healthy(kind)
    refused = 0
    for value in WRONG_VALUES.values():
        setattr(part, name, value)
        try:
            svm = read(estimator)
        except (ReadError, UnsupportedError):
            refused += 1
        else:
            program_of(svm)
    assert refused > 0


NEEDED = [
    (SVC, "dual_coef_"), (SVC, "intercept_"), (SVC, "_n_support"), (SVC, "classes_"), (SVC, "kernel"),
    (SVC, "degree"), (LinearSVC, "intercept_"), (LinearSVC, "classes_"), (LinearSVR, "intercept_"),
    (StandardScaler, "mean_"), (StandardScaler, "scale_"), (MinMaxScaler, "min_"),
    (MinMaxScaler, "feature_range"), (Pipeline, "steps"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name"), NEEDED, ids=lambda v: getattr(v, "__name__", v))
def test_missing_attributes(kind, name):
    estimator, part = healthy(kind)
    delattr(part, name)
    with pytest.raises(ReadError, match=r"is missing|cannot be read"):
        read(estimator)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (SVC, "support_", np.arange(3_000_000, dtype=np.int32)),
        (SVR, "support_", np.arange(3_000_000, dtype=np.int32)),
        (SVC, "_n_support", np.array([-2_000_000, 2_000_012], dtype=np.int32)),
        (SVR, "_n_support", np.zeros(5000, dtype=np.int32)),
        (SVR, "_n_support", np.array([12], dtype=np.int32)),
        (OneClassSVM, "_n_support", np.zeros(0, dtype=np.int32)),
        (SVR, "_impl", "c_svc"),
        (OneClassSVM, "_impl", "nu_svc"),
        (SVC, "_intercept_", None),
        (SVC, "support_vectors_", np.zeros((1, 2))),
        (SVC, "_dual_coef_", sparse.csr_matrix((1, 12))),
    ],
)
def test_what_libsvm_would_read_beyond_is_refused(kind, name, value):
    """It runs where a model is compared with the original, and looks at no length itself."""
    X, y = blobs(2)
    machine = kind(kernel="precomputed" if name == "support_vectors_" else "rbf")
    machine.fit(X[:12] @ X[:12].T if name == "support_vectors_" else X[:12], y[:12])
    setattr(machine, name, value)
    with pytest.raises(ReadError, match=name.strip("_").replace("n_support", "support")):
        read(machine)


@pytest.mark.parametrize("encoder", [OneHotEncoder(), KBinsDiscretizer(4)])
def test_flags_beyond_the_last_column_are_refused(encoder):
    """scikit-learn would read weights far away where the model is compared with the original."""
    X, y = np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 2
    machine = make_pipeline(encoder, LinearSVC()).fit(X, y)
    own = getattr(encoder, "_encoder", encoder)
    own._n_features_outs = [10**9, sum(own._n_features_outs) - 10**9]
    with pytest.raises(ReadError, match="_n_features_outs"):
        read(machine)
