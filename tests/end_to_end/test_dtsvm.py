"""A tree in front of a given SVM, compiled: every backend takes every row to the same leaf and label."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds

ROWS = 10_000


@cache
def compiled(classes: int) -> tuple[Any, Any, Any]:
    """Rows of digits, a model of two or ten classes, and its program."""
    X, y = load_digits(return_X_y=True)
    y = y % 2 if classes == 2 else y
    model = make_pipeline(StandardScaler(), SVC(C=10.0, gamma=0.02)).fit(X, y)
    return X, model, sc.compile(model, method="dtsvm", X=X, y=y, target=0.9)


def rows_on_thresholds(X: Any, program: Any) -> Any:
    """Rows between digits; of every second one a feature stands on a threshold, or a step beside it."""
    rng = np.random.default_rng(0)
    rows = (X[rng.integers(len(X), size=ROWS)] + X[rng.integers(len(X), size=ROWS)]).astype(np.float32) / 2
    at = np.arange(0, ROWS, 2)
    picks = rng.integers(len(program.tables["tree_thresholds"]), size=len(at))
    exact = program.tables["tree_thresholds"][picks].astype(np.float32)
    beside = [exact, np.nextafter(exact, np.float32(-np.inf)), np.nextafter(exact, np.float32(np.inf))]
    rows[at, program.tables["tree_features"][picks]] = np.choose(rng.integers(3, size=len(at)), beside)
    return rows


@pytest.mark.compile
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("profile", ["portable", "host"])
def test_every_backend_gives_the_labels_of_the_program(
    classes: int, precision: Any, profile: str, tmp_path: Any
) -> None:
    X, model, program = compiled(classes)
    rows = rows_on_thresholds(X, program)
    sc.write(sc.emit(program, ("c", "onnx"), "digits", precision, profile), tmp_path)
    meant = program.predict(rows)
    steady = ~error_bounds(program, rows.astype(np.float64), precision).unstable
    assert steady.mean() > 0.99
    for target in ("c", "onnx"):
        found = sc.load(tmp_path, target=target).predict(rows)
        assert (found == meant)[steady].all(), target
    assert sc.load(tmp_path, target="c").self_test() == 0
    assert sc.verify(tmp_path, model, X[:300]).ok
