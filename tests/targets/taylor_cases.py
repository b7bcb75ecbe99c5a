"""Programs with Taylor polynomials in front, of all sizes that generated C treats in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmcompile.accelerate.bounds.margins import RowError
from svmcompile.accelerate.bounds.sums import Sum
from svmcompile.accelerate.builder import Builder, head_nodes
from svmcompile.accelerate.certified.method import whole_sum
from svmcompile.accelerate.taylor.front import add_front, grow_centres
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.optimise import optimise
from svmcompile.read import read


@dataclass(frozen=True, eq=False)
class Case:
    """A program, the original, and rows the original was trained on."""

    program: Program
    model: Any
    X: Any


def front_before_exact(
    model: Any, X: Any, leaves: int, order: int, rank: int, gates: tuple[float, ...] = ()
) -> Program:
    """Polynomials, and the exact sum in double for rows they are not sure of."""
    svm = read(model)
    builder, kernel = Builder(svm), svm.kernel
    error = RowError(1e-6, 0.0) if svm.front.nodes else RowError(0.0, 0.0)
    whole = whole_sum(Sum(kernel, svm.vectors, svm.coefficients[0], float(svm.intercepts[0])), error)
    exact, x = builder.exact_in_double(), builder.preprocess()
    seen = _seen(builder, svm, x, X)
    seen = np.vstack([seen, seen + 1e-3, seen - 1e-3])  # no leaf has one row alone
    tree = grow_centres(seen, leaves)
    found = [whole.seen_from(seen[part], 4).expansion(order, rank) for part in tree.parts]
    front = add_front(builder, whole, x, exact, tree, found, gates)
    builder.body.extend(head_nodes(svm, front))
    return optimise(check(builder.program([Output("label", "label")], "taylor", Claim.SAME_LABEL)))


def _seen(builder: Builder, svm: Any, x: str, X: Any) -> Any:
    """Rows as the kernel sees them."""
    if x == "x":
        return X
    program = builder.program([Output("value", x)], "taylor", Claim.SAME_LABEL)
    return interpret_values(program, X, {x})[x]


@cache
def made(
    d: int, leaves: int, order: int, rank: int, gates: tuple[float, ...], scaled: bool, degree: int = 0
) -> Case:
    """Two clouds with a curved border between them; an RBF kernel unless there is a degree."""
    generator = np.random.default_rng(d)
    X = generator.normal(size=(160, d))
    y = X[:, 0] + 0.4 * np.square(X[:, -1]) + generator.normal(0, 0.5, len(X)) > 0.3
    X = (X / np.sqrt(d) + (3.0 if scaled else 0.0)).astype(np.float32).astype(np.float64)
    svc = SVC(gamma=0.3 / d if scaled else 0.5, C=2.0)
    if degree:
        svc.set_params(kernel="poly", degree=degree, coef0=1.0)
    model = (make_pipeline(StandardScaler(), svc) if scaled else svc).fit(X, y)
    return Case(front_before_exact(model, X, leaves, order, rank, gates), model, X)


SIZES: dict[str, tuple[Any, ...]] = {  # features, leaves, order, axes, gates, scaled, degree
    "d1": (1, 1, 3, 0, (), False),
    "d1_leaves": (1, 5, 2, 0, (), True),
    "d2": (2, 16, 3, 0, (0.5, 0.5), False),
    "d3": (3, 3, 3, 0, (), True),
    "d5": (5, 9, 3, 0, (), False),
    "d5_axes": (5, 2, 3, 3, (), False),
    "d8": (8, 8, 3, 0, (), True),
    "d13": (13, 1, 3, 0, (), False),
    "d16": (16, 32, 2, 0, (), False),
    "d17_axes": (17, 4, 3, 5, (0.0, 0.6), True),
    "d17_walk": (17, 40, 3, 0, (), False),
    "d22": (22, 16, 3, 0, (), False),
    "d40": (40, 2, 2, 0, (), False),
    "d47_walk": (47, 34, 2, 9, (), True),
    "d60_walk": (60, 34, 2, 9, (), True),
    "d61": (61, 3, 3, 10, (), True),
    "d784": (784, 1, 2, 17, (), False),
    "d784_first": (784, 2, 1, 0, (), False),
    "d5_cubic": (5, 1, 3, 0, (), False, 3),
    "d8_square": (8, 4, 2, 0, (), True, 2),
    "d17_quartic": (17, 4, 3, 5, (0.0, 0.6), True, 4),
}


def near_and_far(case: Case, count: int, seed: int = 3) -> Any:
    """Rows near the data, far from it, and on both sides of the boundary as close as float32 has them."""
    generator, X, model = np.random.default_rng(seed), case.X, case.model
    spread = X.std(axis=0)
    near = X[generator.integers(0, len(X), count)] + generator.normal(0, 0.5, (count, X.shape[1])) * spread
    f = model.decision_function(X)
    a, b = (X[generator.choice(np.flatnonzero(side), count // 4)] for side in (f > 0, f <= 0))
    for _ in range(30):
        middle = (a + b) / 2
        above = model.decision_function(middle)[:, None] > 0
        a, b = np.where(above, middle, a), np.where(above, b, middle)
    return np.vstack([near, 50 * near[: count // 10], a, b]).astype(np.float32).astype(np.float64)
