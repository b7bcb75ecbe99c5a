"""Models as LIBSVM text: LIBSVM itself reads them and answers what the original answers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from libsvm import svmutil
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

from svmcompile.convert.libsvm import libsvm_files
from svmcompile.errors import UnsupportedError
from svmcompile.read import read
from svmcompile.read.libsvm.original import LibsvmModel

KERNELS = ("linear", "poly", "rbf", "sigmoid")
IRIS, SPECIES = load_iris(return_X_y=True)
ROWS = np.random.default_rng(0).normal(IRIS.mean(axis=0), 1.5, size=(400, 4))


def written(tmp_path, estimator):
    """The estimator as LIBSVM loads it, as our reader reads it, and the notes."""
    svm = read(estimator)
    files, notes = libsvm_files(svm, "a.model")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return LibsvmModel(tmp_path / "a.model"), read(tmp_path / "a.model", n_features=svm.n_features), notes


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_classifiers(tmp_path, kind, kernel, n_classes):
    kept = n_classes > SPECIES
    estimator = kind(kernel=kernel, coef0=0.5, gamma=0.1, decision_function_shape="ovo")
    if kind is NuSVC:
        estimator.set_params(nu=0.2)
    estimator.fit(IRIS[kept], SPECIES[kept] * 5 - 3)
    model, back, notes = written(tmp_path, estimator)
    labels, values = model.run(ROWS, back.n_sums)
    np.testing.assert_array_equal(labels, estimator.predict(ROWS))
    expected = estimator.decision_function(ROWS).reshape(len(ROWS), -1)
    np.testing.assert_allclose(values, -expected if n_classes == 2 else expected, rtol=1e-9, atol=1e-9)
    assert back.source.kind == ("LIBSVM nu_svc" if kind is NuSVC else "LIBSVM c_svc") and not notes


def test_other_parameters_of_probabilities_are_written():
    marks = np.linspace(-1, 1, 10)
    one = replace(read(OneClassSVM().fit(IRIS)), density_marks=marks)
    assert f"prob_density_marks {' '.join(map(repr, marks.tolist()))}\n" in libsvm_files(one, "a")[0]["a"]
    value = replace(read(SVR().fit(IRIS, SPECIES)), noise_scale=0.25)
    assert "\nprobA 0.25\nSV\n" in libsvm_files(value, "a")[0]["a"]


@pytest.mark.parametrize("kind", [0, 1])
def test_what_libsvm_stores_for_probabilities_is_kept(tmp_path, kind):
    """Text that LIBSVM wrote with -b 1, read and written again, says the same."""
    trained = svmutil.svm_train(SPECIES.astype(float), IRIS, f"-q -s {kind} -b 1 -n 0.3")
    svmutil.svm_save_model(str(tmp_path / "a.model"), trained)
    files, _ = libsvm_files(read(tmp_path / "a.model"), "b.model")
    texts = (tmp_path / "a.model").read_text(), files["b.model"]
    first, second = (
        {line.split()[0]: line.split()[1:] for line in text.partition("SV\n")[0].splitlines()}
        for text in texts
    )
    assert list(first) == list(second)
    assert {"probA", "probB"} < set(first)
    for key, values in first.items():
        same = key in ("svm_type", "kernel_type")
        assert (
            values == second[key]
            if same
            else np.allclose([*map(float, values)], [*map(float, second[key])])
        )


def test_numbers_come_back_exactly(tmp_path):
    svm = read(SVC(gamma=0.3).fit(IRIS, SPECIES))
    (tmp_path / "a.model").write_text(libsvm_files(svm, "a.model")[0]["a.model"])
    back = read(tmp_path / "a.model")
    for name in ("vectors", "coefficients", "intercepts"):
        np.testing.assert_array_equal(getattr(back, name), getattr(svm, name))
    assert back.kernel == svm.kernel and back.counts == svm.counts


@pytest.mark.parametrize(
    "estimator", [SVR(), NuSVR(), SVR(kernel="poly"), LinearSVR(max_iter=10_000)], ids=str
)
def test_regressors(tmp_path, estimator):
    X, y = load_diabetes(return_X_y=True)
    X = 10 * X
    estimator.fit(X, y)
    model, back, _ = written(tmp_path, estimator)
    np.testing.assert_allclose(model.run(X, 1)[0], estimator.predict(X), rtol=1e-9)
    assert back.source.kind == ("LIBSVM nu_svr" if isinstance(estimator, NuSVR) else "LIBSVM epsilon_svr")


def test_one_class(tmp_path):
    estimator = OneClassSVM(nu=0.2).fit(IRIS)
    model, back, _ = written(tmp_path, estimator)
    labels, values = model.run(ROWS, 1)
    np.testing.assert_array_equal(labels, estimator.predict(ROWS))
    np.testing.assert_allclose(values[:, 0], estimator.decision_function(ROWS), atol=1e-9)
    assert back.source.kind == "LIBSVM one_class"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_svc(tmp_path, n_classes):
    kept = n_classes > SPECIES
    estimator = LinearSVC(max_iter=10_000).fit(IRIS[kept], SPECIES[kept])
    model, back, notes = written(tmp_path, estimator)
    labels, values = model.run(ROWS, back.n_sums)
    np.testing.assert_array_equal(labels, estimator.predict(ROWS))
    scores = estimator.decision_function(ROWS)
    if n_classes == 3:
        scores = np.stack([scores[:, i] - scores[:, j] for i, j in ((0, 1), (0, 2), (1, 2))], axis=1)
    np.testing.assert_allclose(values, scores.reshape(len(ROWS), -1), atol=1e-9)
    assert bool(notes) == (n_classes == 3)


def test_labels_that_libsvm_cannot_hold_are_numbered(tmp_path):
    names = np.array(["setosa", "versicolor", "virginica"])
    estimator = SVC(decision_function_shape="ovo").fit(IRIS, names[SPECIES])
    model, back, (note,) = written(tmp_path, estimator)
    assert back.labels.values == (0, 1, 2) and "1 is 'versicolor'" in note
    labels, _ = model.run(ROWS, back.n_sums)
    np.testing.assert_array_equal(names[labels.astype(int)], estimator.predict(ROWS))


@pytest.mark.parametrize("labels", [np.array([False, True]), np.array([-1.0, 1.0])], ids=str)
def test_labels_that_are_whole_numbers_are_kept(tmp_path, labels):
    kept = SPECIES < 2
    estimator = SVC().fit(IRIS[kept], labels[SPECIES[kept]])
    model, _, notes = written(tmp_path, estimator)
    np.testing.assert_array_equal(model.run(ROWS, 1)[0], estimator.predict(ROWS))
    assert not notes


def scaled_like_svm_scale(text, rows):
    """What LIBSVM's svm-scale does with a file of ranges."""
    head, bounds, *lines = text.splitlines()
    assert head == "x"
    lower, upper = map(float, bounds.split())
    low, high = np.array([[float(part) for part in line.split()[1:]] for line in lines]).T
    return lower + (upper - lower) * (rows - low) / (high - low)


