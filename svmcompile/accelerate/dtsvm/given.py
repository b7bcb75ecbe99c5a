"""What DTSVM takes from a given SVM: its parameters, its predictions, and itself as one large leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Theta
from svmcompile.accelerate.fitting.decide import labels_of
from svmcompile.accelerate.fitting.rows import kernel_sums
from svmcompile.data import Data
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Indices
from svmcompile.ir.pairs import class_slices
from svmcompile.model.svm import SVM, LabelRule

SECOND_IS_POSITIVE = (LabelRule.POSITIVE_SECOND, LabelRule.NEGATIVE_FIRST)
EQUAL = 1e-9  # coefficients closer than this share of the largest are at the same bound


@dataclass(frozen=True, eq=False)
class Given:
    """The SVM, rows as they come and as the kernel sees them, and what the SVM says of them."""

    svm: SVM
    X: Array
    z: Array
    sums: Array
    predicted: Indices
    truth: Indices | None  # class numbers of the data's own labels

    @classmethod
    def of(cls, svm: SVM, data: Data) -> Given:
        if svm.labels is None or svm.label_rule is LabelRule.NONE:
            raise UnsupportedError(
                "method 'dtsvm' is for classifiers, and this SVM gives numbers; "
                "use metric-tree, sv-tree or reduced-set"
            )
        X = _finite(data.X)
        z = svm.prepared(X)
        sums = kernel_sums(svm, z)
        truth = None if data.y is None else _numbers(svm, data.y)
        return cls(svm, X, z, sums, labels_of(svm, sums).astype(np.intp), truth)

    @property
    def n_classes(self) -> int:
        assert self.svm.labels is not None
        return len(self.svm.labels)

    @property
    def rule(self) -> LeafRule:
        """Two classes have one sum; else as the SVM has it: pairs that vote, or a sum per class."""
        if self.n_classes == 2:
            return "sum"
        return "vote" if self.svm.counts else "ovr"

    @property
    def keeps_scores(self) -> bool:
        """Is the sum of a leaf a decision value of the original's kind? Votes within a leaf are not."""
        return self.rule == "sum" and self.svm.n_sums == 1

    @property
    def sign(self) -> float:
        """Of the original's decision value, where the second class is meant."""
        return 1.0 if self.svm.label_rule in SECOND_IS_POSITIVE else -1.0

    def known_truth(self) -> Indices:
        """The data's labels, all of which the SVM must know."""
        assert self.truth is not None
        bad = np.flatnonzero(self.truth < 0)
        if len(bad):
            raise OptionError(f"dtsvm: the label of row {bad[0]} is not one of the SVM's classes")
        return self.truth

    def theta(self, C: float) -> Theta:
        """The SVM's kernel, its C (where none is given, from its coefficients), weights of its classes."""
        bounds = class_bounds(self.svm, self.n_classes)
        found = float(bounds.max(initial=0.0)) or 1.0
        weights = tuple((bounds / found).tolist()) if bounds.any() else ()
        equal = not weights or len(set(weights)) == 1
        return Theta(self.svm.kernel, C or found, () if equal else weights)

    def as_leaf(self) -> Leaf:
        """The SVM as the one leaf of all rows, with sums that are meant as those of leaves are."""
        svm, sign = self.svm, self.sign if self.keeps_scores else 1.0
        classes = np.arange(self.n_classes)
        counts = svm.counts or (0,) * (self.n_classes - 1) + (svm.n_vectors,)  # sums do not ask for them
        return Leaf(
            classes, len(self.X), svm.vectors, sign * svm.coefficients, sign * svm.intercepts, counts
        )


def class_bounds(svm: SVM, n_classes: int) -> Array:
    """C times the weight of every class.

    LIBSVM's coefficients reach that bound wherever a vector lies within the margin. A class whose largest
    coefficient stands alone has shown no bound; it gets the largest of all.
    """
    sizes = np.abs(svm.coefficients)
    largest = float(sizes.max(initial=0.0))
    bounds = np.full(n_classes, largest)
    groups = class_slices(svm.counts) if len(svm.counts) == n_classes else _by_sign(svm)
    for number, group in enumerate(groups):
        own = sizes[:, group]
        top = float(own.max(initial=0.0))
        if np.count_nonzero(own >= top * (1 - EQUAL)) > 1 and top > 0:
            bounds[number] = top
    return bounds


def _by_sign(svm: SVM) -> list[Any]:
    """Of one sum over two classes: the vectors of the first, which pull down, and of the second."""
    if len(svm.coefficients) != 1:
        return []
    up = svm.coefficients[0] > 0
    return [~up, up] if svm.label_rule in SECOND_IS_POSITIVE else [up, ~up]


def _finite(rows: NDArray[Any]) -> Array:
    bad = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(bad):
        raise OptionError(
            f"dtsvm: row {bad[0]} holds a NaN or an infinity ({len(bad)} such rows); remove or fill them"
        )
    return np.asarray(rows, dtype=np.float64)


def _numbers(svm: SVM, labels: NDArray[Any]) -> Indices:
    """The class number of every label."""
    assert svm.labels is not None
    place = {value: number for number, value in enumerate(svm.labels.values)}
    texts = {str(value): number for value, number in place.items()}
    found = [place.get(value, texts.get(str(value), -1)) for value in np.asarray(labels).tolist()]
    return np.asarray(found, dtype=np.intp)
