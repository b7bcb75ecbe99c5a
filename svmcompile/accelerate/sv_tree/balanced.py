"""Balanced: the best tree whose nodes halve their rows, by trying every column at every node.

Algorithm 1 of Ukkonen's paper. A node with m columns to choose from makes 2 m calls for half the rows, so
the work grows with m to the power of the height: a few levels, for few vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile.accelerate.sv_tree.split import Matrix, Rows, all_cuts, column_gains, fit_term
from svmcompile.ir.arithmetic import Array
from svmcompile.progress import steps

MOST_NODES, MOST_VALUES = 1 << 18, 1 << 33  # nodes tried and kernel values looked at: about a minute


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A node of the tree to be: its column, the squared error below it and, unless a leaf, its split."""

    column: int
    cost: float
    threshold: float = 0.0
    parts: tuple[Plan, ...] = ()  # left and right


def highest(rows: int, columns: int) -> int:
    """The height up to which the best balanced tree can be found, at least 1."""
    height = 1
    while (2 * columns) ** height <= MOST_NODES and rows * columns ** (height + 1) <= MOST_VALUES:
        height += 1
        if 2**height > rows:
            break
    return height


@dataclass(frozen=True, slots=True, eq=False)
class Balanced:
    """The search over K [rows, columns], for terms as `fit_term` makes them."""

    K: Matrix
    affine: bool
    own: Array | None
    min_rows: int  # a node with so many rows or fewer is not split

    def plan(self, rows: Rows, rest: Array, height: int) -> Plan:
        """The best tree of at most so many levels."""
        with steps("trying balanced trees", self.K.shape[1]) as advance:
            return self._best(rows, rest, height, advance)

    def _best(self, rows: Rows, rest: Array, height: int, advance: Any = None) -> Plan:
        values = self.K[rows].astype(np.float64)
        gains = column_gains(values, rest, self.affine, self.own)
        column = int(np.argmax(gains))
        best = Plan(column, float(np.square(rest).sum() - gains[column]))  # where it is not split
        if height == 1 or len(rows) <= self.min_rows:
            return best
        for column in range(values.shape[1]):
            best = self._split(values[:, column], column, rows, rest, height, best)
            if advance:
                advance(1)
        return best

    def _split(self, values: Array, column: int, rows: Rows, rest: Array, height: int, best: Plan) -> Plan:
        """The better of a plan and the one that splits by this column, at its median."""
        keys = np.sort(values)
        cuts = all_cuts(keys)
        if not len(cuts):
            return best
        cut = cuts[np.argmin(np.abs(cuts - len(keys) / 2))]  # equal values stay together
        threshold = float(keys[cut - 1] + keys[cut]) / 2
        term = fit_term(values, rest, self.affine, None if self.own is None else self.own[column])
        below, right = rest - term.values(values), values > threshold
        parts: list[Plan] = []
        for side in (~right, right):
            parts.append(self._best(rows[side], below[side], height - 1))
            if sum(part.cost for part in parts) >= best.cost:
                return best
        return Plan(column, parts[0].cost + parts[1].cost, threshold, tuple(parts))
