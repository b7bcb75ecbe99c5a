"""Grow: a tree from kernel values K[rows, vectors] and targets[rows, outputs], node by node.

From a random threshold, columns and threshold are improved in turn until the cost stops falling.

A node's column is chosen by its parent; the node chooses its threshold and its children's columns.
Along the way every node keeps the coefficients of its path, so a leaf is a short affine function of the
kernel values met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.sv_tree.balanced import Balanced, Plan
from svmcompile.accelerate.sv_tree.split import (
    SMALLEST_SQUARE,
    Matrix,
    Rows,
    Split,
    all_cuts,
    best_column,
    best_split,
    column_gains,
    fit_term,
)
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Indices
from svmcompile.ir.walks import Paths, path_evaluations, path_sums, paths
from svmcompile.progress import steps

Decide = Callable[[Array], NDArray[Any]]  # outputs -> labels


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes, each with a column or, where its column was met before, ~level; see `ir.nodes.PathSum`."""

    picks: NDArray[np.int32]  # [nodes]
    thresholds: Array  # [nodes]
    children: NDArray[np.int32]  # [nodes, 2]
    starts: NDArray[np.int32]  # [leaves + 1]
    weights: Array  # [coefficients, outputs]
    bias: Array  # [leaves, outputs]

    def paths(self, K: Matrix) -> Paths:
        """Where the rows go."""
        return paths(K, self.picks, self.thresholds, self.children)

    def values(self, K: Matrix) -> Array:
        """The tree's outputs, [rows, outputs]."""
        path = self.paths(K)
        return path_sums(path.leaf, path.met, self.starts, self.weights, self.bias)

    def evaluations(self, K: Matrix) -> Indices:
        """How many kernel values each row needs."""
        return path_evaluations(self.picks, self.children)[self.paths(K).leaf]

    def columns(self) -> NDArray[np.int32]:
        """The columns in use, each once."""
        return np.unique(self.picks[self.picks >= 0])

    def renumbered(self) -> Tree:
        """The same tree over `columns()` only."""
        used = self.columns()
        picks = np.where(self.picks >= 0, np.searchsorted(used, self.picks), self.picks)
        return replace(self, picks=picks.astype(np.int32))


def alternating_split(
    K: Matrix,
    rows: Rows,
    column: int,
    targets: Array,
    random: np.random.Generator,
    own: Array | None = None,
) -> Split | None:
    """A split that neither other columns nor another threshold improves; None for equal values.

    Columns with coefficients of their `own` keep them.
    """
    keys = K[rows, column].astype(np.float64)
    order = np.argsort(keys, kind="stable")
    rows, keys, targets = rows[order], keys[order], targets[order]
    cuts = all_cuts(keys)
    if not len(cuts):
        return None
    cut, cost = int(cuts[random.integers(len(cuts))]), np.inf
    values = K[rows].astype(np.float64)
    while True:
        parts = slice(cut), slice(cut, None)
        left, right = (
            int(np.argmax(column_gains(values[p], targets[p], affine=False, own=own))) for p in parts
        )
        on_left = np.cumsum(_errors(values, targets, left, parts[0], own))
        on_right = np.cumsum(_errors(values, targets, right, parts[1], own))
        costs = on_left[cuts - 1] + (on_right[-1] - on_right[cuts - 1])
        best = int(np.argmin(costs))
        if not costs[best] < cost:
            break
        cut, cost = int(cuts[best]), float(costs[best])
    # The paper's threshold is an element of the column; midway sends the same rows left.
    return Split(float(keys[cut - 1] + keys[cut]) / 2, left, right)


