"""Vectors that occur more than once: a sum needs each of them only once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from svmcompile.ir.arithmetic import Array


def merge_copies(vectors: Array, weights: Array) -> tuple[Array, Array]:
    """Each vector once, where it stood first, with the weights [m, n] of its copies added up."""
    if _all_differ(vectors):
        return vectors, weights
    _, first, place = np.unique(vectors, axis=0, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))
    places = rank[place.ravel()]
    return vectors[np.sort(first)], np.stack([np.bincount(places, row, len(first)) for row in weights])


def merge_by_class(
    vectors: Array, weights: Array, counts: tuple[int, ...]
) -> tuple[Array, Array, tuple[int, ...]]:
    """The same within each class, for vectors in groups of so many; without counts they are one group."""
    ends = np.cumsum([0, *(counts or (len(vectors),))]).tolist()
    parts = [merge_copies(vectors[a:b], weights[:, a:b]) for a, b in pairwise(ends)]
    merged = np.concatenate([part[0] for part in parts])
    if len(merged) == len(vectors):
        return vectors, weights, counts
    added = np.concatenate([part[1] for part in parts], axis=1)
    return merged, added, tuple(len(part[0]) for part in parts) if counts else ()


def _all_differ(vectors: Array) -> bool:
    """Whether a cheap look shows that no two are equal: equal vectors have equal sums."""
    with np.errstate(all="ignore"):
        sums = (vectors * np.random.default_rng(0).uniform(1, 2, vectors.shape[1])).sum(axis=1)
    return len(np.unique(sums)) == len(vectors)
