"""Rows of all classes, and the sample that each list is grown from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import labels_of
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.pairs import pair_indices
from svmcompile.model.svm import SVM

Classes = NDArray[np.int64]
Pair = tuple[int, int]  # the class of scores above zero, and that of scores below
Flags = NDArray[np.bool_]
Signs = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Rows:
    """Points with the class each should get; where an SVM gave it, with its sums."""

    points: Array
    classes: Classes
    sums: Array | None = None
    counted: NDArray[np.bool_] | None = None

    def sample(self, pair: Pair, column: int, band: float) -> Sample:
        """The rows of two classes, as the list of their score is grown from them."""
        own = np.flatnonzero(np.isin(self.classes, pair))
        own = np.arange(len(self.classes)) if len(own) == len(self.classes) else own
        signs = np.where(self.classes[own] == pair[0], 1, -1).astype(np.int8)
        trust = None if self.sums is None else self.sums[own, column]
        counted = None if self.counted is None else self.counted[own]
        whole = len(own) == len(self.classes)
        return Sample(self.points if whole else self.points[own], signs, trust, counted, band)

    def __len__(self) -> int:
        return len(self.classes)

    def some(self, rows: NDArray[np.intp]) -> Rows:
        """The same for some rows."""
        return Rows(
            self.points[rows],
            self.classes[rows],
            None if self.sums is None else self.sums[rows],
            None if self.counted is None else self.counted[rows],
        )

    def joined(self, other: Rows) -> Rows:
        """These rows, and others that only hold thresholds back."""
        assert self.sums is not None and other.sums is not None
        return Rows(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.classes, other.classes]),
            np.concatenate([self.sums, other.sums]),
            np.repeat([True, False], [len(self.classes), len(other.classes)]),
        )


def pairs_of(svm: SVM) -> list[Pair]:
    """Which two classes each sum of an SVM parts."""
    if svm.counts:
        return pair_indices(len(svm.counts))
    above = int(labels_of(svm, np.ones((1, 1)))[0])
    return [(above, 1 - above)]


def class_numbers(given: NDArray[np.generic], known: NDArray[np.generic]) -> Classes:
    """The place of each label among the known ones."""
    order = np.argsort(known)
    place = np.clip(np.searchsorted(known, given, sorter=order), 0, len(known) - 1)
    found = order[place]
    if not (known[found] == given).all():
        stray = given[known[found] != given][0]
        raise OptionError(f"h1-tree: the data has the label {stray}, which the model does not know")
    return np.asarray(found, dtype=np.int64)


def finite(rows: NDArray[np.floating], what: str) -> Array:
    """The rows as float64; nothing can be built from rows that are no numbers."""
    if len(rows) == 0:
        raise OptionError(f"h1-tree: {what} has no rows; give rows like those to come")
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise OptionError(
            f"h1-tree: row {bad[0]} of {what} holds a NaN or an infinity ({len(bad)} such rows); "
            "remove or fill them"
        )
    return np.asarray(rows, dtype=np.float64)


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
