"""f32 bounds of small models beside a stranger's: python -m tests.rounding.bounds

For boxes of rows, the stranger's bound on the error of the emitted C is held against the smallest bound
that svmcompile states for the box's centre and corners, and the largest error that the C has there.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from tests.rounding.stranger import Pair, Stranger

WIDTHS = (0.0, 1e-4)  # of boxes, as shares of a feature's range
KERNELS: dict[str, Any] = {
    "linear": {"kernel": "linear"},
    "degree 2": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "degree 3": {"kernel": "poly", "degree": 3},
    "rbf": {"kernel": "rbf"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05},
}


@dataclass(frozen=True, slots=True)
class Row:
    """One model: the largest error and stranger's bound over ours, and the median of ours over theirs."""

    model: str
    boxes: int
    measured: float
    stranger: float
    looser: float


def models() -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {}
    sets = {"iris": load_iris, "wine": load_wine, "cancer": load_breast_cancer}
    for name, load in sets.items():
        X, y = load(return_X_y=True)
        X = X[:, :5].astype(np.float32).astype(np.float64)
        for kernel, options in KERNELS.items():
            machine = SVC(**options, decision_function_shape="ovo")
            found[f"{name}, {kernel}"] = (
                make_pipeline(StandardScaler(), machine).fit(X[::2], y[::2]),
                X[1::2],
            )
        if name == "iris":
            for kernel, options in KERNELS.items():
                found[f"{name} regression, {kernel}"] = (SVR(**options).fit(X[::2], y[::2]), X[1::2])
    return found


def compare(name: str, model: Any, X: Any, count: int) -> Row:
    program = sc.compile(model)
    files, exact = (sc.emit(program, name="m", profile="portable", precision=p) for p in ("f32", "f64"))
    stranger = Stranger(files["m.c"], exact["m.c"])
    run = sc.build(model, profile="portable")
    picks = np.random.default_rng(0).permutation(len(X))[:count]
    spans = X.max(axis=0) - X.min(axis=0)
    shares = []
    for row in X[picks].astype(np.float32).astype(np.float64):
        for width in WIDTHS:
            shares.append(_box(program, stranger, run, row, width * spans))
    ours, theirs, errors = np.array(shares).T
    return Row(
        name,
        len(shares),
        float((errors / ours).max()),
        float((theirs / ours).max()),
        float(np.median(ours / theirs)),
    )


def _box(program: Any, stranger: Stranger, run: Any, row: Any, half: Any) -> tuple[float, float, float]:
    """Our bound, the stranger's and the error, of the score whose share of the bound is largest."""
    rng = np.random.default_rng(1)
    corners = [
        row,
        *(row + half * rng.choice([-1.0, 1.0], len(row)) for _ in range(8 if half.any() else 0)),
    ]
    rows = np.array(corners).astype(np.float32).astype(np.float64)
    ours = error_bounds(program, rows, "f32").scores.min(axis=0)
    x = [Pair(flint.arb(float(a), float(b)), 0.0, "float") for a, b in zip(row, half * 1.001, strict=True)]
    scores = len(ours)
    if program.labels is None:
        theirs = [stranger.call("m_predict", [(x, 0)])]
        values = [run.predict(rows).astype(np.float64)]
    else:
        out: tuple[list[Any], int] = ([Pair(flint.arb(0), 0.0, "float")] * scores, 0)
        stranger.call("m_decision_function", [(x, 0), out])
        theirs, values = out[0], run.decision_function(rows).reshape(len(rows), -1).T
    true = (program.predict if program.labels is None else program.decision_function)(rows)
    errors = np.abs(np.asarray(values) - np.asarray(true).reshape(len(rows), -1).T).max(axis=1)
    worst = int(np.argmax([one.error / bound for one, bound in zip(theirs, ours, strict=True)]))
    return float(ours[worst]), float(theirs[worst].error), float(errors[worst])


def main(count: int = 20) -> int:
    print(
        "| model | boxes | largest error / bound | stranger's bound / bound | median bound / stranger's |"
    )
    print("|---|---|---|---|---|")
    rows = [compare(name, *one, count) for name, one in models().items()]
    for row in rows:
        print(
            f"| {row.model} | {row.boxes} | {row.measured:.3f} | {row.stranger:.3f} | {row.looser:.1f} |",
            flush=True,
        )
    return int(any(row.stranger > 1 for row in rows))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
