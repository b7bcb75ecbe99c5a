"""LIBSVM's probability models (-b 1): read, run and compared with LIBSVM's own predict, row by row."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import KERNELS, LIBSVM_TYPES, blobs, program_of, queries

import svmcompile as sc
from svmcompile.errors import OptionError, ReadError
from svmcompile.read import read
from svmcompile.read.original import load_original

libsvm = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")


def train(path, options, n_classes=3, n_rows=120):
    X, y = blobs(n_classes, n_rows)
    target = X[:, 0] + 0.1 * y if "-s 3" in options or "-s 4" in options else 2.0 * y - 1
    libsvm.svm_save_model(str(path), libsvm.svm_train(target, X, f"-q -b 1 {options}"))
    return path


def own_predict(path, rows):
    """What LIBSVM's own predict gives with -b 1."""
    model = libsvm.svm_load_model(str(path))
    labels, _, values = libsvm.svm_predict([], rows.tolist(), model, "-b 1 -q")
    return np.array(labels), np.array(values)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("kernel", range(4), ids=KERNELS)
@pytest.mark.parametrize("kind", range(2), ids=LIBSVM_TYPES[:2])
def test_classifiers(tmp_path, kind, kernel, n_classes):
    path, rows = train(tmp_path / "a.model", f"-s {kind} -t {kernel} -n 0.2", n_classes), queries(1000)
    labels, chances = own_predict(path, rows)
    program = sc.compile(path, most_probable=True)
    np.testing.assert_allclose(program.predict_proba(rows), chances, atol=1e-9)
    np.testing.assert_array_equal(program.predict(rows), labels)
    svm = read(path)
    vote = load_original(path, svm)
    np.testing.assert_array_equal(program_of(svm).predict(rows), vote.predict(rows))
    np.testing.assert_array_equal(vote.predict_proba(rows), chances)


@pytest.mark.parametrize("kernel", range(4), ids=KERNELS)
def test_one_class(tmp_path, kernel):
    path, rows = train(tmp_path / "a.model", f"-s 2 -t {kernel} -n 0.3"), queries(1000)
    labels, chances = own_predict(path, rows)
    program = sc.compile(path, most_probable=True)
    np.testing.assert_array_equal(program.predict_proba(rows), chances[:, ::-1])  # in the labels' order
    np.testing.assert_array_equal(program.predict(rows), labels)
    assert program.labels.values == (-1, 1) and len(np.unique(chances)) > 5


@pytest.mark.parametrize("kind", [3, 4])
def test_regressors_tell_their_noise(tmp_path, kind):
    path = train(tmp_path / "a.model", f"-s {kind} -t 2")
    model = libsvm.svm_load_model(str(path))
    program = sc.compile(path)
    assert program.origin.details["noise_scale"] == pytest.approx(model.get_svr_probability(), rel=1e-12)
    files = sc.emit(program, ("c", "onnx"), "m")
    assert f"Laplace distribution of scale {program.origin.details['noise_scale']!r}" in files["m.h"]
    assert b"noise_scale" in files["m.onnx"]


@pytest.mark.compile
@pytest.mark.parametrize("options", ["-s 0 -t 2", "-s 1 -t 1 -n 0.2", "-s 2 -t 2 -n 0.3"])
def test_verified_in_c_and_onnx(tmp_path, options):
    path, rows = train(tmp_path / "a.model", options, 4), queries(2000)
    for most_probable in (False, True):
        program = sc.compile(path, most_probable=most_probable)
        sc.write(sc.emit(program, ("c", "onnx"), "m", "f64"), tmp_path / "out")
        report = sc.verify(tmp_path / "out", path, rows)
        assert report.ok, report
        assert all(one.labels_differing == 0 for one in report.comparisons)
        assert all(one.max_probability_error < 1e-6 for one in report.comparisons)


def test_verify_finds_wrong_probabilities(tmp_path):
    path, rows = train(tmp_path / "a.model", "-s 0 -t 2"), queries(300)
    program = sc.compile(path)
    moved = {name: table + 1e-6 * (name == "platt_b") for name, table in program.tables.items()}
    sc.write(sc.emit(program.replace(tables=moved), "onnx", "m", "f64"), tmp_path / "out")
    report = sc.verify(tmp_path / "out", path, rows)
    assert not report.ok
    assert any("probabilities differ" in text for one in report.comparisons for text in one.broken)


def test_damaged_marks(tmp_path):
    path = train(tmp_path / "a.model", "-s 2 -t 2 -n 0.3")
    text = path.read_text()
    line = next(line for line in text.splitlines() if line.startswith("prob_density_marks"))
    for changed, message in (
        (" ".join(line.split()[:-1]), "9 value"),
        (" ".join([line.split()[0], *line.split()[:0:-1]]), "do not rise"),
    ):
        path.write_text(text.replace(line, changed))
        with pytest.raises(ReadError, match=message):
            read(path)


def test_without_probabilities(tmp_path):
    X, y = blobs(3)
    path = tmp_path / "a.model"
    libsvm.svm_save_model(str(path), libsvm.svm_train(y, X, "-q"))
    with pytest.raises(OptionError, match="no probabilities"):
        sc.compile(path, most_probable=True)
