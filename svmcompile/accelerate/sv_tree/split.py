"""Split: the threshold of a node and the columns of its two children, in one pass over all of them.

With rows sorted by the node's own kernel value, running sums give the gain of every column on
either side of every threshold, so the best triple (threshold, left column, right column) is found
exactly (for nodes of up to some thousand rows) and without random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array

COLUMNS = 256  # columns looked at together, which bounds memory
# A node looks at so many rows, and tries so many thresholds per output, and fewer where there are very
# many columns; where it has more, evenly spread ones stand for all.
MOST_ROWS, FEWEST_ROWS, MOST_VALUES = 8192, 1024, 1 << 22
MOST_CUTS, FEWEST_CUTS, MOST_GAINS = 2048, 32, 1 << 20
SMALLEST_GAP = 1e-6  # of the range: thresholds lie between values that rounding does not swap
SMALLEST_SQUARE = 1e-12  # columns with less are taken for zero
SMALLEST_VARIANCE = 1e-9  # per row: columns with less are taken for constant

Rows = NDArray[np.intp]
Matrix = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Split:
    """Rows with K[row, column of the node] > threshold go right; columns of the children."""

    threshold: float
    left: int
    right: int


@dataclass(frozen=True, eq=False)
class Term:
    """coefficient * K[:, column] + constant, for each output."""

    coefficient: Array  # [outputs]
    constant: Array  # [outputs]

    def values(self, column: Matrix) -> Array:
        return np.asarray(np.multiply.outer(column, self.coefficient) + self.constant, dtype=np.float64)


def fit_term(column: Matrix, targets: Array, affine: bool, own: Array | None = None) -> Term:
    """The least-squares fit of targets [rows, outputs] by one column, with a constant if `affine`.

    A column with coefficients of its `own` [outputs] keeps them.
    """
    if own is not None:
        return Term(own, np.zeros(targets.shape[1]))
    k = column.astype(np.float64)
    if not affine:
        square = float(k @ k)
        slope = (k @ targets) / square if square > SMALLEST_SQUARE else np.zeros(targets.shape[1])
        return Term(slope, np.zeros(targets.shape[1]))
    centre, level = k.mean(), targets.mean(axis=0)
    h = k - centre
    square = float(h @ h)
    usable = square > SMALLEST_VARIANCE * len(k)
    slope = (h @ targets) / square if usable else np.zeros(targets.shape[1])
    return Term(slope, level - slope * centre)


def column_gains(values: Matrix, targets: Array, affine: bool, own: Array | None = None) -> Array:
    """By how much each column of values [rows, columns] lowers the squared error of all rows."""
    block = values.astype(np.float64)
    totals = [block.T @ targets, np.square(block).sum(axis=0), targets.sum(axis=0)]
    side = [total[None] for total in (*totals, np.array(float(len(block))), block.sum(axis=0))]
    return np.asarray(_gains(side, affine, 0.0, own)[0])


def best_column(
    K: Matrix, rows: Rows, targets: Array, affine: bool, ridge: float = 0.0, own: Array | None = None
) -> int:
    """The column with the best fit on all rows: the root's."""
    few = np.arange(0, len(rows), _step(rows, K))
    everything = np.array([len(few)])
    return int(_best(K, rows[few], targets[few], everything, affine, ridge, own)[1][0])


def best_split(
    K: Matrix,
    rows: Rows,
    column: int,
    targets: Array,
    affine: bool,
    ridge: float = 0.0,
    own: Array | None = None,
) -> Split | None:
    """The best split of rows by their values in a column; None where all values are equal.

    Columns with coefficients of their `own` [columns, outputs] keep them.
    """
    keys = K[rows, column].astype(np.float64)
    order = np.argsort(keys, kind="stable")[:: _step(rows, K)]
    keys = keys[order]
    cuts = possible_cuts(keys, targets.shape[1], K.shape[1])
    if not len(cuts):
        return None
    gains, left, right = _best(K, rows[order], targets[order], cuts, affine, ridge, own)
    at = int(np.argmax(gains))
    cut = cuts[at]
    return Split(float(keys[cut - 1] + keys[cut]) / 2, int(left[at]), int(right[at]))


