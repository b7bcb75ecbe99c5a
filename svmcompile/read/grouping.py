"""Sums of pairs of classes that come one by one: their vectors grouped by class, as LIBSVM has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.pairs import pair_indices
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.read.kernels import check_dense_size

Indices = NDArray[np.int64]


def grouped_by_class(
    svm: SVM, alphas: Array, indices: Indices, pair: Indices, place: str, limit: int
) -> SVM:
    """The sums of pairs in LIBSVM's layout, where vectors are grouped by class.

    In the sum of a pair (i, j), vectors of class i have positive coefficients. A vector that stands for
    several classes, as no training gives it, is stored once for each.
    """
    assert svm.labels
    k = len(svm.labels)
    first, second = np.array(list(pair_indices(k))).T[:, pair]
    own, other = np.where(alphas > 0, [first, second], [second, first])
    keys, position = np.unique(own * svm.n_vectors + indices, return_inverse=True)
    check_dense_size(len(keys), max(svm.n_features, k), place, limit)
    coefficients = np.zeros((k - 1, len(keys)))
    np.add.at(coefficients, (other - (other > own), position), alphas)
    return replace(
        svm,
        vectors=svm.vectors[keys % svm.n_vectors],
        coefficients=coefficients,
        counts=tuple(np.bincount(keys // svm.n_vectors, minlength=k).tolist()),
        label_rule=LabelRule.VOTE,
    )
