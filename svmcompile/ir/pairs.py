"""Pairs of classes in LIBSVM's order: numbers, sums, votes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Floats


def pair_indices(n_classes: int) -> list[tuple[int, int]]:
    """The pairs (i, j), i < j, in LIBSVM's order."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def pair_table(n_classes: int) -> NDArray[np.int64]:
    """Where the pair of two classes stands, in either order."""
    table = np.zeros((n_classes, n_classes), dtype=np.int64)
    table[np.triu_indices(n_classes, 1)] = np.arange(n_classes * (n_classes - 1) // 2)
    return np.asarray(table + table.T)


def classes_of(pairs: int) -> int:
    """How many classes have so many pairs; 0 if none."""
    k = math.isqrt(2 * pairs) + 1
    return k if k * (k - 1) // 2 == pairs else 0


def pair_number(first: Any, second: Any, n_classes: int) -> Any:
    """Where the pairs (first, second) stand in LIBSVM's order."""
    return first * (2 * n_classes - first - 1) // 2 + second - first - 1


def favour(n_classes: int) -> NDArray[np.float64]:
    """[classes, pairs]: 1 where a class is the pair's first, -1 where it is its second, else 0."""
    first, second = np.triu_indices(n_classes, 1)
    own = np.arange(n_classes)[:, None]
    return np.asarray((own == first).astype(np.float64) - (own == second))


def class_slices(counts: tuple[int, ...]) -> list[slice]:
    """Where the vectors of each class stand."""
    ends = np.cumsum(counts)
    return [slice(int(end) - count, int(end)) for count, end in zip(counts, ends, strict=True)]


def pair_weights(weights: Array, counts: tuple[int, ...]) -> Array:
    """LIBSVM's coefficients [k - 1, n] spread out to one row per pair of classes."""
    groups, pairs = class_slices(counts), pair_indices(len(counts))
    dense = np.zeros((len(pairs), weights.shape[1]))
    for row, (i, j) in enumerate(pairs):
        dense[row, groups[i]] = weights[j - 1, groups[i]]
        dense[row, groups[j]] = weights[i, groups[j]]
    return dense


def pair_sums(values: Floats, weights: Floats, counts: tuple[int, ...]) -> Floats:
    """Sums per pair from kernel values [rows, n] and weights [n, k - 1]."""
    partial = [values[:, group] @ weights[group] for group in class_slices(counts)]
    pairs = pair_indices(len(counts))
    return np.stack([partial[i][:, j - 1] + partial[j][:, i] for i, j in pairs], axis=1)


def vote(pairs: Floats, n_classes: int) -> NDArray[np.intp]:
    """The class with most votes, the first of several."""
    votes = np.zeros((len(pairs), n_classes), dtype=np.int64)
    for column, (i, j) in enumerate(pair_indices(n_classes)):
        votes[:, i] += pairs[:, column] > 0
        votes[:, j] += ~(pairs[:, column] > 0)
    return np.asarray(np.argmax(votes, axis=1))
