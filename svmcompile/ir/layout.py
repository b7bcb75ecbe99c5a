"""Layouts of tables: lanes, blocks, triangles, pyramids; packed and unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array
from svmcompile.ir.stages import lower_triangle

BITS = 4  # planes that one entry of `sides` is about
ROWS = 4  # of squares that lie side by side in `cubes`
LAST = 2  # lanes behind those of the axes: centre and slope
FEW_LANES = 4  # of columns in plain code


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


def packed_squares(table: NDArray[Any], width: int, lanes: int) -> NDArray[Any]:
    return np.concatenate([table[:, lie] for _, lie in square_rows(width, lanes)], axis=1)


def packed_cubes(table: NDArray[Any], width: int, lanes: int) -> NDArray[Any]:
    packed = np.zeros((len(table), width * (width + 1) * (width + 2) // 6), dtype=table.dtype)
    for place, lie in cube_rows(width, lanes):
        packed[:, place] = table[:, lie]
    return packed


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
    lengths = [row + -row % lanes for row in range(1, size + 1)]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return np.concatenate([starts[row] + np.arange(row + 1) for row in range(size)])


def _move(part: slice, by: int) -> slice:
    return slice(part.start + by, part.stop + by)
