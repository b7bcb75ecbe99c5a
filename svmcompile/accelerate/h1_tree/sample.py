"""Rows a list is grown from: where they are, which side they belong to, and which must not be answered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array

Flags = NDArray[np.bool_]
Signs = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Sample:
    """Points with the sign (1 or -1) each should get.

    `trust` tells, with its sign, how sure the original is of a row: with a band, a row that is not sure by
    that much may not be answered. Rows that do not count (made up ones) only hold thresholds back.
    """

    points: Array  # [n, d]
    signs: Signs  # [n]
    trust: Array | None = None  # [n]
    counted: Flags | None = None  # [n]; None: all
    band: float = 0.0

    def __len__(self) -> int:
        return len(self.points)

    def hard(self, answer: int) -> Flags:
        """Rows that no node with this answer may answer."""
        wrong = np.asarray(self.signs != answer)
        if self.trust is None or self.band == 0:
            return wrong
        return np.asarray(wrong | (answer * self.trust <= self.band))

    def gains(self, answer: int) -> Flags:
        """Rows that a node with this answer had better answer."""
        free = ~self.hard(answer)
        return free if self.counted is None else free & self.counted

    def some(self, rows: NDArray[np.intp]) -> Sample:
        """The same for some rows."""
        trust = None if self.trust is None else self.trust[rows]
        counted = None if self.counted is None else self.counted[rows]
        return Sample(self.points[rows], self.signs[rows], trust, counted, self.band)

    def joined(self, other: Sample) -> Sample:
        """These rows and others of their kind."""
        both = [
            None if a is None or b is None else np.concatenate([a, b])
            for a, b in ((self.trust, other.trust), (self.counted, other.counted))
        ]
        points = np.concatenate([self.points, other.points])
        return Sample(points, np.concatenate([self.signs, other.signs]), both[0], both[1], self.band)

    @property
    def real(self) -> Sample:
        """Without rows that were made up."""
        return self if self.counted is None else self.some(np.flatnonzero(self.counted))
