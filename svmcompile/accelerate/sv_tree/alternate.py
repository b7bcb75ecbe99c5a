"""Alternate: the published search for a split (Algorithms 3 to 5, with the scaled columns of 4.3).

From a random threshold, columns and threshold are improved in turn until the cost stops falling.
"""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.sv_tree.split import (
    SMALLEST_SQUARE,
    Matrix,
    Rows,
    Split,
    all_cuts,
    fit_term,
)
from svmcompile.ir.kernel import Array


def alternating_split(
    K: Matrix, rows: Rows, column: int, targets: Array, random: np.random.Generator
) -> Split | None:
    """A split that neither other columns nor another threshold improves; None for equal values."""
    keys = K[rows, column].astype(np.float64)
    order = np.argsort(keys, kind="stable")
    rows, keys, targets = rows[order], keys[order], targets[order]
    cuts = all_cuts(keys)
    if not len(cuts):
        return None
    cut, cost = int(cuts[random.integers(len(cuts))]), np.inf
    values = K[rows].astype(np.float64)
    while True:
        left, right = _column(values[:cut], targets[:cut]), _column(values[cut:], targets[cut:])
        on_left = np.cumsum(_errors(values, targets, left, slice(cut)))
        on_right = np.cumsum(_errors(values, targets, right, slice(cut, None)))
        costs = on_left[cuts - 1] + (on_right[-1] - on_right[cuts - 1])
        best = int(np.argmin(costs))
        if not costs[best] < cost:
            break
        cut, cost = int(cuts[best]), float(costs[best])
    # The paper's threshold is an element of the column; midway sends the same rows left.
    return Split(float(keys[cut - 1] + keys[cut]) / 2, left, right)


def _column(values: Array, targets: Array) -> int:
    """The column whose best multiple is closest to the targets."""
    squares = np.square(values).sum(axis=0)
    alive = squares > SMALLEST_SQUARE
    gains = np.square(values.T @ targets).sum(axis=1) / np.where(alive, squares, 1.0)
    return int(np.argmax(np.where(alive, gains, 0.0)))


def _errors(values: Array, targets: Array, column: int, part: slice) -> Array:
    """Squared errors of all rows under the column's best multiple for a part of them."""
    term = fit_term(values[part, column], targets[part], affine=False)
    return np.asarray(np.square(targets - term.values(values[:, column])).sum(axis=1))
