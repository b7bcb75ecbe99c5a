"""Rows of all classes, and the sample that each list is grown from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import RowWise, labels_of
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.pairs import pair_indices
from svmcompile.model.svm import SVM

Classes = NDArray[np.int64]
Pair = tuple[int, int]  # the class of scores above zero, and that of scores below
Flags = NDArray[np.bool_]
Signs = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Rows(RowWise):
    """Points with the class each should get; where an SVM gave it, with its sums."""

    points: Array
    classes: Classes
    sums: Array | None = None
    counted: NDArray[np.bool_] | None = None

    def sample(self, pair: Pair, column: int, band: float) -> Sample:
        """The rows of two classes, as the list of their score is grown from them."""
        own = np.flatnonzero(np.isin(self.classes, pair))
        rows = self if len(own) == len(self) else self.some(own)
        signs = np.where(rows.classes == pair[0], 1, -1).astype(np.int8)
        trust = None if rows.sums is None else rows.sums[:, column]
        return Sample(rows.points, signs, trust, rows.counted, band)

    def __len__(self) -> int:
        return len(self.classes)


def pairs_of(svm: SVM) -> list[Pair]:
    """Which two classes each sum of an SVM parts."""
    if svm.counts:
        return pair_indices(len(svm.counts))
    above = int(labels_of(svm, np.ones((1, 1)))[0])
    return [(above, 1 - above)]


@dataclass(frozen=True, eq=False)
class Sample(RowWise):
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

    @property
    def real(self) -> Sample:
        """Without rows that were made up."""
        return self if self.counted is None else self.some(np.flatnonzero(self.counted))
