"""Rows of all classes, and the sample of each score: two classes, or each pair of several."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.decide import labels_of
from svmcompile.accelerate.h1_tree.sample import Sample
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import Array
from svmcompile.ir.pairs import pair_indices
from svmcompile.model.svm import SVM

Classes = NDArray[np.int64]
Pair = tuple[int, int]  # the class of scores above zero, and that of scores below


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