def _errors(values: Array, targets: Array, column: int, part: slice, own: Array | None) -> Array:
    """Squared errors of all rows under the column's best multiple for a part of them."""
    term = fit_term(values[part, column], targets[part], False, None if own is None else own[column])
    return np.asarray(np.square(targets - term.values(values[:, column])).sum(axis=1))


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a tree grows."""

    max_depth: int  # nodes on a path at most
    min_rows: int  # a node with so many rows or fewer is not split
    affine: bool = True  # a constant beside each coefficient
    refit: bool = True  # all coefficients of a path are refitted at every node
    ridge: float = 0.3
    cache: bool = True  # a vector met before on the path is not met again
    alternate: bool = False  # the published search in place of the exact one
    balanced: bool = False  # the best tree whose nodes halve their rows
    own: Array | None = None  # coefficients [columns, outputs] that columns keep, in place of fitted ones
    decide: Decide | None = None  # with it, a node whose labels are all right is not split
    seed: int = 0


@dataclass(eq=False)
class Branch:
    """A node to be: its rows, the path to it, and what is left of the targets there."""

    rows: Rows
    path: list[int]  # columns, the node's own last
    weights: Array  # [path, outputs]
    bias: Array  # [outputs]
    rest: Array  # [rows, outputs]
    link: tuple[list[int], int] | None  # the parent's children, and which of them it is
    plan: Plan | None = None  # of a balanced tree


class Grower:
    """Nodes and leaves so far, and what they are grown from."""

    def __init__(self, K: Matrix, targets: Array, growth: Growth) -> None:
        self.K, self.targets, self.growth = K, targets, growth
        self.random = np.random.default_rng(growth.seed)
        # The ridge is meant for kernel values of size one.
        self.ridge = growth.ridge * _mean_square(K) if growth.refit else 0.0
        self.nodes: list[tuple[int, float, list[int]]] = []  # pick, threshold, children
        self.leaves: list[tuple[Array, Array]] = []  # weights, bias

    def grow(self, rows: Rows, rest: Array) -> Tree:
        """The tree over the rows, of whose targets the rest is to be met."""
        m = rest.shape[1]
        start = Branch(rows, [], np.zeros((0, m)), np.zeros(m), rest, None, self._plan(rows, rest))
        growth, own = self.growth, self.growth.own
        if start.plan:
            root = start.plan.column
        else:
            root = best_column(self.K, rows, rest, growth.affine, self.ridge, own)
        stack = [self._extend(start, root, np.arange(len(rows)), None, start.plan)]
        with steps("growing a tree", len(rows)) as advance:
            while stack:
                branch = stack.pop()
                split = self._split(branch)
                children = self._add_node(branch, split.threshold if split else 0.0)
                if split is None:
                    children[:] = [~len(self.leaves)] * 2
                    self.leaves.append((branch.weights, branch.bias))
                    advance(len(branch.rows))
                    continue
                right = self.K[branch.rows, branch.path[-1]] > split.threshold
                for side, column in ((1, split.right), (0, split.left)):  # the left one is taken first
                    kept = np.flatnonzero(right if side else ~right)
                    plan = branch.plan.parts[side] if branch.plan else None
                    stack.append(self._extend(branch, column, kept, (children, side), plan))
        picks, thresholds, pairs = zip(*self.nodes, strict=True)
        weights, bias = zip(*self.leaves, strict=True)
        return Tree(
            np.array(picks, dtype=np.int32),
            np.array(thresholds),
            np.array(pairs, dtype=np.int32),
            np.concatenate([[0], np.cumsum([len(one) for one in weights])]).astype(np.int32),
            np.concatenate(weights),
            np.stack(bias),
        )

    def _add_node(self, branch: Branch, threshold: float) -> list[int]:
        """A node more; its children, which are to be filled in."""
        column, before, children = branch.path[-1], branch.path[:-1], [0, 0]
        if branch.link:
            siblings, side = branch.link
            siblings[side] = len(self.nodes)
        met = self.growth.cache and column in before
        self.nodes.append((~before.index(column) if met else column, threshold, children))
        return children

    def _split(self, branch: Branch) -> Split | None:
        """The split of a node, None where it ends."""
        growth, rows, column, plan = self.growth, branch.rows, branch.path[-1], branch.plan
        if plan:
            return Split(plan.threshold, *(part.column for part in plan.parts)) if plan.parts else None
        if len(rows) <= growth.min_rows or len(branch.path) >= growth.max_depth:
            return None
        if growth.decide is not None and _settled(growth.decide, self.targets[rows], branch.rest):
            return None
        if growth.alternate:
            return alternating_split(self.K, rows, column, branch.rest, self.random, growth.own)
        return best_split(self.K, rows, column, branch.rest, growth.affine, self.ridge, growth.own)

    def _plan(self, rows: Rows, rest: Array) -> Plan | None:
        growth = self.growth
        if not growth.balanced:
            return None
        return Balanced(self.K, growth.affine, growth.own, growth.min_rows).plan(
            rows, rest, growth.max_depth
        )

    def _extend(
        self,
        parent: Branch,
        column: int,
        kept: Rows,
        link: tuple[list[int], int] | None,
        plan: Plan | None,
    ) -> Branch:
        """The branch of some of the parent's rows, with one column more on its path."""
        rows, rest = parent.rows[kept], parent.rest[kept]
        path = [*parent.path, column]
        weights = np.concatenate([parent.weights, np.zeros((1, rest.shape[1]))])
        if self.growth.refit:
            A = self.K[rows[:, None], np.array(path)].astype(np.float64)
            change, constant = _ridge_change(A, rest, self.ridge)
            weights = weights + change
            rest = rest - A @ change - constant
        else:
            own = self.growth.own
            own = None if own is None else own[column]
            term = fit_term(self.K[rows, column], rest, self.growth.affine, own)
            weights[-1], constant = term.coefficient, term.constant
            rest = rest - term.values(self.K[rows, column])
        return Branch(rows, path, weights, parent.bias + constant, rest, link, plan)


def grow(K: Matrix, targets: Array, base: Array, growth: Growth, rows: Rows | None = None) -> Tree:
    """A tree whose outputs, added to `base` ([outputs] or [rows, outputs]), approach the targets.

    `rows` are those to fit to; all where none are named.
    """
    rows = np.arange(len(K)) if rows is None else rows
    return Grower(K, targets, growth).grow(rows, (targets - base)[rows])


def _settled(decide: Decide, targets: Array, rest: Array) -> bool:
    """All rows have one label, and the outputs give it."""
    wanted = decide(targets)
    return bool((wanted == wanted[0]).all() and (decide(targets - rest) == wanted).all())


def _ridge_change(A: Array, rest: Array, ridge: float) -> tuple[Array, Array]:
    """Changes of coefficients and constant that lower the squared rest, kept small by the ridge."""
    centre, level = A.mean(axis=0), rest.mean(axis=0)
    h = A - centre
    gram = h.T @ h + (ridge + SMALLEST_SQUARE) * np.eye(A.shape[1])
    change = np.linalg.solve(gram, h.T @ (rest - level))
    return change, level - centre @ change


def _mean_square(K: Matrix) -> float:
    """The mean of K squared, in blocks of rows; never zero."""
    blocks = (K[at : at + 1024].astype(np.float64) for at in range(0, len(K), 1024))
    return sum(float(np.square(block).sum()) for block in blocks) / max(1, K.size) or 1.0
