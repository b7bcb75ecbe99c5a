"""Growth: the worst leaf is split first, across the farthest pair or along one feature.

Row numbers of a node enter; a split, or None where the rows cannot be parted,
leaves. Above the threshold is right, as the program walks.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.metric_tree.leaves import Leaf
from svmcompile.ir.arithmetic import Array
from svmcompile.progress import Advance, steps

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]
ALL_PAIRS = 600  # rows up to which the farthest pair is searched among all pairs
SWAPS = 2  # further looks for a farther partner above that
TIE = 1e-9  # of the pair's distance: projections that close to the plane lie on it
NUDGE = 1e-5  # how far a plane moves off the rows that lie on it, so that rounding cannot reroute them
BLOCK_VALUES = 1 << 21  # partial sums at a time
DEPTH = 200  # tests on the longest way
Fit = Callable[[Indices], tuple[Leaf, float]]  # rows of a node -> its leaf, and how many rows it gets wrong


@dataclass(frozen=True, eq=False)
class Tree:
    """Inner nodes by number, and the leaves' branches. Without `planes` the tests are along features."""

    children: NDArray[np.int32]  # [m, 2], a leaf is ~number
    thresholds: Array  # [m]
    features: NDArray[np.int32]  # [m]
    planes: Array | None  # [m, d]
    pairs: NDArray[np.int64]  # [m, 2]: the rows a plane lies between
    leaves: list[Branch]


