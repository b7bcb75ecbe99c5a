"""Models that run in emulators within seconds, and what their programs say of the same rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, SVR, LinearSVC

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.optimise.centre import uncentre

NAME = "model"


@cache
def digits() -> tuple[Any, Any, Any]:
    """1 against 8: the model, the rows it learnt from, and those held out."""
    X, y = load_digits(return_X_y=True)
    kept = (y == 1) | (y == 8)
    X, Z, labels, _ = train_test_split(X[kept] / 16, y[kept], test_size=0.4, random_state=0)
    return SVC(C=1, gamma=0.03).fit(X, labels), X, Z.astype(np.float32)


@cache
def iris(kind: str) -> tuple[Any, Any, Any]:
    """Three classes of four features, or a value; every kernel."""
    X, y = load_iris(return_X_y=True)
    if kind == "value":
        model: Any = SVR(C=10).fit(X[:, :3], X[:, 3])
        return model, X[:, :3], X[::7, :3].astype(np.float32)
    gamma = 0.01 if kind == "sigmoid" else 0.1  # a steep one gives scores that rounding decides
    model = LinearSVC().fit(X, y) if kind == "affine" else SVC(kernel=kind, gamma=gamma).fit(X, y)
    return model, X, X[::7].astype(np.float32)


MODELS = {
    "digits": digits,
    **{
        kind: (lambda kind=kind: iris(kind))
        for kind in ("rbf", "poly", "sigmoid", "linear", "affine", "value")
    },
}


@cache
def emitted(model: str, method: str = "exact", precision: str = "f32") -> tuple[Any, dict[str, Any]]:
    """The program and the files of the device profile."""
    estimator, X, _ = MODELS[model]()
    program = sc.compile(estimator, method=method, X=None if method == "exact" else X)
    fixed = X if precision.startswith("q") else None
    return program, sc.emit(program, "c", NAME, precision, "device", X=fixed)


def assert_meant(program: Any, rows: Any, labels: Any, values: Any) -> None:
    """Labels and values are the interpreter's, up to float32 rounding."""
    meant = interpret(program, rows.astype(np.float64))
    bounds = error_bounds(uncentre(program), rows, "f32")
    stable = ~bounds.unstable
    assert stable.mean() > 0.9
    expected = meant["scores" if "scores" in meant else "value"]
    assert (np.abs(values - expected) <= 1.001 * bounds.scores)[stable].all()
    if labels is not None:
        assert (labels == meant["label"])[stable].all()
