"""The inverted tables of a `SparseSum`: what they hold, and what could be wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.node import At

WORD = 32  # features per word of `marks`


def vectors_and_lanes(weights: NDArray[Any]) -> tuple[int, int]:
    """How many vectors a table of blocked weights is for, what fills up included, and the lanes of a block.

    Rows of weights that are filled up to the lanes tell no more than that they are at most as wide.
    """
    if weights.ndim == 3:
        return int(weights.shape[0] * weights.shape[2]), int(weights.shape[2])
    return int(weights.shape[0]), 8 if weights.dtype == np.float64 else 16


def features_that_occur(marks: NDArray[np.uint32]) -> NDArray[np.intp]:
    """The features whose bit is set, ascending."""
    octets = np.ascontiguousarray(marks, dtype="<u4").view(np.uint8)
    return np.flatnonzero(np.unpackbits(octets, bitorder="little"))


def marked(features: NDArray[np.intp], width: int) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """`marks` and `ranks` of the features that occur among `width`."""
    flags = np.zeros(width + -width % WORD, dtype=np.uint8)
    flags[features] = 1
    marks = np.packbits(flags, bitorder="little").view("<u4").astype(np.uint32)
    counts = flags.reshape(-1, WORD).sum(axis=1, dtype=np.int64)
    return marks, np.cumsum(counts) - counts


def stored_vectors(at: At, width: int) -> Any:
    """The vectors as a scipy matrix [vectors, d]."""
    from scipy.sparse import csc_array, vstack

    features = features_that_occur(at.marks)
    starts = at.starts.astype(np.int64)
    vectors, _ = vectors_and_lanes(at.weights)
    parts = []
    for segment, own in enumerate(starts):
        ends = np.zeros(width + 1, dtype=np.int64)
        ends[features + 1] = np.diff(own)
        count = min(at.segment, vectors - segment * at.segment)
        entries = slice(own[0], own[-1])
        content = at.values[entries], at.indices[entries].astype(np.int64)
        parts.append(csc_array((*content, np.cumsum(ends)), shape=(count, width)))
    return vstack(parts, format="csr")


def inverted_problems(at: At, width: int, vectors: int) -> Iterator[str]:
    """What would lead the generated code astray; what comes later relies on what comes first."""
    marks, ranks, starts, indices, names = at.marks, at.ranks, at.starts, at.indices, at.node
    words, segments = -(-width // WORD), -(-vectors // at.segment)
    if marks.shape != (words,) or ranks.shape != (words,) or marks.dtype != np.uint32:
        yield f"marks @{names.marks} or ranks @{names.ranks} do not fit {width} features"
        return
    features = features_that_occur(marks)
    if not (marked(features, words * WORD)[1] == ranks).all() or (features >= width).any():
        yield f"ranks @{names.ranks} do not count the bits of @{names.marks}"
    if starts.shape != (segments, len(features) + 1) or indices.ndim != 1 or not segments:
        yield f"starts @{names.starts} is {starts.shape}, expected {(segments, len(features) + 1)}"
        return
    flat = starts.astype(np.int64).ravel()
    joined = (starts[1:, 0] == starts[:-1, -1]).all()
    if flat[0] != 0 or flat[-1] != indices.size or (np.diff(flat) < 0).any() or not joined:
        yield f"starts @{names.starts} do not share out the entries"
        return
    yield from _index_problems(at.node, starts.astype(np.int64), indices.astype(np.int64), vectors)


def _index_problems(
    node: Any, starts: NDArray[np.int64], indices: NDArray[np.int64], vectors: int
) -> Iterator[str]:
    for segment, own in enumerate(starts):
        part = indices[own[0] : own[-1]]
        if part.size and part.max() >= min(node.segment, vectors - segment * node.segment):
            yield f"indices @{node.indices} reach beyond their segment"
    inner = np.ones(indices.size + 1, dtype=bool)
    inner[starts.ravel()] = False  # where a feature begins
    if (np.diff(indices) <= 0)[inner[1:-1]].any():
        yield f"indices @{node.indices} do not ascend"
