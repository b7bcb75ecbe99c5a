"""Originals: the library that made a model gives its own labels and scores."""

from __future__ import annotations

import sys

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from libsvm import svmutil
from read_cases import LIBSVM_TYPES, assert_same, blobs, queries
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from svmcompile.errors import OptionError, ReadError, UnsupportedError, VerifyError
from svmcompile.read import read
from svmcompile.read.original import load_original


def train(path, options, n_classes, n_features=5):
    X, y = blobs(n_classes, n_features=n_features)
    model = svmutil.svm_train(y * 3 - 2, X, f"-q {options}")
    svmutil.svm_save_model(str(path), model)
    return model


def test_estimators_themselves():
    X, y = blobs(3)
    estimator = SVC().fit(X, y)
    original = load_original(estimator, read(estimator))
    assert original.name == "scikit-learn SVC"
    np.testing.assert_array_equal(original.predict(X), estimator.predict(X))
    np.testing.assert_array_equal(original.decision_function(X), estimator.decision_function(X))


def test_regressors_have_no_decision_function():
    X, _ = blobs(3)
    estimator = make_pipeline(StandardScaler(), SVR()).fit(X, X[:, 0])
    original = load_original(estimator, read(estimator))
    assert original.decision_function is None
    assert original.name == "scikit-learn Pipeline(StandardScaler, SVR)"


def test_files_of_estimators(tmp_path):
    X, y = blobs(3)
    estimator = SVC().fit(X, y)
    skops.io.dump(estimator, tmp_path / "a.skops")
    joblib.dump(estimator, tmp_path / "a.joblib")
    for path, trust in ((tmp_path / "a.skops", False), (tmp_path / "a.joblib", True)):
        original = load_original(path, read(path, trust_pickle=trust), trust_pickle=trust)
        np.testing.assert_array_equal(original.decision_function(X), estimator.decision_function(X))
    with pytest.raises(ReadError, match="can run any code"):
        load_original(tmp_path / "a.joblib", read(estimator))


def test_input_is_not_changed_and_frames_are_checked(recwarn):
    X, y = blobs(3)
    frame = pd.DataFrame(X, columns=list("abcde"))
    estimator = make_pipeline(StandardScaler(copy=False), SVC()).fit(frame.copy(), y)
    original = load_original(estimator, read(estimator))
    before = X.copy()
    expected = original.decision_function(X)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(original.decision_function(frame), expected)
    with pytest.raises(OptionError, match="another order"):
        original.decision_function(frame[list("edcba")])
    assert not recwarn.list


def test_float32_rows_are_computed_in_float64():
    X, y = blobs(3)
    estimator = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    original = load_original(estimator, read(estimator))
    small = X.astype(np.float32)
    wide = estimator.decision_function(small.astype(np.float64))
    np.testing.assert_array_equal(original.decision_function(small), wide)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", range(5), ids=LIBSVM_TYPES)
def test_libsvm_gives_what_its_package_gives(tmp_path, kind, n_classes):
    model = train(tmp_path / "a.model", f"-s {kind} -n 0.3", n_classes)
    svm = read(tmp_path / "a.model")
    original = load_original(tmp_path / "a.model", svm)
    rows = queries(50)
    assert original.name.startswith("LIBSVM 3.")
    nodes = [svmutil.gen_svm_nodearray(row)[0] for row in rows]
    labels = [svmutil.libsvm.svm_predict(model, node) for node in nodes]
    np.testing.assert_allclose(original.predict(rows), labels, atol=1e-6)  # files keep 8 digits of vectors
    if kind > 2:
        assert original.decision_function is None
        return
    expected = []
    for node in nodes:
        values = (svmutil.c_double * svm.n_sums)()
        svmutil.libsvm.svm_predict_values(model, node, values)
        expected.append(list(values) if svm.n_sums > 1 else values[0])
    np.testing.assert_allclose(original.decision_function(rows), expected, atol=1e-6)
    assert original.predict(rows).dtype == svm.labels.array().dtype


def test_many_rows_are_the_same_as_few(tmp_path):
    train(tmp_path / "a.model", "", 3, n_features=20)
    original = load_original(tmp_path / "a.model", read(tmp_path / "a.model"))
    rows = queries(20_000, n_features=20)
    scores = original.decision_function(rows)
    assert scores.shape == (20_000, 3)
    np.testing.assert_array_equal(original.decision_function(rows[-3:]), scores[-3:])


def test_no_rows(tmp_path):
    train(tmp_path / "a.model", "", 2)
    original = load_original(tmp_path / "a.model", read(tmp_path / "a.model"))
    assert original.predict(np.zeros((0, 5))).shape == (0,)


def test_features_beyond_the_largest_index(tmp_path):
    train(tmp_path / "a.model", "", 2)
    svm = read(tmp_path / "a.model", n_features=7)
    rows = queries(20, n_features=7)
    original = load_original(tmp_path / "a.model", svm)
    assert_same(svm, original.predict, original.decision_function, rows)


def test_none_without_the_package(tmp_path, monkeypatch):
    train(tmp_path / "a.model", "", 2)
    monkeypatch.setitem(sys.modules, "libsvm.svm", None)
    monkeypatch.delattr("libsvm.svm", raising=False)
    assert load_original(tmp_path / "a.model", read(tmp_path / "a.model")) is None


def test_things_that_cannot_predict():
    X, y = blobs(2)
    with pytest.raises(UnsupportedError, match="StandardScaler cannot predict"):
        load_original(StandardScaler(), read(SVC().fit(X, y)))


def test_an_original_that_fails_says_so(tmp_path):
    """A flag that we need not read, and that scikit-learn follows."""
    X, y = blobs(3)
    estimator = SVC().fit(X, y)
    estimator._sparse = True
    skops.io.dump(estimator, tmp_path / "a.skops")
    original = load_original(tmp_path / "a.skops", read(tmp_path / "a.skops"))
    with pytest.raises(VerifyError, match=r"the original refuses these rows: AttributeError: .*indices"):
        original.predict(X)
