"""Programs of bounded sums and votes for the tests of backends, with rows that are hard to label."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_iris, make_classification
from sklearn.svm import SVC, SVR

from svmcompile.ir.program import Program
from tests.programs.bounded import bounded_program, vote_program

RBF = {"kernel": "rbf", "gamma": 0.03}
POLY = {"kernel": "poly", "degree": 3, "coef0": 1.0, "gamma": 0.05}
# Stages that end within blocks of lanes and with them; coordinates for all values, for some, for none.
SHAPES: dict[str, dict[str, Any]] = {
    "all": {"block": 4, "basis": 40},
    "odd": {"block": 7, "basis": 61},
    "none": {"block": 6, "basis": 40, "coordinates": 0},
    "few": {"block": 6, "basis": 40, "coordinates": 5},
    "some": {"block": 16, "basis": 64, "coordinates": 20},
}
TOLERANCE = 0.2
VOTES: dict[str, tuple[int, int]] = {"quads": (4, 12), "odd": (3, 21), "wide": (16, 64)}  # block, basis


@cache
def two_classes() -> tuple[Any, Any]:
    X, y = make_classification(500, 13, n_informative=6, random_state=1)
    return X.astype(np.float32).astype(np.float64), y


@cache
def machine(kind: str) -> Any:
    """A fitted SVC of two classes."""
    return SVC(**(RBF if kind == "rbf" else POLY)).fit(*two_classes())


@cache
def voting_machine(kind: str) -> tuple[Any, Any]:
    """A fitted SVC of several classes, and its rows."""
    if kind == "iris":
        X, y = load_iris(return_X_y=True)
    elif kind == "wide":  # more features than are added up in one go
        X, y = make_classification(150, 70, n_informative=8, n_classes=3, random_state=2)
        return SVC(gamma=0.005, C=2.0).fit(X, y), X
    elif kind == "sparse":  # rows that are mostly zeros
        generator, y = np.random.default_rng(3), np.arange(160) % 4
        often = np.where(generator.random((4, 75)) < 0.3, 0.5, 0.1)[y]
        X = generator.random((160, 75)) * (generator.random((160, 75)) < often)
        return SVC(gamma=0.03, C=2.0).fit(X, y), X
    else:
        X, y = make_classification(600, 6, n_informative=5, n_redundant=0, n_classes=6, random_state=2)
    kernel = {"kernel": "poly", "degree": 2, "coef0": 1.0} if kind == "poly" else {}
    return SVC(gamma=0.2, C=2.0, **kernel).fit(X, y), X


@cache
def sums(kind: str) -> dict[str, Program]:
    return {f"{kind}_{name}": bounded_program(machine(kind), **shape) for name, shape in SHAPES.items()}


@cache
def votes(kind: str) -> dict[str, Program]:
    model, _ = voting_machine(kind)
    return {f"{kind}_{name}": vote_program(model, *shape) for name, shape in VOTES.items()}


@cache
def regressor() -> Any:
    X, y = two_classes()
    return SVR(gamma=0.005, C=0.02).fit(X, y.astype(float))


@cache
def value_program() -> Program:
    """A value within a tolerance that some rows reach before all vectors are met."""
    return bounded_program(regressor(), block=5, basis=64, coordinates=20, tolerance=TOLERANCE)


@cache
def labelled_rows(kind: str, count: int = 10_000) -> tuple[Any, Any]:
    """Hard rows for a machine of that kind, and the labels it gives them in double."""
    model, X = voting_machine(kind[5:]) if kind.startswith("vote ") else (machine(kind), two_classes()[0])
    rows = hard_rows(model, X, count)
    return rows, model.predict(rows.astype(np.float64))


def hard_rows(model: Any, X: Any, count: int) -> Any:
    """Near the data, far from it, vectors, midpoints, points that meet at the boundary; float32."""
    generator = np.random.default_rng(1)
    near = X[generator.integers(0, len(X), count)] + generator.normal(0, 0.5, (count, X.shape[1]))
    far = 30 * generator.normal(size=(50, X.shape[1]))
    vectors = model.support_vectors_
    middles = (vectors[1:] + vectors[:-1]) / 2
    rows = np.vstack([near, far, vectors, middles, *boundary(model, near[: count // 2])])
    return rows.astype(np.float32)


def boundary(model: Any, rows: Any, steps: int = 40) -> tuple[Any, Any]:
    """Points on both sides of the boundary, as close as bisection gets."""
    first, second = rows[::2], rows[1::2]
    label = model.predict(first)
    differ = label != model.predict(second)
    first, second, label = first[differ], second[differ], label[differ]
    for _ in range(steps):
        middle = (first + second) / 2
        same = (model.predict(middle) == label)[:, None]
        first, second = np.where(same, middle, first), np.where(same, second, middle)
    return first, second


def odd_rows(width: int) -> Any:
    """Rows that are not finite, and huge ones; float32."""
    rows = np.zeros((7, width), np.float32)
    rows[0, 0], rows[1, 0], rows[2, -1] = np.nan, np.inf, -np.inf
    rows[3], rows[4], rows[5, 0], rows[6] = 1e30, -3e38, 3e38, np.nan
    return rows
