"""LIBLINEAR's text models: what is read gives its own values, and bad bytes give a located error."""

from __future__ import annotations

import numpy as np
import pytest
from read_cases import assert_same, blobs, program_of, queries

import svmcompile as sc
from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read import read, read_content
from svmcompile.read.liblinear.model import LOGISTIC, REGRESSORS, TYPES
from svmcompile.read.original import load_original

SOLVERS = {
    "L2R_LR": 0, "L2R_L2LOSS_SVC_DUAL": 1, "L2R_L2LOSS_SVC": 2, "L2R_L1LOSS_SVC_DUAL": 3, "MCSVM_CS": 4,
    "L1R_L2LOSS_SVC": 5, "L1R_LR": 6, "L2R_LR_DUAL": 7, "L2R_L2LOSS_SVR": 11, "L2R_L2LOSS_SVR_DUAL": 12,
    "L2R_L1LOSS_SVR_DUAL": 13, "ONECLASS_SVM": 21,
}  # fmt: skip
MODEL = b"""solver_type L2R_LR
nr_class 3
label 3 -1 7
nr_feature 2
bias 0.5
w
0.5 1 -2 
1e-3 0.25 4 
-1 0 2 
"""  # noqa: W291 - LIBLINEAR ends each line with a space


def train(path, kind, n_classes, options=""):
    """A model file that LIBLINEAR made."""
    util = pytest.importorskip("liblinear.liblinearutil", reason="liblinear-official is not installed")
    X, y = blobs(n_classes)
    targets = X[:, 0] - X[:, 1] if kind in REGRESSORS else np.array([4, -2, 7, 1])[y]
    model = util.train(list(targets), X.tolist(), f"-q -s {SOLVERS[kind]} {options}")
    util.save_model(str(path), model)
    return path


@pytest.mark.parametrize("kind", TYPES)
def test_the_same_as_liblinear(tmp_path, kind):
    rows = queries(10_000)
    alone = kind in REGRESSORS or kind == "ONECLASS_SVM"
    for n_classes in (2,) if alone else (2, 4):
        for bias in ("",) if kind == "ONECLASS_SVM" else ("", "-B 0.5"):
            path = train(tmp_path / "a.model", kind, n_classes, bias)
            svm = read(path)
            original = load_original(path, svm)
            assert svm.source.kind == f"LIBLINEAR {kind}"
            assert_same(svm, original.predict, original.decision_function, rows)
            assert svm.has_probabilities == (kind in LOGISTIC)
            if svm.has_probabilities:
                found = program_of(svm).predict_proba(rows)
                np.testing.assert_allclose(found, original.predict_proba(rows), rtol=0, atol=1e-12)
                likely = svm.by_probability()
                expected = load_original(path, likely).predict(rows)
                np.testing.assert_array_equal(program_of(likely).predict(rows), expected)


def test_verify_takes_liblinear_for_the_original(tmp_path):
    path = train(tmp_path / "a.model", "L2R_LR", 4, "-B 1")
    sc.write(sc.emit(sc.compile(path), target="c", name="a"), tmp_path / "out")
    report = sc.verify(tmp_path / "out", path, queries(2000))
    assert report.ok and report.reference == "LIBLINEAR", report


def test_what_is_read():
    svm = read_content("m.model", MODEL)[0]
    np.testing.assert_array_equal(svm.vectors, [[0.5, 1e-3], [1, 0.25], [-2, 4]])
    np.testing.assert_array_equal(svm.intercepts, [-0.5, 0, 1])
    assert svm.labels.values == (3, -1, 7)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"L2R_LR", b"L9", "m:1: 'L9' is not known; known: L2R_LR|m:1: .*'L9' is not known"),
        (b"nr_class 3", b"nr_class 1", "m:2: the model has only one class"),
        (b"nr_class 3", b"nr_class 4", r"m:3: label has 3 value\(s\), expected 4|m:7: 3 weight"),
        (b"3 -1 7", b"3 -1 3", "m:3: a label appears twice"),
        (b"nr_feature 2", b"nr_feature 99999999", "m:4: nr_feature has '99999999', expected an integer"),
        (b"nr_feature 2", b"nr_feature 3", "m:9: the file ends after 3 lines of weights, expected 4"),
        (b"nr_feature 2", b"nr_feature 1", "m:9: text after the last of 2 lines of weights"),
        (b"bias 0.5", b"bias nan", "m:5: bias has 'nan', which is not a finite number"),
        (b"bias 0.5", b"", "m:5: '' is not a header key of LIBLINEAR"),
        (b"bias 0.5\n", b"", "the header has no 'bias'"),
        (b"bias 0.5", b"rho 0.5\nbias 0.5", "m:5: rho does not belong in a model of type L2R_LR"),
        (b"-2 \n", b"inf \n", "m:7: 'inf' is not a finite number"),
        (b"w\n", b"v\n", "m:6: 'v' is not a header key of LIBLINEAR; known: solver_type"),
        (b"w\n0.5", b"w\n0.5\xff", "is not a finite number"),
        (b"\nw\n0.5 1 -2 \n1e-3 0.25 4 \n-1 0 2 \n", b"", "m:5: the file ends before the line 'w'"),
    ],
)
def test_bad_bytes(old, new, message):
    assert old in MODEL
    with pytest.raises((ReadError, UnsupportedError), match=message):
        read_content("m", MODEL.replace(old, new), "liblinear")
