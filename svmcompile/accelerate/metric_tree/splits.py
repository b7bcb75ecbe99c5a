"""Ways to part the rows of a node: across the farthest pair, or along one feature.

Row numbers of a node enter; a split, or None where the rows cannot be parted,
leaves. Above the threshold is right, as the program walks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array

Indices = NDArray[np.int64]
Flags = NDArray[np.bool_]

ALL_PAIRS = 600  # rows up to which the farthest pair is searched among all pairs
SWAPS = 2  # further looks for a farther partner above that
TIE = 1e-9  # of the pair's distance: projections that close to the plane lie on it
NUDGE = 1e-5  # how far a plane moves off the rows that lie on it, so that rounding cannot reroute them
BLOCK_VALUES = 1 << 21  # partial sums at a time


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

    def __init__(self, points: Array, targets: Array, weights: Array, least: int = 1) -> None:
        self.points = points  # in kernel space, not centred: thresholds are compared with it as it is
        self.targets = targets
        self.weights = weights
        self.least = least  # rows on either side

    def split(self, rows: Indices) -> Split | None:
        points, weights = self.points[rows], self.weights[rows]
        targets = self.targets[rows]
        targets = (targets - np.average(targets, axis=0, weights=weights)) * weights[:, None]
        best: tuple[float, int, float] = (0.0, -1, 0.0)
        features = np.flatnonzero(points.max(axis=0) > points.min(axis=0))
        step = max(1, BLOCK_VALUES // (targets.shape[1] * len(rows)))
        for at in range(0, len(features), step):
            some = features[at : at + step]
            found = _best_of(points[:, some], targets, weights, self.least)
            if found is not None and found[0] > best[0]:
                best = (found[0], int(some[found[1]]), found[2])
        if best[1] < 0:
            return None
        right = points[:, best[1]] > best[2]
        return Split(right, best[2], feature=best[1]) if 0 < right.sum() < len(right) else None


def _best_of(points: Array, targets: Array, weights: Array, least: int) -> tuple[float, int, float] | None:
    """(gain, column, threshold) of the best cut of the columns."""
    order = np.argsort(points, axis=0, kind="stable")
    ordered = np.take_along_axis(points, order, axis=0)
    sums = np.cumsum(targets[order], axis=0)[:-1]  # [rows - 1, columns, targets]
    left = np.cumsum(weights[order], axis=0)
    total, left = left[-1:], left[:-1]
    gains = np.einsum("ijk,ijk->ij", sums, sums) * (1 / left + 1 / (total - left))
    narrow = ordered.astype(np.float32)
    gains[narrow[1:] <= narrow[:-1]] = 0.0
    gains[: least - 1] = 0.0
    gains[len(gains) + 1 - least :] = 0.0
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
