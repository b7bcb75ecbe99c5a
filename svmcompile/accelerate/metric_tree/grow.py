"""Growth: the worst leaf is split first, until all are good enough or a limit is met."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.metric_tree.leaves import Leaf
from svmcompile.accelerate.metric_tree.splits import AxisSplitter, PlaneSplitter, Split
from svmcompile.progress import Advance, steps

Indices = NDArray[np.int64]
DEPTH = 200  # tests on the longest way

Fit = Callable[[Indices], tuple[Leaf, float]]  # rows of a node -> its leaf, and how many rows it gets wrong


@dataclass(slots=True, eq=False)
class Branch:
    """A node while the tree grows: a leaf until it is split."""

    rows: Indices
    depth: int
    leaf: Leaf | None = None
    wrong: float = 0.0
    split: Split | None = None
    left: Branch | None = None
    right: Branch | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop. Zero leaves or bytes mean no limit."""

    eps: float  # share of wrong rows a leaf may keep; below zero: none is good enough
    min_leaf: int
    max_leaves: int
    max_bytes: int
    node_bytes: int
    leaf_bytes: Callable[[Leaf | None], int]


class Grower:
    """Grows one tree. Without `fit` every leaf is split as long as it has rows to part."""

    def __init__(self, splitter: PlaneSplitter | AxisSplitter, fit: Fit | None, limits: Limits) -> None:
        self.splitter = splitter
        self.fit = fit
        self.limits = limits
        self.open: list[tuple[float, int, Branch]] = []
        self.made = 0
        self.leaves = 1
        self.bytes = 0
        self.settled: Advance = lambda rows: None

    def grow(self, n_rows: int) -> Branch:
        """The tree over rows 0 .. n_rows - 1."""
        with steps("growing a tree", n_rows) as self.settled:
            root = self._branch(np.arange(n_rows), 0)
            self.bytes = self.limits.leaf_bytes(root.leaf)
            while self.open and not self._full():
                self._split(heapq.heappop(self.open)[2])
        return root

    def _full(self) -> bool:
        return bool(self.limits.max_leaves) and self.leaves >= self.limits.max_leaves

    def _branch(self, rows: Indices, depth: int) -> Branch:
        """A new leaf, put in line if it may be split."""
        leaf, wrong = self.fit(rows) if self.fit else (None, len(rows))
        branch = Branch(rows, depth, leaf, wrong)
        good = wrong <= self.limits.eps * len(rows)
        if len(rows) > self.limits.min_leaf and depth < DEPTH and not good:
            heapq.heappush(self.open, (-wrong, self.made, branch))
            self.made += 1
        else:
            self.settled(len(rows))
        return branch

    def _split(self, branch: Branch) -> None:
        split = self.splitter.split(branch.rows)
        if split is None:
            self.settled(len(branch.rows))
            return
        waiting, made = list(self.open) if self.limits.max_bytes else [], self.made
        left = self._branch(branch.rows[~split.right], branch.depth + 1)
        right = self._branch(branch.rows[split.right], branch.depth + 1)
        size = self.limits.leaf_bytes
        more = self.limits.node_bytes + size(left.leaf) + size(right.leaf) - size(branch.leaf)
        if self.limits.max_bytes and self.bytes + more > self.limits.max_bytes:
            self.open, self.made = waiting, made  # too large: this one stays a leaf
            return
        branch.split, branch.left, branch.right = split, left, right
        self.bytes += more
        self.leaves += 1
