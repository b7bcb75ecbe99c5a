"""The pairs of each class as RBF sums that are above zero where that class wins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.anytime.margins import (
    RowError,
    direct_rounding,
    error_from_products,
    error_in_double,
    kernel_error,
)
from svmcompile.accelerate.anytime.sums import mostly_zeros
from svmcompile.accelerate.decide import labels_of
from svmcompile.accelerate.fitting import kernel_sums
from svmcompile.accelerate.taylor.expansion import RbfSum
from svmcompile.ir.interpret import class_slices, pair_indices
from svmcompile.ir.stages import in_segments, longest_chain
from svmcompile.kernel import Array
from svmcompile.svm import SVM


@dataclass(frozen=True, eq=False)
class Pairs:
    """The sums of a one-vs-one machine, by pair in LIBSVM's order."""

    own: SVM
    sums: tuple[RbfSum, ...]

    @classmethod
    def of(cls, own: SVM, row: RowError) -> Pairs:
        groups, found = class_slices(own.counts), []
        for index, (i, j) in enumerate(pair_indices(len(own.counts))):
            vectors = np.concatenate([own.vectors[groups[i]], own.vectors[groups[j]]])
            weights = np.concatenate([own.coefficients[j - 1, groups[i]], own.coefficients[i, groups[j]]])
            norm = float(weights @ own.kernel.values(vectors, vectors) @ weights)
            bias = float(own.intercepts[index])
            error = (row.constant, row.relative)
            found.append(RbfSum(vectors, weights, bias, own.kernel.gamma, norm, error))
        return cls(own, tuple(found))

    @property
    def sparse(self) -> bool:
        """Whether code may pass over zeros of a row: vectors are mostly zeros, and rows as they are."""
        kernel, vectors = self.own.kernel, self.own.vectors
        error = error_from_products(kernel, vectors, in_segments(vectors.shape[1]) + 1)
        return mostly_zeros(self.own) and error.usable

    @property
    def classes(self) -> int:
        return len(self.own.counts)

    def against(self, champion: int) -> list[RbfSum]:
        """The champion's pairs with the other classes, in their order."""
        pairs = dict(zip(pair_indices(self.classes), self.sums, strict=True))
        found = []
        for rival in range(self.classes):
            if rival == champion:
                continue
            one = pairs[min(champion, rival), max(champion, rival)]
            found.append(one if champion < rival else _turned(one))
        return found

    def rounding(self, row: RowError) -> tuple[Array, Array]:
        """What direct sums may be off by, [pairs, 2], in float32 and in double from tables of float32."""
        kernel, vectors = self.own.kernel, self.own.vectors
        error = kernel_error(kernel, vectors, row, longest_chain(kernel, vectors.shape[1]))
        if self.sparse:
            error = error.or_larger(error_from_products(kernel, vectors, in_segments(vectors.shape[1]) + 1))
        closer = error_in_double(kernel, vectors, row)
        return (
            np.array([direct_rounding(one.weights, one.bias, error) for one in self.sums]),
            np.array([direct_rounding(one.weights, one.bias, closer, 0) for one in self.sums]),
        )

    def labels(self, rows: Array) -> NDArray[np.int64]:
        return labels_of(self.own, kernel_sums(self.own, rows))


def _turned(one: RbfSum) -> RbfSum:
    return RbfSum(one.vectors, -one.weights, -one.bias, one.gamma, one.norm, one.input_error)
