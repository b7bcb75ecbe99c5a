"""ONNX in: what skl2onnx wrote is read back as the model it was made from, and checked by running it."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from onnx_files import converted
from read_cases import KERNELS, blobs, program_of, queries, tolerance
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import svmcompile as sc
from svmcompile.errors import UnsupportedError
from svmcompile.read import read
from svmcompile.read.onnx.check import CHECKED, NOT_CHECKED

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # skl2onnx asks SVC for probA_

FLOAT32 = 3e4  # times the tolerance of float64 models: parameters are rounded to float32

CLASSIFIERS = {
    **{kernel: SVC(kernel=kernel, gamma=0.3, coef0=0.5) for kernel in KERNELS},
    "ovo": SVC(decision_function_shape="ovo"),
    "NuSVC": NuSVC(nu=0.2),
    "scaled": make_pipeline(StandardScaler(), SVC()),
    "min-max": make_pipeline(MinMaxScaler(), SVC()),
    "clipped": make_pipeline(MinMaxScaler(clip=True), SVC()),
    "two scalers": make_pipeline(MaxAbsScaler(), RobustScaler(), NuSVC(nu=0.2)),
}
REGRESSORS = {
    **{kernel: SVR(kernel=kernel, gamma=0.3, coef0=0.5) for kernel in KERNELS},
    "NuSVR": NuSVR(),
    "scaled": make_pipeline(RobustScaler(), SVR()),
}


TRANSFORMERS = {
    "l1": Normalizer("l1"),
    "l2": Normalizer(),
    "PCA": PCA(3),
    "white PCA": PCA(2, whiten=True),
    "TruncatedSVD": TruncatedSVD(3),
    "SelectKBest": SelectKBest(k=3),
    "SimpleImputer": SimpleImputer(),
    "columns": ColumnTransformer([("a", StandardScaler(), [2, 0]), ("b", MinMaxScaler(), [1])]),
    "rest": ColumnTransformer([("a", StandardScaler(), [2, 0])], remainder="passthrough"),
    "chain": make_pipeline(SimpleImputer(), StandardScaler(), SelectKBest(k=4), PCA(2)),
}


def stored(tmp_path, content):
    (tmp_path / "a.onnx").write_bytes(content)
    return tmp_path / "a.onnx"


def assert_reads(svm, estimator, rows):
    """Labels and scores of the estimator, up to what float32 attributes lose."""
    program = program_of(svm)
    if svm.labels is None:
        found, expected = program.predict(rows), estimator.predict(rows)
    else:
        np.testing.assert_array_equal(program.predict(rows), estimator.predict(rows))
        found, expected = program.decision_function(rows), estimator.decision_function(rows)
        assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=FLOAT32 * tolerance(svm, rows))


@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(tmp_path, name, n_classes, number):
    X, y = blobs(n_classes)
    estimator = CLASSIFIERS[name].fit(X, y)
    svm = read(stored(tmp_path, converted(estimator, X, number)))
    assert svm.notes == (CHECKED,) and svm.source.kind.startswith("ONNX ")
    assert_reads(svm, estimator, queries(300))


@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers(tmp_path, name, number):
    X, y = blobs(3)
    estimator = make_pipeline(TRANSFORMERS[name], SVC()).fit(X, y)
    svm = read(stored(tmp_path, converted(estimator, X, number)))
    assert svm.notes == (CHECKED,) and svm.n_features == 5
    rows = queries(300)[1:]  # a row of zeros has no norm
    assert_reads(svm, estimator, rows)
    if name in ("SimpleImputer", "chain"):
        rows[::3, 1] = np.nan
        np.testing.assert_array_equal(program_of(svm).predict(rows), estimator.predict(rows))


def test_columns_of_a_frame_in_branches(tmp_path):
    X, y = blobs(3)
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcde"))
    branches = [("one", StandardScaler(), ["d", "a"]), ("two", "passthrough", ["b"])]
    estimator = make_pipeline(ColumnTransformer(branches), SVC()).fit(frame, y)
    svm = read(stored(tmp_path, converted(estimator, frame)))
    assert svm.feature_names == tuple("abcde")
    np.testing.assert_array_equal(program_of(svm).predict(frame), estimator.predict(frame))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_linear_classifiers(tmp_path, n_classes):
    X, y = blobs(n_classes)
    estimator = LinearSVC()
    svm = read(stored(tmp_path, converted(estimator.fit(X, y), X)))
    assert svm.notes == (CHECKED,) and svm.source.kind == "ONNX LinearClassifier"
    assert_reads(svm, estimator, queries(300))


@pytest.mark.parametrize("number", [np.float32, np.float64])
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(tmp_path, name, number):
    X, _ = blobs(2)
    estimator = REGRESSORS[name].fit(X, X[:, 0] + np.sin(X[:, 1]))
    svm = read(stored(tmp_path, converted(estimator, X, number)))
    assert svm.notes == (CHECKED,) and svm.labels is None
    assert_reads(svm, estimator, queries(300))


def test_linear_regressor(tmp_path):
    X, _ = blobs(2)
    estimator = LinearSVR(max_iter=100_000).fit(X, X[:, 0])
    svm = read(stored(tmp_path, converted(estimator, X)))
    assert svm.source.kind == "ONNX LinearRegressor"
    assert_reads(svm, estimator, queries(300))


def test_one_class(tmp_path):
    X, _ = blobs(2)
    for estimator in (OneClassSVM(nu=0.3), make_pipeline(StandardScaler(), OneClassSVM(nu=0.3))):
        estimator.fit(X)
        svm = read(stored(tmp_path, converted(estimator, X)))
        assert svm.source.kind == "ONNX OneClassSVM" and svm.labels.values == (-1, 1)
        assert_reads(svm, estimator, queries(300))


LABELS = {
    "text": np.array(["cat", "dog", "élan"]),
    "negative": np.array([-7, -1, 4]),
    "large": np.array([2**40, 2**41, 2**42]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels(tmp_path, kind):
    X, y = blobs(3)
    estimator = SVC().fit(X, LABELS[kind][y])
    svm = read(stored(tmp_path, converted(estimator, X)))
    assert_reads(svm, estimator, queries(100))
    assert svm.labels.array().dtype == estimator.classes_.dtype


@pytest.mark.parametrize(
    "options", [{"zipmap": False}, {"zipmap": False, "raw_scores": True}, {"zipmap": "columns"}]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_forms_of_output(tmp_path, n_classes, options):
    X, y = blobs(n_classes)
    estimator = SVC().fit(X, y)
    content = converted(estimator, X, **options)
    if options["zipmap"] == "columns":
        with pytest.raises(UnsupportedError, match=r"behind the SVM|outputs"):
            read(stored(tmp_path, content))
        return
    assert_reads(read(stored(tmp_path, content)), estimator, queries(100))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probability_parameters_are_kept(tmp_path, n_classes):
    X, y = blobs(n_classes)
    estimator = SVC(probability=True, random_state=0).fit(X, y)
    svm = read(stored(tmp_path, converted(estimator, X)))
    assert_reads(svm, estimator, queries(100))
    np.testing.assert_allclose(svm.platt, (estimator._probA, estimator._probB), rtol=1e-6)
    assert any("'ovr' was taken" in note for note in svm.notes) == (n_classes == 3)


def test_columns_of_a_frame_become_feature_names(tmp_path):
    X, y = blobs(3)
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcde"))
    estimator = make_pipeline(StandardScaler(), SVC()).fit(frame, y)
    svm = read(stored(tmp_path, converted(estimator, frame)))
    assert svm.feature_names == tuple(frame.columns)
    np.testing.assert_array_equal(program_of(svm).predict(frame), estimator.predict(frame))


def test_large_means_do_not_break_the_check(tmp_path):
    X, y = blobs(3)
    for offset in (1e3, 1e5):
        for scaler in (StandardScaler(), MinMaxScaler()):
            estimator = make_pipeline(scaler, SVC()).fit(X + offset, y)
            assert CHECKED in read(stored(tmp_path, converted(estimator, X))).notes
        assert CHECKED in read(stored(tmp_path, converted(SVC(gamma=0.2).fit(X + offset, y), X))).notes


@pytest.mark.compile
def test_round_trip_to_c_and_onnx(tmp_path):
    """skl2onnx's file in, our C and our graph out: the same labels, scores up to float32."""
    X, y = blobs(4)
    estimator = make_pipeline(StandardScaler(), SVC()).fit(X, y)
    source = stored(tmp_path, converted(estimator, X))
    program = sc.compile(source)
    sc.write(sc.emit(program, ("c", "onnx"), "back", "f64"), tmp_path / "out")
    rows = queries(500)
    for target in ("c", "onnx"):
        model = sc.load(tmp_path / "out", target=target)
        np.testing.assert_array_equal(model.predict(rows), estimator.predict(rows))
        np.testing.assert_allclose(
            model.decision_function(rows), estimator.decision_function(rows), rtol=0, atol=1e-5
        )
    report = sc.verify(tmp_path / "out", source, rows)
    assert report.ok and report.reference == "interpreter of ONNX SVMClassifier"


def test_without_onnx_runtime_the_reference_checks(tmp_path, monkeypatch):
    X, y = blobs(3)
    content = converted(SVC().fit(X, y), X)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert CHECKED in read(stored(tmp_path, content)).notes


def test_what_could_not_be_checked_is_said(tmp_path, monkeypatch):
    X, y = blobs(3)
    content = converted(SVC().fit(X, y), X)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setitem(sys.modules, "onnx.reference", None)
    (note,) = read(stored(tmp_path, content)).notes
    assert note.startswith(NOT_CHECKED) and "onnxruntime" in note


def test_command_line(tmp_path, monkeypatch, capsys):
    from svmcompile import cli

    X, y = blobs(3)
    source = stored(tmp_path, converted(SVC().fit(X, y), X))
    monkeypatch.setattr(sys, "argv", ["svmcompile", "inspect", str(source)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "ONNX SVMClassifier" in out and "agree" in out
