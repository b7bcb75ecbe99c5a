"""One-vs-rest machines as pairs: an SVM whose largest sum wins goes in, the same as one-vs-one comes out.

The class with the largest sum is the one whose differences to all other sums are above zero, and the
difference of two sums of one kernel is a sum over the vectors of both. So a one-vs-rest machine is a vote
of pairs f_i - f_j. Each class keeps the vectors of its own sum, and one that two sums share stands in both
classes: a pair then meets the vectors of its two sums and no others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from svmcompile.ir.kernel import Array
from svmcompile.ir.pairs import pair_indices
from svmcompile.model.svm import SVM, LabelRule


def joined(svm: SVM) -> SVM:
    """Machines that share kernel and preprocessing as one, each vector with a weight in its own sum."""
    if not svm.parts:
        return svm
    coefficients = np.zeros((svm.n_sums, svm.n_vectors))
    row = column = 0
    for part in svm.parts:
        sums, vectors = part.coefficients.shape
        coefficients[row : row + sums, column : column + vectors] = part.coefficients
        row, column = row + sums, column + vectors
    vectors_of_all = np.concatenate([part.vectors for part in svm.parts])
    return replace(svm, vectors=vectors_of_all, coefficients=coefficients, parts=())


def is_one_vs_rest(svm: SVM) -> bool:
    """Whether the largest of several sums, one per class, is the label."""
    return svm.n_sums > 1 and not svm.counts and svm.label_rule is LabelRule.ARGMAX


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
