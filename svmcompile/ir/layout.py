"""Layouts of tables: lanes, blocks, triangles, pyramids, and vectors by feature; packed and unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import At, need, rising, within
from svmcompile.ir.stages import lower_triangle

BITS = 4  # planes that one entry of `sides` is about
ROWS = 4  # of squares that lie side by side in `cubes`
LAST = 2  # lanes behind those of the axes: centre and slope
FEW_LANES = 4  # of columns in plain code
WORD = 32  # features per word of `marks`


def in_blocks(packed: NDArray[Any], size: int, lanes: int) -> Array:
    """A lower triangle that is held row by row, in rows of blocks and filled up with zeros."""
    filled = size + -size % lanes
    matrix = np.zeros((filled, filled))
    matrix[:size, :size] = lower_triangle(packed, size)
    rows = [matrix[at : at + lanes, : at + lanes].T.ravel() for at in range(0, filled, lanes)]
    return np.concatenate(rows) if rows else np.zeros(1)


def by_rows(blocks: NDArray[Any], size: int, lanes: int) -> Array:
    """The other way: a triangle in rows of blocks, row by row."""
    matrix, at = np.zeros((size, size)), 0
    for first in range(0, size, lanes):
        count = (first + lanes) * lanes
        part = blocks[at : at + count].reshape(first + lanes, lanes).T
        matrix[first : first + lanes, : first + lanes] = part
        at += count
    return matrix[np.tril_indices(size)] if size else np.zeros(1)


def triangle_size(size: int, lanes: int) -> int:
    """Numbers of a triangle in rows of blocks."""
    blocks = size // lanes
    return lanes * lanes * blocks * (blocks + 1) // 2


def rows_of(vectors: NDArray[Any]) -> NDArray[Any]:
    """Vectors [blocks, d, lanes] as rows."""
    blocks, d, lanes = vectors.shape
    return np.asarray(vectors.transpose(0, 2, 1).reshape(blocks * lanes, d))


def filled_up(count: int, lanes: int) -> int:
    """Numbers that whole vectors hold."""
    return count + -count % lanes


def fours(width: int, lanes: int) -> list[tuple[int, int]]:
    """The first row of each four of a triangle, and how many numbers each of its rows has."""
    return [(first, filled_up(min(first + ROWS, width), lanes)) for first in range(0, width, ROWS)]


def square_rows(width: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """Where row b of a lower triangle lies packed, and where in fours of rows."""
    at = 0
    for first, size in fours(width, lanes):
        for b in range(first, first + ROWS):
            if b < width:
                packed = b * (b + 1) // 2
                yield slice(packed, packed + b + 1), slice(at, at + b + 1)
            at += size


def square_size(width: int, lanes: int) -> int:
    return sum(ROWS * size for _, size in fours(width, lanes))


def cube_rows(width: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """Where the coefficients of y_c y_b y_a for all a lie packed, and where in fours of rows b."""
    at = 0
    for first, size in fours(width, lanes):
        for c in range(first, width):
            for b in range(first, first + ROWS):
                if b <= c:
                    packed = c * (c + 1) * (c + 2) // 6 + b * (b + 1) // 2
                    yield slice(packed, packed + b + 1), slice(at, at + b + 1)
                at += size


def cube_size(width: int, lanes: int) -> int:
    return sum((width - first) * ROWS * size for first, size in fours(width, lanes))


def pack(table: NDArray[Any], rows: Iterator[tuple[slice, slice]]) -> NDArray[Any]:
    """The columns of a table without what fills up, from where they lie to where they lie packed."""
    parts = sorted((packed.start, lie.start, lie.stop) for packed, lie in rows)
    return np.concatenate([table[:, start:stop] for _, start, stop in parts], axis=1)


def sides_of(children: NDArray[Any]) -> NDArray[np.uint32]:
    """For each four planes and each outcome of them, bit by bit, the leaves that it leaves."""
    count, leaves = len(children), len(children) + 1
    fours = -(-count // BITS)
    reached = np.zeros((count, 2), dtype=np.uint64)
    for node in range(count - 1, -1, -1):  # children come after their parents
        for side, child in enumerate(children[node].tolist()):
            below = reached[child].sum() if child >= 0 else 1 << ~child
            reached[node, side] = below
    every = np.uint64((1 << leaves) - 1)
    sides = np.full((fours, 1 << BITS), every, dtype=np.uint64)
    for node in range(count):
        above = np.arange(1 << BITS) >> node % BITS & 1
        sides[node // BITS] &= every ^ reached[node][1 - above]
    return sides.astype(np.uint32)


def column_lanes(lanes: int) -> int:
    """Groups that columns are filled up to."""
    return max(lanes, FEW_LANES)


def triangle_rows(width: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """Where row b of a lower triangle lies packed, and where with rows filled up."""
    packed = at = 0
    for b in range(width):
        yield slice(packed, packed + b + 1), slice(at, at + b + 1)
        packed, at = packed + b + 1, at + filled_up(b + 1, lanes)


def grouped_size(width: int, lanes: int) -> int:
    return sum(filled_up(b + 1, lanes) for b in range(width))


def pyramid_rows(width: int, lanes: int) -> Iterator[tuple[slice, slice]]:
    """The same for the triangles up to each c, one after the other."""
    packed = at = 0
    for c in range(width):
        for own, lie in triangle_rows(c + 1, lanes):
            yield _move(own, packed), _move(lie, at)
        packed, at = packed + (c + 1) * (c + 2) // 2, at + grouped_size(c + 1, lanes)


def pyramid_size(width: int, lanes: int) -> int:
    return sum(grouped_size(c + 1, lanes) for c in range(width))


def triangle_places(size: int, lanes: int) -> NDArray[np.intp]:
    """Where the numbers of a lower triangle lie that has its rows filled up to whole lanes."""
    return np.concatenate([np.arange(lie.start, lie.stop) for _, lie in triangle_rows(size, lanes)])


def _move(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)


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


def compressed(starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], width: int) -> Any:
    """Vectors of which zeros are not stored, as a scipy matrix [vectors, width]."""
    from svmcompile.data.csr import Csr

    return Csr((values, columns, starts), shape=(len(starts) - 1, width))


def check_compressed(starts: NDArray[Any], columns: NDArray[Any], width: int) -> None:
    """Refuse rows whose entries are not in ascending columns of a matrix of this width."""
    rising(starts, len(columns), "entries")
    within(columns, width, "a column")
    inner = np.ones(len(columns) + 1, dtype=bool)
    inner[starts] = False  # where a row begins
    need(not (np.diff(columns.astype(np.int64)) <= 0)[inner[1:-1]].any(), "columns do not ascend")


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


def check_inverted(at: At, width: int, vectors: int) -> None:
    """Refuse what would lead the generated code astray; what comes later relies on what comes first."""
    marks, ranks, starts, indices, names = at.marks, at.ranks, at.starts, at.indices, at.node
    words, segments = -(-width // WORD), -(-vectors // at.segment)
    fit = marks.shape == ranks.shape == (words,) and marks.dtype == np.uint32
    need(fit, f"marks @{names.marks} or ranks @{names.ranks} do not fit {width} features")
    features = features_that_occur(marks)
    counted = (marked(features, words * WORD)[1] == ranks).all() and (features < width).all()
    need(bool(counted), f"ranks @{names.ranks} do not count the bits of @{names.marks}")
    shape = (segments, len(features) + 1)
    fit = starts.shape == shape and indices.ndim == 1 and segments > 0
    need(fit, f"starts @{names.starts} is {starts.shape}, expected {shape}")
    starts, indices = starts.astype(np.int64), indices.astype(np.int64)
    flat, joined = starts.ravel(), (starts[1:, 0] == starts[:-1, -1]).all()
    shared = flat[0] == 0 and flat[-1] == indices.size and (np.diff(flat) >= 0).all() and joined
    need(bool(shared), f"starts @{names.starts} do not share out the entries")
    for segment, own in enumerate(starts):
        most = indices[own[0] : own[-1]].max(initial=-1)
        beyond = most >= min(at.segment, vectors - segment * at.segment)
        need(not beyond, f"indices @{names.indices} reach beyond their segment")
    inner = np.ones(indices.size + 1, dtype=bool)
    inner[starts.ravel()] = False  # where a feature begins
    need(not (np.diff(indices) <= 0)[inner[1:-1]].any(), f"indices @{names.indices} do not ascend")
