"""The terms of the paper's error bound (section 4.3): a leaf's share of it, and what the leaves add up to.

R = sum over mixed leaves of rho^2 beta^2 + |xi|^2 at functional margin 1; rho^2 = 1 for RBF, else the
largest k(x, x). The bound's constant is unknown: terms compare trees of a set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Task, Theta, sums
from svmcompile.accelerate.fitting.rows import BLOCK_VALUES, in_blocks
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Indices
from svmcompile.ir.pairs import pair_indices, pair_weights


def leaf_risk(leaf: Leaf, task: Task) -> float:
    """rho^2 beta^2 + |xi|^2, mean over the problems of a leaf; 0 for a constant."""
    if leaf.is_pure:
        return 0.0
    kernel = task.theta.kernel
    found = sums(leaf, kernel, task.X)
    norms = squared_norms(leaf, task.theta)
    slack = [float(np.square(xi).sum()) for xi in slacks(leaf, task.rule, found, task.y)]
    return _radius(kernel, task.X) * float(norms.mean()) + float(np.mean(slack))


def squared_norms(leaf: Leaf, theta: Theta) -> Array:
    """beta^2 = a' K a of every problem."""
    pairs = len(leaf.weights) == len(leaf.classes) - 1
    weights = pair_weights(leaf.weights, leaf.counts) if pairs else leaf.weights
    step = max(1, BLOCK_VALUES // max(1, len(leaf.vectors)))
    products = in_blocks(
        lambda rows: theta.kernel.values(rows, leaf.vectors) @ weights.T, leaf.vectors, step
    )
    return np.asarray((products * weights.T).sum(axis=0))


def slacks(leaf: Leaf, rule: LeafRule, found: Array, y: Indices) -> list[Array]:
    """xi_j = max(0, 1 - y_j f(x_j)) of the rows each problem is about."""
    if rule == "sum":
        return [_slack(found[:, 0], y == leaf.classes[1])]
    if rule == "ovr":
        return [_slack(found[:, k], y == label) for k, label in enumerate(leaf.classes)]
    every = []
    for column, (first, second) in enumerate(pair_indices(len(leaf.classes))):
        own = np.isin(y, leaf.classes[[first, second]])
        every.append(_slack(found[own, column], y[own] == leaf.classes[first]))
    return every


def _slack(values: Array, positive: NDArray[np.bool_]) -> Array:
    return np.maximum(0.0, 1.0 - np.where(positive, values, -values))


def _radius(kernel: Kernel, rows: Any) -> float:
    """rho^2: the largest k(x, x)."""
    if kernel.kind == "rbf":
        return 1.0
    each = (rows[at : at + 1].astype(np.float64) for at in range(len(rows)))
    return max(float(kernel.values(row, row)[0, 0]) for row in each)


def terms(
    leaves: Sequence[Leaf], rule: LeafRule, n_classes: int, n_rows: int, n_features: int
) -> dict[str, float]:
    """R, and the two parts of the bound, T1 = R log^2 n and T2 = L log(d n L^2), in base 10.

    With several classes, R has for each leaf the mean over its own problems; R_all the mean over all
    problems there are, where those that a leaf does not have count 0. T1_printed = R log2 n is what the
    paper's Table 13 holds, although its text has the formula of T1.
    """
    n_leaves = len(leaves)
    R = sum(leaf.risk for leaf in leaves)
    whole = sum(leaf.risk * len(leaf.bias) for leaf in leaves)
    return {
        "R": R,
        "R_all": whole / problems(rule, n_classes),
        "R_per_leaf": R / n_leaves,
        "T1": R * math.log10(n_rows) ** 2,
        "T1_printed": R * math.log2(n_rows),
        "T2": n_leaves * math.log10(n_features * n_rows * n_leaves**2),
    }


def problems(rule: LeafRule, n_classes: int) -> int:
    """Sums that so many classes need."""
    if rule == "sum":
        return 1
    return n_classes * (n_classes - 1) // 2 if rule == "vote" else n_classes