def _step(rows: Rows, K: Matrix) -> int:
    """One row in so many is looked at."""
    most: int = min(MOST_ROWS, max(FEWEST_ROWS, MOST_VALUES // int(K.shape[1])))
    return -(-len(rows) // most)


def all_cuts(keys: Array) -> Rows:
    """Numbers of rows that may go left: between sorted values that differ."""
    return np.flatnonzero(np.diff(keys) > SMALLEST_GAP * (keys[-1] - keys[0])) + 1


def possible_cuts(keys: Array, outputs: int, columns: int = 1) -> Rows:
    """All cuts, evenly thinned out if there are many."""
    cuts = all_cuts(keys)
    most = max(FEWEST_CUTS, min(MOST_CUTS, MOST_GAINS // columns) // outputs)
    if len(cuts) > most:
        cuts = cuts[np.linspace(0, len(cuts) - 1, most).astype(np.intp)]
    return cuts


def _best(
    K: Matrix, rows: Rows, targets: Array, cuts: Rows, affine: bool, ridge: float, own: Array | None
) -> tuple[Array, Rows, Rows]:
    """The best gain of each cut, and the columns that give it on its left and right."""
    best_left = np.full(len(cuts), -np.inf)
    best_right = np.full(len(cuts), -np.inf)
    left, right = np.zeros(len(cuts), dtype=np.intp), np.zeros(len(cuts), dtype=np.intp)
    counts = np.append(cuts, len(rows)).astype(np.float64)
    sums = _running(targets, cuts)
    for start in range(0, K.shape[1], COLUMNS):
        block = K[rows, start : start + COLUMNS].astype(np.float64)
        products = _running_products(block, targets, cuts)
        squares = _running(np.square(block), cuts)
        plain = _running(block, cuts)
        totals = (products, squares, sums, counts, plain)
        on_left = [total[:-1] for total in totals]
        on_right = [total[-1] - total[:-1] for total in totals]
        for side, best, arg in ((on_left, best_left, left), (on_right, best_right, right)):
            gain = _gains(side, affine, ridge, None if own is None else own[start : start + COLUMNS])
            at = np.argmax(gain, axis=1)
            found = gain[np.arange(len(cuts)), at]
            better = found > best
            best[better], arg[better] = found[better], at[better] + start
    return best_left + best_right, left, right


def _running(values: Array, cuts: Rows) -> Array:
    """Sums over the rows before each cut, then over all rows."""
    starts = np.concatenate([[0], cuts[cuts < len(values)]])
    sums = np.cumsum(np.add.reduceat(values, starts, axis=0), axis=0)
    return np.asarray(sums if len(starts) == len(cuts) + 1 else np.concatenate([sums, sums[-1:]]))


def _running_products(block: Array, targets: Array, cuts: Rows) -> Array:
    """Running sums of targets * column, [cuts + 1, columns, outputs]."""
    if targets.shape[1] == 1:
        return _running(block * targets, cuts)[:, :, None]
    edges = [0, *cuts, len(block)]
    parts = [block[a:b].T @ targets[a:b] for a, b in pairwise(edges)]
    return np.cumsum(np.stack(parts), axis=0)


def _gains(side: list[Array], affine: bool, ridge: float, own: Array | None) -> Array:
    """By how much the squared error falls, [cuts, columns], for the best scale (and constant).

    A ridge above zero makes columns that hardly vary look as poor as their fits would be. Columns with
    coefficients of their own are not scaled.
    """
    products, squares, sums, counts, plain = side
    if own is not None:
        return np.asarray(2 * (products * own).sum(axis=2) - squares * np.square(own).sum(axis=1))
    if not affine:
        return _ratio(np.square(products).sum(axis=2), squares + ridge, SMALLEST_SQUARE)
    n = np.maximum(counts, 1.0)[:, None]
    level = np.square(sums).sum(axis=1)[:, None] / n
    together = products - plain[:, :, None] * (sums / n)[:, None, :]
    variance = squares - np.square(plain) / n + ridge
    return np.asarray(_ratio(np.square(together).sum(axis=2), variance, SMALLEST_VARIANCE * n) + level)


def _ratio(above: Array, below: Array, least: Array | float) -> Array:
    """above / below, zero where what is below is too small to tell from rounding."""
    alive = below > least
    return np.asarray(np.where(alive, above / np.where(alive, below, 1.0), 0.0))
