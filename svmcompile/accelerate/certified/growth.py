"""A tree of centres grown where rows stay undecided: a sum and rows go in, centres come out.

Any centre gives a valid bound, so the tree is free: the leaf with most rows still undecided is split.

Bounds as rows show them: a proven expansion and rows go in, one with smaller bounds comes out.
What a polynomial is really off by is a share of its bound. The largest share that rows of the leaf show,
half as much again, takes the place of 1. That is measured, not proven.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.taylor.expansion import AnySum, Expansion
from svmcompile.accelerate.taylor.front import Centres, blocks_of, taylor_node, two_means
from svmcompile.accelerate.taylor.spectra import FEW_PRODUCTS, MANY_PRODUCTS
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_orders, taylor_scores

BEYOND = 1.5  # times the largest share seen
MEASURED_ROWS = 30  # fewer show too little
LEAST_ROWS = 8  # of a leaf that is split
LEAST_GAP = 1e-300
NEARNESS = (1e-4, 1e4)  # beyond which it does not matter
LITTLE = 0.15  # what a row counts that order 2 decides and order 1 does not


def calibrate(found: Expansion, whole: AnySum, rows: Array, values: Array) -> Expansion:
    """The expansion with bounds fitted to the values of the sum at rows."""
    if len(rows) < MEASURED_ROWS:
        return found
    node, tables = taylor_node(whole, [found])
    seen = taylor_scores(At(node, tables), 0, rows)
    error = values[:, None] - seen.scores
    bound = np.where(error > 0, seen.gaps[:, :, 1], seen.gaps[:, :, 0]) + seen.loose
    share = np.minimum(BEYOND * np.abs(error / np.maximum(bound, 1e-300)).max(axis=0), 1.0)
    gaps = found.gaps * share[:, None, None]
    return replace(found, gaps=gaps, loose=found.loose * share[1:, None])


@dataclass(frozen=True, slots=True)
class Form:
    """Polynomials of an order in so many directions (0: all features), with bounds in so many cells."""

    order: int
    rank: int
    cells: int
    filled: float = 0.0  # features of a row that are not zero, if code looks at those alone; 0: at all


class Leaf:
    """One centre, with the rows that made it and the sample rows that fall to it."""

    def __init__(self, whole: AnySum, rows: Array, values: Array | None, sample: Array, depth: int) -> None:
        sharpen = FEW_PRODUCTS if depth else MANY_PRODUCTS
        self.local = whole.seen_from(rows, blocks_of(whole), sharpen)
        self.rows, self.values = rows, values
        self.sample, self.depth = sample, depth
        self._expansions: dict[Form, Expansion] = {}
        self._settled: dict[Form, NDArray[np.intp]] = {}

    def expansion(self, form: Form) -> Expansion:
        if form not in self._expansions:
            found = self.local.expansion(form.order, form.rank, form.cells, form.filled > 0)
            if self.values is not None:
                found = calibrate(found, self.local.whole, self.rows, self.values)
            self._expansions[form] = found
        return self._expansions[form]

    def settled(self, form: Form) -> NDArray[np.intp]:
        """The order (from 0) that decides each sample row; the form's order where none does."""
        if form not in self._settled:
            self._settled[form] = self.settles(form, self.sample)
        return self._settled[form]

    def nearness(self, form: Form) -> Array:
        """Of each sample row, the logarithm of its best score beside what that may be off by."""
        node, tables = taylor_node(self.local.whole, [self.expansion(form)])
        seen = taylor_scores(At(node, tables), 0, self.sample)
        gaps = np.stack([seen.gap(order, order) for order in range(form.order)], axis=1) + seen.loose
        best = np.abs(seen.scores / np.maximum(gaps, LEAST_GAP)).max(axis=1, initial=0.0)
        return np.asarray(np.log(np.clip(np.where(seen.inside, best, 0.0), *NEARNESS)))

    def settles(self, form: Form, rows: Array) -> NDArray[np.intp]:
        node, tables = taylor_node(self.local.whole, [self.expansion(form)])
        return taylor_orders(At(node, tables), rows, np.zeros(len(rows), dtype=np.intp)).settled


@dataclass(frozen=True, eq=False, slots=True)
class Grown:
    """A tree and its leaves."""

    tree: Centres
    leaves: list[Leaf]


class Growth:
    """Grows a tree leaf by leaf; `form` says what decides a row."""

    def __init__(self, whole: AnySum, rows: Array, values: Array | None, sample: Array, form: Form) -> None:
        self.form = form
        self.tree = Centres([np.arange(len(rows))])
        self.leaves = [Leaf(whole, rows, values, sample, 0)]
        self.open = [self._undecided(self.leaves[0])]
        self.random = np.random.default_rng(0)

    def now(self) -> Grown:
        return Grown(deepcopy(self.tree), list(self.leaves))

    def split(self) -> bool:
        """One leaf more, or False if nothing is left to gain."""
        at = int(np.argmax(self.open))
        if self.open[at] <= 0:
            return False
        old = self.leaves[at]
        plane, threshold = two_means(old.rows, self.random)
        right = old.rows @ plane > threshold
        if right.all() or not right.any():
            self.open[at] = 0.0
            return True
        self.tree.split(at, plane, threshold, right)
        beyond = old.sample @ plane > threshold
        self.leaves[at] = self._part(old, ~right, ~beyond)
        self.leaves.append(self._part(old, right, beyond))
        self.open[at] = self._undecided(self.leaves[at])
        self.open.append(self._undecided(self.leaves[-1]))
        return True

    def _part(self, old: Leaf, rows: NDArray[np.bool_], sample: NDArray[np.bool_]) -> Leaf:
        values = None if old.values is None else old.values[rows]
        whole, depth = old.local.whole, old.depth + 1
        return Leaf(whole, old.rows[rows], values, old.sample[sample], depth)

    def _undecided(self, leaf: Leaf) -> float:
        """How much there is to gain from a split."""
        if len(leaf.rows) < LEAST_ROWS or not np.ptp(leaf.rows, axis=0).any():
            return 0.0
        settled = leaf.settles(self.form, leaf.rows)
        last = settled == self.form.order
        return float((last + 1.0 * (settled >= min(2, self.form.order)) + LITTLE * (settled >= 1)).sum())
