"""Pairs of a machine of several classes, one-vs-one or one-vs-rest.

One-vs-rest machines as pairs: an SVM whose largest sum wins goes in, the same as one-vs-one comes out.
The class with the largest sum is the one whose differences to all other sums are above zero, and the
difference of two sums of one kernel is a sum over the vectors of both. So a one-vs-rest machine is a vote
of pairs f_i - f_j. Each class keeps the vectors of its own sum, and one that two sums share stands in both
classes: a pair then meets the vectors of its two sums and no others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.margins import (
    RowError,
    direct_rounding,
    error_from_products,
    kernel_error,
)
from svmcompile.accelerate.bounds.sums import merge_copies, mostly_zeros
from svmcompile.accelerate.fitting.rows import kernel_sums, labels_of
from svmcompile.accelerate.taylor.sums import RbfSum
from svmcompile.ir.arithmetic import Array, in_segments
from svmcompile.ir.pairs import class_slices, pair_indices
from svmcompile.ir.stages import longest_chain
from svmcompile.model.svm import SVM, LabelRule


def as_pairs(svm: SVM) -> SVM:
    """The pairs f_i - f_j of a one-vs-rest machine, as LIBSVM lays them out."""
    kept = [np.flatnonzero(row) for row in svm.coefficients]
    counts = tuple(map(len, kept))
    weights = np.concatenate([row[own] for row, own in zip(svm.coefficients, kept, strict=True)])
    # Row r of a class's weights is for the pair with class r, or with r + 1 from its own place on: there
    # its sum is the first one, else it is taken off.
    owner = np.repeat(np.arange(len(counts)), counts)
    signs = np.where(np.arange(len(counts) - 1)[:, None] >= owner, 1.0, -1.0)
    biases = [svm.intercepts[i] - svm.intercepts[j] for i, j in pair_indices(len(counts))]
    return replace(
        svm,
        vectors=svm.vectors[np.concatenate(kept)],
        coefficients=signs * weights,
        intercepts=np.array(biases),
        counts=counts,
        label_rule=LabelRule.VOTE,
    )


def bias_sizes(svm: SVM, pairs: SVM) -> Array:
    """Of each pair, how large the biases are that the original adds up, for their rounding."""
    sizes = np.abs(svm.intercepts)
    if svm.counts:
        return np.asarray(sizes)
    return np.array([sizes[i] + sizes[j] for i, j in pair_indices(len(pairs.counts))])


@dataclass(frozen=True, eq=False)
class Pairs:
    """The sums of a one-vs-one machine, by pair in LIBSVM's order."""

    own: SVM
    sums: tuple[RbfSum, ...]
    weights: tuple[Array, ...]  # as direct sums meet them: vectors that both classes have, twice
    sizes: Array  # of what the original adds up to a pair's bias

    @classmethod
    def of(cls, own: SVM, row: RowError, sizes: Array | None = None) -> Pairs:
        """`sizes`: of the biases, where a pair's bias is a difference of two."""
        groups, found, met = class_slices(own.counts), [], []
        sizes = np.abs(own.intercepts) if sizes is None else sizes
        for index, (i, j) in enumerate(pair_indices(len(own.counts))):
            both = np.concatenate([own.vectors[groups[i]], own.vectors[groups[j]]])
            weights = np.concatenate([own.coefficients[j - 1, groups[i]], own.coefficients[i, groups[j]]])
            vectors, (added,) = merge_copies(both, weights[None])
            left = added != 0 if added.any() else slice(None)
            vectors, added = vectors[left], added[left]
            norm = float(added @ own.kernel.values(vectors, vectors) @ added)
            bias = float(own.intercepts[index])
            gone = float(np.abs(weights).sum() - np.abs(added).sum() + sizes[index] - abs(bias))
            error = (row.constant, row.relative)
            one = RbfSum(vectors, added, bias, own.kernel.gamma, norm, error, max(gone, 0.0))
            found.append(one)
            met.append(weights)
        return cls(own, tuple(found), tuple(met), sizes)

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
        closer = kernel_error(kernel, vectors, row, number="f64")
        pairs = list(zip(self.weights, self.sizes.tolist(), strict=True))
        return (
            np.array([direct_rounding(weights, size, error) for weights, size in pairs]),
            np.array([direct_rounding(weights, size, closer, 0) for weights, size in pairs]),
        )

    def labels(self, rows: Array) -> NDArray[np.int64]:
        return labels_of(self.own, kernel_sums(self.own, rows))


def _turned(one: RbfSum) -> RbfSum:
    return replace(one, weights=-one.weights, bias=-one.bias)
