"""Data and comparisons that the tests of the read stage share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from numpy.typing import NDArray

import svmcompile as sc
from svmcompile.accelerate.registry import accelerate
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM

KERNELS = ("linear", "poly", "rbf", "sigmoid")
LIBSVM_TYPES = ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr")


def blobs(n_classes: int, n_rows: int = 120, n_features: int = 5, seed: int = 0) -> tuple[Any, Any]:
    """Overlapping clouds of points and the class 0..k-1 of each."""
    random = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    centres = random.normal(size=(n_classes, n_features))
    return centres[y] + 0.8 * random.normal(size=(n_rows, n_features)), y


def queries(n_rows: int = 200, n_features: int = 5, seed: int = 1) -> NDArray[np.float64]:
    """Rows near and far from the clouds, one of them all zero."""
    rows = 1.5 * np.random.default_rng(seed).normal(size=(n_rows, n_features))
    rows[0] = 0
    return rows


def program_of(svm: SVM) -> Program:
    return accelerate(svm, None, "exact", {})


def tolerance(svm: SVM, rows: NDArray[np.float64]) -> float:
    """1e-10 of the largest sum of |coefficient * kernel value|."""
    rows = svm.prepared(rows)
    sums = np.abs(svm.kernel.values(rows, svm.vectors)) @ np.abs(svm.coefficients).T
    return 1e-10 * float(sums.max(initial=0.0) + np.abs(svm.intercepts).max())


def assert_same(svm: SVM, predict: Any, decision_function: Any, rows: Any) -> None:
    """The program of an SVM gives the values and labels, in type and shape, of the original."""
    program, dense = program_of(svm), np.asarray(rows)
    if svm.labels is None:
        np.testing.assert_allclose(program.predict(rows), predict(rows), rtol=0, atol=tolerance(svm, dense))
        return
    expected = decision_function(rows)
    found = program.decision_function(rows)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance(svm, dense))
    labels = predict(rows)
    np.testing.assert_array_equal(program.predict(rows), labels)
    assert program.predict(rows).dtype == labels.dtype


def assert_every_form(
    model: Any,
    rows: Any,
    folder: Path,
    atol: float,
    targets: Sequence[str] = ("c", "onnx"),
    numbers: Sequence[str] = ("f64", "f32"),
) -> None:
    """Stored, compiled and verified in each number type; C of other profiles comes near the original."""
    skops.io.dump(model, folder / "a.skops")
    program = sc.compile(folder / "a.skops")
    for number in numbers:
        sc.write(sc.emit(program, targets, "m", number, "portable"), folder / number)
        report = sc.verify(folder / number, model, rows)
        assert report.ok and report.rows == len(rows)
        if number == "f64":
            assert all(one.labels_differing == 0 for one in report.comparisons)
    wanted = model.decision_function(rows)
    for profile in ("host", "device"):
        fast = sc.build(program, profile=profile)
        np.testing.assert_allclose(fast.decision_function(rows), wanted, atol=atol)
        assert fast.self_test() in (0, -1)
