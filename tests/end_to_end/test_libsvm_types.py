"""Every type and kernel of LIBSVM: its trained model, read as text, gives what its own predict gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from libsvm import svmutil
from sklearn.datasets import load_wine

import svmcompile as sc
from svmcompile.api import open_model
from svmcompile.verification.differential import Backend, compare

TYPES, KERNELS = range(5), range(4)
PROBABILITIES = (0, 1)  # LIBSVM's -b
N_ROWS = 10_000


def heart_like():
    """270 rows of 13 features in -1 to 1, half of them categories, with two classes that overlap."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, size=(270, 13))
    X[:, ::2] = np.round(X[:, ::2])  # -1, 0 and 1
    y = np.where(X @ random.normal(size=13) + random.normal(size=270) > 0, 1, -1)
    return X, y


def wine():
    """Three classes, scaled to -1 to 1, with labels in no order."""
    X, y = load_wine(return_X_y=True)
    low, high = X.min(axis=0), X.max(axis=0)
    return 2 * (X - low) / (high - low) - 1, np.array([7, -2, 3])[y]


SETS = {"heart-like": heart_like, "wine": wine}


def trained(path, name, kind, kernel, probability):
    """A model file that LIBSVM wrote, and rows like those it was trained on."""
    X, y = SETS[name]()
    if kind > 2:
        y = X[:, 0] + np.sin(3 * X[:, 1])
    options = f"-q -s {kind} -t {kernel} -b {probability} -n 0.3 -g 0.2 -r 0.4 -d 3"
    svmutil.svm_save_model(str(path), svmutil.svm_train(y, X, options))
    random = np.random.default_rng(1)
    return X[random.integers(len(X), size=N_ROWS)] + 0.1 * random.normal(size=(N_ROWS, X.shape[1]))


@pytest.mark.parametrize("probability", PROBABILITIES, ids=lambda b: f"b{b}")
@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("kind", "kernel"), list(itertools.product(TYPES, KERNELS)), ids=lambda v: str(v))
def test_what_libsvm_says_of_every_row(tmp_path, kind, kernel, name, probability):
    rows = trained(tmp_path / "a.model", name, kind, kernel, probability)
    original = open_model(tmp_path / "a.model", n_features=rows.shape[1]).reference()
    program = sc.compile(tmp_path / "a.model", n_features=rows.shape[1])
    (one,) = compare("", program, original, [Backend("ours", "f64", program)], rows).comparisons
    assert original[0].startswith("LIBSVM 3.") and one.rows == N_ROWS
    assert not one.broken and one.labels_differing == 0, one


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("kind", "kernel"), list(itertools.product((0, 1), KERNELS)), ids=lambda v: str(v))
def test_probabilities_of_classes(tmp_path, kind, kernel, name):
    """What svm-predict -b 1 gives, to 1e-6."""
    rows = trained(tmp_path / "a.model", name, kind, kernel, 1)[:500]
    program = sc.compile(tmp_path / "a.model", n_features=rows.shape[1])
    model = svmutil.svm_load_model(str(tmp_path / "a.model"))
    _, _, expected = svmutil.svm_predict([], rows.tolist(), model, "-q -b 1")
    np.testing.assert_allclose(program.predict_proba(rows), expected, atol=1e-6)


@pytest.mark.compile
@pytest.mark.parametrize(("kind", "kernel"), list(itertools.product(TYPES, KERNELS)), ids=lambda v: str(v))
def test_c_and_onnx_too(tmp_path, kind, kernel):
    rows = trained(tmp_path / "a.model", "wine", kind, kernel, 0)
    program = sc.compile(tmp_path / "a.model", n_features=rows.shape[1])
    sc.write(sc.emit(program, ("c", "onnx"), "m", "f64", "portable"), tmp_path / "out")
    report = sc.verify(tmp_path / "out", tmp_path / "a.model", rows)
    assert report.ok and report.reference.startswith("LIBSVM 3.")
    assert [one.labels_differing for one in report.comparisons] == [0, 0, 0]