@pytest.mark.parametrize("scalers", [(StandardScaler(),), (MinMaxScaler(), StandardScaler())], ids=str)
def test_scaling_becomes_a_range_file(tmp_path, scalers):
    estimator = make_pipeline(*scalers, SVC(decision_function_shape="ovo")).fit(IRIS, SPECIES)
    model, back, (note,) = written(tmp_path, estimator)
    rows = scaled_like_svm_scale((tmp_path / "a.model.range").read_text(), ROWS)
    labels, values = model.run(rows, back.n_sums)
    np.testing.assert_array_equal(labels, estimator.predict(ROWS))
    np.testing.assert_allclose(values, estimator.decision_function(ROWS), atol=1e-9)
    assert "svm-scale -r a.model.range" in note


def test_what_libsvm_cannot_hold_is_refused():
    gram = IRIS @ IRIS.T
    for estimator, message in (
        (SVC(break_ties=True).fit(IRIS, SPECIES), "break_ties=False"),
        (SVC(kernel="precomputed").fit(gram, SPECIES), "precomputed"),
        (make_pipeline(MinMaxScaler(clip=True), SVC()).fit(IRIS, SPECIES), "SVM alone"),
    ):
        with pytest.raises(UnsupportedError, match=message):
            libsvm_files(read(estimator), "a.model")
