"""Thresholds set anew: node after node, for the rows left.

Thresholds may stand back from hard rows by some share of their plane's spread. Rows that a node then
leaves to the next are heeded there, so that every list of that kind is right on the rows it was grown from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import narrow
from svmcompile.accelerate.h1_tree.grow import HalfSpace, PlaneList, threshold
from svmcompile.accelerate.h1_tree.rows import Sample
from svmcompile.ir.arithmetic import Array, nearest_float32

Flags = NDArray[np.bool_]
ROUNDING = 2.0**-24  # of float32


@dataclass(frozen=True, eq=False)
class Ruler:
    """A list's planes and answers, and the rows that set its thresholds."""

    planes: Array  # [m, d], as tables hold them
    answers: tuple[int, ...]
    closing: tuple[bool, ...]  # nodes that rows answered before hold back as well
    rest: int
    sample: Sample
    excused: tuple[Flags, ...]  # hard rows that each node answered knowingly: copies with both signs
    centre: Array

    def first(self, count: int) -> Ruler:
        """The same for the first nodes alone."""
        some = (self.planes[:count], self.answers[:count], self.closing[:count])
        return Ruler(*some, self.rest, self.sample, self.excused[:count], self.centre)

    def settled(self, shift: float = 0.0) -> PlaneList:
        """The list with thresholds moved by that many spreads of their planes."""
        nodes, left = list[HalfSpace](), np.ones(len(self.sample), dtype=bool)
        for index in range(len(self.answers)):
            along = self.sample.points @ self.planes[index]
            node = self._node(index, along, left, shift)
            nodes.append(node)
            left &= ~np.asarray(along > node.threshold)
        return PlaneList(tuple(nodes), self.rest)

    def _node(self, index: int, along: Array, left: Flags, shift: float) -> HalfSpace:
        plane, answer = self.planes[index], self.answers[index]
        hard = self.sample.hard(answer) & (left | self.closing[index]) & ~self.excused[index]
        gains = (self.sample.gains(answer) | self.excused[index]) & left
        at, reach = threshold(along[hard], along[gains])
        if not np.isfinite(at):  # nobody is left
            at = reach = float(along.max())
        if np.isfinite(reach):
            at = max(at, reach + self._rounding(plane, hard, at))
        move = shift * float(along.std()) if shift else 0.0
        return HalfSpace(plane, at + move, answer, reach, self.closing[index])

    def _rounding(self, plane: Array, hard: Flags, at: float) -> float:
        """How far float32 may move a hard row's value or the threshold."""
        sizes = np.abs(self.sample.points[hard] - self.centre) @ np.abs(plane)
        size = float(sizes.max(initial=0.0)) + abs(at - float(plane @ self.centre))
        return ROUNDING * (len(plane) + 8) * size


def ruler(found: PlaneList, planes: Array, held: list[Flags], sample: Sample, centre: Array) -> Ruler:
    """For a list that was grown; `held` are the rows each node answered."""
    answers = tuple(node.answer for node in found.nodes)
    left, excused = np.ones(len(sample), dtype=bool), list[Flags]()
    for answer, answered in zip(answers, held, strict=True):
        excused.append(answered & left & sample.hard(answer))
        left = left & ~answered
    closing = tuple(node.closing for node in found.nodes)
    return Ruler(planes, answers, closing, found.rest, sample, tuple(excused), centre)


def as_stored(planes: Array, dtype: str) -> Array:
    """Planes of unit length as tables of a number type hold them."""
    stored = narrow(planes / np.sqrt(np.square(planes).sum(axis=1, keepdims=True)), dtype, "planes")
    exact = np.asarray(stored.stored * stored.units[:, None])
    return nearest_float32(exact) if dtype == "f32" else exact
