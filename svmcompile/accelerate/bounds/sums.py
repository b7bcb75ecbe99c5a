"""Sum: one kernel sum with its vectors merged; an SVM enters, its sum or its pairs' sums leave."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmcompile.ir.kernel import SPARSE_ZEROS, Array, Kernel
from svmcompile.ir.pairs import class_slices
from svmcompile.model.svm import SVM

BLOCK_VALUES = 1 << 22  # kernel values computed at a time


@dataclass(frozen=True, eq=False)
class Sum:
    """f(x) = weights . kernel(x, vectors) + bias."""

    kernel: Kernel
    vectors: Array  # [n, d]
    weights: Array  # [n]
    bias: float

    def products(self, points: Array) -> Array:
        """<Phi(point), W> for every point: the sum without its bias."""
        step = max(1, BLOCK_VALUES // max(1, len(self.weights)))
        parts = [
            self.kernel.values(points[at : at + step], self.vectors) @ self.weights
            for at in range(0, len(points), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)


def reach_of(vectors: Array) -> float:
    """The length of the longest vector."""
    return float(np.sqrt(np.square(vectors).sum(axis=1).max(initial=0.0)))


def merged(svm: SVM) -> SVM:
    """The SVM with vectors that occur twice (in one class, where there are several) met once."""
    groups = class_slices(svm.counts) if svm.counts else [slice(0, svm.n_vectors)]
    parts = [each_once(svm.vectors[group], svm.coefficients[:, group]) for group in groups]
    vectors = np.concatenate([part[0] for part in parts])
    if len(vectors) == svm.n_vectors:
        return svm
    coefficients = np.concatenate([part[1] for part in parts], axis=1)
    counts = tuple(len(part[0]) for part in parts) if svm.counts else ()
    return replace(svm, vectors=vectors, coefficients=coefficients, counts=counts)


def each_once(vectors: Array, coefficients: Array) -> tuple[Array, Array]:
    """Each vector once, where it stood first, with the coefficients of its copies added up."""
    if not len(vectors):
        return vectors, coefficients
    _, first, place = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    total = np.zeros((coefficients.shape[0], len(first)))
    for row, own in zip(total, coefficients, strict=True):
        np.add.at(row, rank[place.ravel()], own)
    return vectors[np.sort(first)], total


def mostly_zeros(svm: SVM) -> bool:
    """Whether rows come as they are and vectors are mostly zeros, which the exact sum then passes over."""
    return not svm.front.nodes and not svm.parts and float((svm.vectors == 0).mean()) >= SPARSE_ZEROS
