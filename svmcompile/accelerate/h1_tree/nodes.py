"""A half-space of a list, and the rule that sets its threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """Rows with plane . x > threshold get the answer; no hard row went beyond `reach` when it was set."""

    plane: Array
    threshold: float
    answer: int  # 1 or -1
    reach: float
    closing: bool = False  # rows that earlier nodes answered held it back as well

    def holds(self, points: Array) -> Flags:
        return np.asarray(points @ self.plane > self.threshold)


@dataclass(frozen=True, slots=True, eq=False)
class PlaneList:
    """Half-spaces in their order; rows none of them holds get the rest (0: nobody knows)."""

    nodes: tuple[HalfSpace, ...]
    rest: int

    def answers(self, points: Array) -> NDArray[np.int64]:
        """What the list says of each row."""
        out = np.full(len(points), self.rest, dtype=np.int64)
        for node in reversed(self.nodes):
            out[node.holds(points)] = node.answer
        return out

    def depths(self, points: Array) -> NDArray[np.int64]:
        """How many half-spaces each row is held against."""
        out = np.full(len(points), len(self.nodes), dtype=np.int64)
        for index, node in reversed(list(enumerate(self.nodes))):
            out[node.holds(points)] = index + 1
        return out


def threshold(hard: Array, gains: Array, noise: float = 0.0) -> tuple[float, float]:
    """(threshold, reach) from projections: halfway from the last hard row to the first row beyond it.

    Without a row beyond, the last hard row itself. With `noise` the last hard row that counts is the
    first before which rows are pure enough.
    """
    reach = _impure(hard, gains, noise) if noise else float(hard.max(initial=-np.inf))
    beyond = gains[gains > reach]
    if not len(beyond):
        return reach, reach
    first = float(beyond.min())
    if reach == -np.inf:
        return float(np.nextafter(first, -np.inf)), reach
    middle = reach + (first - reach) / 2
    return (middle if middle < first else reach), reach


def _impure(hard: Array, gains: Array, noise: float) -> float:
    """The hard row beyond which most rows lie, of which no larger share than `noise` is hard."""
    last = np.sort(hard)[::-1]
    wrong = np.searchsorted(-last, -last, side="left")  # hard rows beyond each, without its equals
    right = len(gains) - np.searchsorted(np.sort(gains), last, side="right")
    pure = np.flatnonzero(wrong <= noise * (wrong + right))
    return float(last[pure[-1]]) if len(pure) else -np.inf


def projected(points: Array, planes: NDArray[Any], block: int = 1 << 22) -> Array:
    """points . planes [rows, planes], in blocks that bound what is made on the way."""
    step = max(1, block // max(1, planes.shape[0]))
    parts = [points[at : at + step] @ planes.T for at in range(0, max(len(points), 1), step)]
    return np.concatenate(parts)
