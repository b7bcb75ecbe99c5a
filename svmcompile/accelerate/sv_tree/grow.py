"""Grow: a tree from kernel values K[rows, vectors] and targets[rows, outputs], node by node.

From a random threshold, columns and threshold are improved in turn until the cost stops falling.

A node's column is chosen by its parent; the node chooses its threshold and its children's columns.
Along the way every node keeps the coefficients of its path, so a leaf is a short affine function of the
kernel values met.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.sv_tree.split import (
    SMALLEST_SQUARE,
    Matrix,
    Rows,
    Split,
    all_cuts,
    best_column,
    best_split,
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
        return Tree(
            picks.astype(np.int32), self.thresholds, self.children, self.starts, self.weights, self.bias
        )


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
    link: tuple[int, int] | None  # the parent and the side


@dataclass(eq=False)
class _Parts:
    """Nodes and leaves so far."""

    picks: list[int] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    weights: list[Array] = field(default_factory=list)
    bias: list[Array] = field(default_factory=list)

    def leaf(self, branch: Branch) -> int:
        self.weights.append(branch.weights)
        self.bias.append(branch.bias)
        return ~(len(self.bias) - 1)


def grow(K: Matrix, targets: Array, base: Array, growth: Growth, rows: Rows | None = None) -> Tree:
    """A tree whose outputs, added to `base` ([outputs] or [rows, outputs]), approach the targets.

    `rows` are those to fit to; all where none are named.
    """
    parts, random = _Parts(), np.random.default_rng(growth.seed)
    # The ridge is meant for kernel values of size one.
    ridge = growth.ridge * _mean_square(K) if growth.refit else 0.0
    rows = np.arange(len(K)) if rows is None else rows
    rest = (targets - base)[rows]
    root = best_column(K, rows, rest, growth.affine, ridge)
    nothing = np.zeros((0, targets.shape[1]))
    start = Branch(rows, [], nothing, np.zeros(targets.shape[1]), rest, None)
    stack = [_extended(K, start, root, np.arange(len(rows)), None, growth, ridge)]
    with steps("growing a tree", len(rows)) as advance:
        while stack:
            branch = stack.pop()
            node = _add_node(parts, branch, growth)
            split = _split(K, branch, targets, growth, ridge, random)
            if split is None:
                parts.children[node] = [parts.leaf(branch)] * 2
                advance(len(branch.rows))
                continue
            parts.thresholds[node] = split.threshold
            right = K[branch.rows, branch.path[-1]] > split.threshold
            for side, column in ((1, split.right), (0, split.left)):  # the left one is taken first
                kept = np.flatnonzero(right if side else ~right)
                stack.append(_extended(K, branch, column, kept, (node, side), growth, ridge))
    return _finished(parts)


def _add_node(parts: _Parts, branch: Branch, growth: Growth) -> int:
    node = len(parts.picks)
    column, before = branch.path[-1], branch.path[:-1]
    met = growth.cache and column in before
    parts.picks.append(~before.index(column) if met else column)
    parts.thresholds.append(0.0)
    parts.children.append([0, 0])
    if branch.link:
        parent, side = branch.link
        parts.children[parent][side] = node
    return node


def _split(
    K: Matrix, branch: Branch, targets: Array, growth: Growth, ridge: float, random: np.random.Generator
) -> Split | None:
    """The split of a node, None where it ends."""
    if len(branch.rows) <= growth.min_rows or len(branch.path) >= growth.max_depth:
        return None
    if growth.decide is not None and _settled(growth.decide, targets[branch.rows], branch.rest):
        return None
    column = branch.path[-1]
    if growth.alternate:
        return alternating_split(K, branch.rows, column, branch.rest, random)
    return best_split(K, branch.rows, column, branch.rest, growth.affine, ridge)


def _settled(decide: Decide, targets: Array, rest: Array) -> bool:
    """All rows have one label, and the outputs give it."""
    wanted = decide(targets)
    return bool((wanted == wanted[0]).all() and (decide(targets - rest) == wanted).all())


def _extended(
    K: Matrix,
    parent: Branch,
    column: int,
    kept: Rows,
    link: tuple[int, int] | None,
    growth: Growth,
    ridge: float,
) -> Branch:
    """The branch of some of the parent's rows, with one column more on its path."""
    rows, rest = parent.rows[kept], parent.rest[kept]
    path = [*parent.path, column]
    weights = np.concatenate([parent.weights, np.zeros((1, rest.shape[1]))])
    if growth.refit:
        A = K[rows[:, None], np.array(path)].astype(np.float64)
        change, constant = _ridge_change(A, rest, ridge)
        weights = weights + change
        rest = rest - A @ change - constant
    else:
        term = fit_term(K[rows, column], rest, growth.affine)
        weights[-1], constant = term.coefficient, term.constant
        rest = rest - term.values(K[rows, column])
    return Branch(rows, path, weights, parent.bias + constant, rest, link)


def _ridge_change(A: Array, rest: Array, ridge: float) -> tuple[Array, Array]:
    """Changes of coefficients and constant that lower the squared rest, kept small by the ridge."""
    centre, level = A.mean(axis=0), rest.mean(axis=0)
    h = A - centre
    gram = h.T @ h + (ridge + SMALLEST_SQUARE) * np.eye(A.shape[1])
    change = np.linalg.solve(gram, h.T @ (rest - level))
    return change, level - centre @ change


def _mean_square(K: Matrix) -> float:
    """The mean of K squared, in blocks of rows; never zero."""
    total = sum(
        float(np.square(K[at : at + 1024].astype(np.float64)).sum()) for at in range(0, len(K), 1024)
    )
    return total / max(1, K.size) or 1.0


def _finished(parts: _Parts) -> Tree:
    lengths = [len(weights) for weights in parts.weights]
    return Tree(
        np.array(parts.picks, dtype=np.int32),
        np.array(parts.thresholds),
        np.array(parts.children, dtype=np.int32).reshape(-1, 2),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32),
        np.concatenate(parts.weights),
        np.stack(parts.bias),
    )
