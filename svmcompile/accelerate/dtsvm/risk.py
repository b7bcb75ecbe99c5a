"""The terms of the paper's error bound (section 4): a classifier and its training rows enter.

R = sum over mixed leaves of rho^2 beta^2 + |xi|^2 at functional margin 1 (mean over a leaf's problems;
rho^2 = 1 for RBF, else the largest k(x, x)). The bound's constant is unknown: terms compare trees of a set.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Task, Theta, fit, sums
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.kinds import Indices
from svmcompile.ir.pairs import pair_indices, pair_weights


def fit_leaf(task: Task) -> Leaf:
    """The leaf's classifier, with its risk where the task asks for it."""
    leaf = fit(task)
    return replace(leaf, risk=leaf_risk(leaf, task)) if task.judged else leaf


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
    gram = theta.kernel.values(leaf.vectors, leaf.vectors)
    return np.asarray(np.einsum("ij,jk,ik->i", weights, gram, weights, optimize=True))


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


def _radius(kernel: Kernel, rows: NDArray[np.floating]) -> float:
    """rho^2: the largest k(x, x)."""
    if kernel.kind == "rbf":
        return 1.0
    return max(
        float(kernel.values(row[None], row[None])[0, 0]) for row in np.asarray(rows, dtype=np.float64)
    )


def terms(R: float, n_leaves: int, n_rows: int, n_features: int) -> dict[str, float]:
    """T1 = R ln^2 n and T2 = L ln(d n L^2), the two parts of the bound; R and R per leaf."""
    return {
        "R": R,
        "R_per_leaf": R / n_leaves,
        "T1": R * math.log(n_rows) ** 2,
        "T2": n_leaves * math.log(n_features * n_rows * n_leaves**2),
    }