def arranged(root: Branch) -> Tree:
    """The tree below a branch, left before right, with a stack of our own."""
    splits: list[Split] = []
    leaves: list[Branch] = []
    children: list[list[int]] = []
    waiting: list[tuple[Branch, int, int]] = [(root, -1, 0)]
    while waiting:
        branch, parent, side = waiting.pop()
        if branch.split is None:
            number = ~len(leaves)
            leaves.append(branch)
        else:
            number = len(splits)
            splits.append(branch.split)
            children.append([0, 0])
            assert branch.left is not None and branch.right is not None
            waiting += [(branch.right, number, 1), (branch.left, number, 0)]
        if parent >= 0:
            children[parent][side] = number
    planes = [split.plane for split in splits if split.plane is not None]
    return Tree(
        np.array(children, dtype=np.int32).reshape(-1, 2),
        np.array([split.threshold for split in splits], dtype=np.float64),
        np.array([split.feature for split in splits], dtype=np.int32),
        np.array(planes) if planes else None,
        np.array([split.pair for split in splits], dtype=np.int64).reshape(-1, 2),
        leaves,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """x[feature] > threshold, or plane . (x - centre) > threshold where there is a plane."""

    right: Flags  # of the node's rows
    threshold: float
    feature: int = -1
    plane: Array | None = None
    pair: tuple[int, int] = (-1, -1)  # the rows u and v of a plane


class PlaneSplitter:
    """The plane across the farthest pair (u, v), at its midpoint or at the median row.

    The published plane has u on its side h >= 0; here w = (v - u) / |v - u|, so
    that side is "not above" and rows on the plane go the published way.
    """

    def __init__(self, points: Array, at: Literal["midpoint", "median"]) -> None:
        self.points = points  # about the tables' centre
        self.at = at

    def split(self, rows: Indices) -> Split | None:
        points = self.points[rows]
        u, v = farthest_pair(points)
        away = points[v] - points[u]
        length = float(np.sqrt(away @ away))
        if length == 0:
            return None
        plane = away / length
        # About the midpoint: the pair's own projections do not cancel.
        along = (points - (points[u] + points[v]) / 2) @ plane
        border = _median(along, length) if self.at == "median" else None
        right, border = _parted(along, length) if border is None else (along > border, border)
        if right[u] or not right[v]:
            if self.at == "midpoint":
                return None
            if right.all() or not right.any():
                return None
        threshold = float(plane @ ((points[u] + points[v]) / 2)) + border
        return Split(right, threshold, plane=plane, pair=(int(rows[u]), int(rows[v])))


def _parted(along: Array, length: float) -> tuple[Flags, float]:
    """Sides of the midpoint plane, and how far it had to move off the rows on it."""
    right = along > TIE * length
    if not (np.abs(along) <= TIE * length).any() or not right.any():
        return right, 0.0
    return right, float(min(along[right].min() / 2, NUDGE * length))


def _median(along: Array, length: float) -> float | None:
    """Halfway between the two middle rows; None where these are level."""
    half = len(along) // 2
    ordered = np.partition(along, (half - 1, half))
    low, high = float(ordered[half - 1]), float(ordered[half])
    return (low + high) / 2 if high - low > TIE * length else None


def farthest_pair(points: Array) -> tuple[int, int]:
    """Positions of two points as far apart as any (nearly so, above `ALL_PAIRS` points)."""
    if len(points) == 2:
        return 0, 1
    if len(points) > ALL_PAIRS:
        return _far_pair(points)
    centred = points - points.mean(axis=0)  # or large norms would cancel
    squares = np.square(centred).sum(axis=1)
    half = squares[:, None] / 2 + squares / 2 - centred @ centred.T
    u, v = divmod(int(half.argmax()), len(points))
    return u, v


def _far_pair(points: Array) -> tuple[int, int]:
    """The farthest from the mean, the farthest from that, and so on, until stable."""
    u = _farthest(points, points.mean(axis=0))[0]
    v, best = _farthest(points, points[u])
    for _ in range(SWAPS):
        w, distance = _farthest(points, points[v])
        if distance <= best:
            break
        u, v, best = v, w, distance
    return u, v


def _farthest(points: Array, place: Array) -> tuple[int, float]:
    away = points - place
    squares = np.einsum("ij,ij->i", away, away)
    at = int(squares.argmax())
    return at, float(squares[at])


class AxisSplitter:
    """One level of a regression tree on several targets at once, with row weights.

    The targets are the gradients of the decision values: a leaf is affine
    exactly where they are constant.
    """

    def __init__(self, points: Array, targets: Array, weights: Array) -> None:
        self.points = points  # in kernel space, not centred: thresholds are compared with it as it is
        self.targets = targets
        self.weights = weights

    def split(self, rows: Indices) -> Split | None:
        points, weights = self.points[rows], self.weights[rows]
        targets = self.targets[rows]
        targets = (targets - np.average(targets, axis=0, weights=weights)) * weights[:, None]
        best: tuple[float, int, float] = (0.0, -1, 0.0)
        features = np.flatnonzero(points.max(axis=0) > points.min(axis=0))
        step = max(1, BLOCK_VALUES // (targets.shape[1] * len(rows)))
        for at in range(0, len(features), step):
            some = features[at : at + step]
            found = _best_of(points[:, some], targets, weights)
            if found is not None and found[0] > best[0]:
                best = (found[0], int(some[found[1]]), found[2])
        if best[1] < 0:
            return None
        right = points[:, best[1]] > best[2]
        return Split(right, best[2], feature=best[1]) if 0 < right.sum() < len(right) else None


def _best_of(points: Array, targets: Array, weights: Array) -> tuple[float, int, float] | None:
    """(gain, column, threshold) of the best cut of the columns."""
    order = np.argsort(points, axis=0, kind="stable")
    ordered = np.take_along_axis(points, order, axis=0)
    sums = np.cumsum(targets[order], axis=0)[:-1]  # [rows - 1, columns, targets]
    left = np.cumsum(weights[order], axis=0)
    total, left = left[-1:], left[:-1]
    gains = np.einsum("ijk,ijk->ij", sums, sums) * (1 / left + 1 / (total - left))
    narrow = ordered.astype(np.float32)
    gains[narrow[1:] <= narrow[:-1]] = 0.0
    column = int(gains.max(axis=0).argmax())
    row = int(gains[:, column].argmax())
    if gains[row, column] <= 0:
        return None
    threshold = between(float(ordered[row, column]), float(ordered[row + 1, column]))
    return float(gains[row, column]), column, threshold


def between(low: float, high: float) -> float:
    """A float32 number t with low <= t < high, in the middle if possible."""
    middle = np.float32(low + (high - low) / 2)
    if middle >= high:
        middle = np.nextafter(middle, np.float32(-np.inf))
    elif middle < low:
        middle = np.nextafter(middle, np.float32(np.inf))
    return float(middle)


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
    """When to stop. Zero tests, leaves or bytes mean no limit."""

    eps: float  # share of wrong rows a leaf may keep; below zero: none is good enough
    min_leaf: int
    max_depth: int
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
        self.settled: Advance = lambda rows, now="": None

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
        deep = depth >= (self.limits.max_depth or DEPTH)
        if len(rows) > self.limits.min_leaf and not (good or deep):
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
