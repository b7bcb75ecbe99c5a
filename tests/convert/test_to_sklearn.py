"""Models of other libraries as scikit-learn estimators, which predict what those libraries predict."""

from __future__ import annotations

import json
import sys

import joblib
import numpy as np
import pytest
import skops.io
from libsvm import svmutil
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

from svmcompile import cli
from svmcompile.commands.convert import checked_estimator, run
from svmcompile.commands.options import ConvertOptions
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.read import read
from svmcompile.read.libsvm.original import LibsvmModel

IRIS, SPECIES = load_iris(return_X_y=True)
ROWS = np.random.default_rng(0).normal(IRIS.mean(axis=0), 1.5, size=(400, 4))
TYPES = ("SVC", "NuSVC", "OneClassSVM", "SVR", "NuSVR")


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", range(4))
@pytest.mark.parametrize("kind", range(5), ids=TYPES)
def test_every_type_and_kernel_of_libsvm(tmp_path, kind, kernel, n_classes):
    kept = n_classes > SPECIES
    classes = np.array([4, -1, 2])[SPECIES[kept]]
    trained = svmutil.svm_train(classes, IRIS[kept], f"-q -s {kind} -t {kernel} -n 0.2 -r 0.5 -g 0.1")
    svmutil.svm_save_model(str(tmp_path / "a.model"), trained)
    report = run(ConvertOptions(model=tmp_path / "a.model", output=tmp_path / "b.skops", features=4))
    assert report["files"] == ["b.skops"]
    estimator = skops.io.load(tmp_path / "b.skops")
    assert type(estimator).__name__ == TYPES[kind]
    svm = read(tmp_path / "a.model", n_features=4)
    labels, values = LibsvmModel(tmp_path / "a.model").run(ROWS, svm.n_sums)
    if kind > 2:
        np.testing.assert_allclose(estimator.predict(ROWS), labels, rtol=1e-9, atol=1e-9)
        return
    np.testing.assert_array_equal(estimator.predict(ROWS), labels)
    sign = -1 if kind < 2 and n_classes == 2 else 1  # scikit-learn shows the value of the second class
    found = estimator.decision_function(ROWS).reshape(len(ROWS), -1)
    np.testing.assert_allclose(sign * found, values, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_come_along(tmp_path, n_classes):
    kept = n_classes > SPECIES
    X, y = IRIS[kept], SPECIES[kept].astype(float)
    trained = svmutil.svm_train(y, X, "-q -b 1")
    svmutil.svm_save_model(str(tmp_path / "a.model"), trained)
    estimator = checked_estimator(read(tmp_path / "a.model"))
    loaded = svmutil.svm_load_model(str(tmp_path / "a.model"))
    _, _, expected = svmutil.svm_predict([], ROWS.tolist(), loaded, "-q -b 1")
    # For two classes LIBSVM takes the sigmoid itself; scikit-learn's older copy iterates until 0.0025.
    np.testing.assert_allclose(
        estimator.predict_proba(ROWS), expected, atol=5e-3 if n_classes == 2 else 1e-9
    )


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        SVC(),
        LinearSVC(max_iter=10_000),
        OneClassSVM(nu=0.2),
        make_pipeline(StandardScaler(), SVC(decision_function_shape="ovo")),
        make_pipeline(MinMaxScaler(clip=True), SVC()),
        SVR(),
    ],
    ids=str,
)
def test_onnx_to_scikit_learn(tmp_path, estimator):
    from skl2onnx import to_onnx

    estimator.fit(IRIS, SPECIES)
    content = to_onnx(estimator, IRIS[:1].astype(np.float32)).SerializeToString()
    (tmp_path / "a.onnx").write_bytes(content)
    run(ConvertOptions(model=tmp_path / "a.onnx", output=tmp_path / "b.joblib"))
    back = joblib.load(tmp_path / "b.joblib")
    if isinstance(estimator, SVR):
        np.testing.assert_allclose(back.predict(ROWS), estimator.predict(ROWS), atol=1e-5)
        return
    np.testing.assert_array_equal(back.predict(ROWS), estimator.predict(ROWS))
    np.testing.assert_allclose(back.decision_function(ROWS), estimator.decision_function(ROWS), atol=1e-5)


def test_there_and_back_again(tmp_path):
    """An estimator to LIBSVM text to an estimator: the same numbers, so the same model."""
    estimator = SVC(gamma=0.3, C=10).fit(IRIS, SPECIES)
    skops.io.dump(estimator, tmp_path / "a.skops")
    run(ConvertOptions(model=tmp_path / "a.skops", output=tmp_path / "b.model"))
    run(ConvertOptions(model=tmp_path / "b.model", output=tmp_path / "c.skops"))
    back = skops.io.load(tmp_path / "c.skops")
    np.testing.assert_array_equal(back.predict(ROWS), estimator.predict(ROWS))
    np.testing.assert_array_equal(back.dual_coef_, estimator.dual_coef_)
    np.testing.assert_array_equal(back.support_vectors_, estimator.support_vectors_)
    back.set_params(decision_function_shape="ovr")
    np.testing.assert_array_equal(back.decision_function(ROWS), estimator.decision_function(ROWS))
    clone(back).fit(IRIS, SPECIES)  # an estimator like any other


def test_a_pickle_becomes_skops_as_it_is(tmp_path):
    estimator = make_pipeline(StandardScaler(), SVC(C=3)).fit(IRIS, SPECIES)
    joblib.dump(estimator, tmp_path / "a.joblib")
    run(ConvertOptions(model=tmp_path / "a.joblib", output=tmp_path / "b.skops", trust_pickle=True))
    back = skops.io.load(tmp_path / "b.skops")
    assert back[-1].C == 3
    np.testing.assert_array_equal(back.decision_function(ROWS), estimator.decision_function(ROWS))


def test_an_estimator_that_does_not_take_the_numbers_is_not_handed_out(monkeypatch):
    svm = read(SVC().fit(IRIS, SPECIES))
    monkeypatch.setattr(SVC, "predict", lambda self, X: np.zeros(len(X), dtype=int))
    with pytest.raises(UnsupportedError, match="does not accept the model"):
        checked_estimator(svm)


def command(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["svmcompile", "convert", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code


def test_command_line(tmp_path, monkeypatch, capsys):
    skops.io.dump(SVC().fit(IRIS, SPECIES), tmp_path / "a.skops")
    assert command(monkeypatch, tmp_path / "a.skops", "-o", tmp_path / "b.model", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["format"] == "libsvm" and report["files"] == ["b.model"]
    assert command(monkeypatch, tmp_path / "b.model", "-o", tmp_path / "c.bin", "--to", "skops") == 0
    assert "LIBSVM c_svc as skops" in " ".join(capsys.readouterr().out.split())  # lines are wrapped
    assert command(monkeypatch, tmp_path / "b.model", "-o", tmp_path / "c.bin") == 2
    assert "--to" in capsys.readouterr().err
    with pytest.raises(OptionError, match="--to"):
        run(ConvertOptions(model=tmp_path / "b.model", output=tmp_path / "c.bin", to="onnx"))
