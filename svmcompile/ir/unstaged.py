"""Machine nodes of bounded sums, told as the math nodes they stand for: type, meaning and cost follow.

Also the layout of triangles in blocks, both ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.bounded import BoundedSum, BoundedVote
from svmcompile.ir.kernel import Array
from svmcompile.ir.meaning import Env, run
from svmcompile.ir.needs import need
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import Types, result_type
from svmcompile.ir.staged import StagedSum, StagedVote
from svmcompile.ir.stages import lower_triangle

Tables = Mapping[str, NDArray[Any]]


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


def unstaged(
    node: StagedSum | StagedVote, tables: Tables
) -> tuple[BoundedSum | BoundedVote, dict[str, NDArray[Any]]]:
    """The math node of a machine node, and the tables that go with it."""
    made = {**tables, node.residuals: np.sqrt(tables[node.residuals].astype(np.float64))}
    made[node.vectors] = rows_of(tables[node.vectors])
    return _sum(node, made, tables) if isinstance(node, StagedSum) else _vote(node, made, tables)


def _sum(
    node: StagedSum, made: dict[str, NDArray[Any]], tables: Tables
) -> tuple[BoundedSum, dict[str, NDArray[Any]]]:
    rank, lanes = node.rank, tables[node.vectors].shape[2]
    packed = by_rows(tables[node.coordinates], rank + -rank % lanes, lanes)
    made[node.coordinates] = packed[: max(1, rank * (rank + 1) // 2)]
    made[node.projection] = tables[node.projection][:rank]
    found = BoundedSum(
        node.out, node.x, node.exact, node.vectors, node.weights, node.bias, node.ends, node.coordinates,
        node.projection, node.estimates, node.residuals, node.slacks, node.margins, node.rounding,
        node.reach, node.tolerance, node.kernel,
    )  # fmt: skip
    return found, made


def _vote(
    node: StagedVote, made: dict[str, NDArray[Any]], tables: Tables
) -> tuple[BoundedVote, dict[str, NDArray[Any]]]:
    lanes, triangles, at = tables[node.vectors].shape[2], [], 0
    for size in np.diff(tables[node.starts].astype(np.int64)):
        count = triangle_size(int(size), lanes)
        triangles.append(by_rows(tables[node.coordinates][at : at + count], int(size), lanes))
        at += count
    made[node.coordinates] = np.concatenate(triangles)
    found = BoundedVote(
        node.out, node.x, node.guess, node.exact, node.vectors, node.weights, node.bias, node.starts,
        node.picks, node.coordinates, node.projections, node.residuals, node.slacks, node.margins,
        node.rounding, node.reach, node.block, node.counts, node.kernel,
    )  # fmt: skip
    return found, made


@result_type.register
def _(node: StagedSum, types: Types, tables: Tables) -> Type:
    need(tables[node.vectors].ndim == 3 and node.rank >= 0, "vectors are not in blocks")
    lanes = tables[node.vectors].shape[2]
    size = node.rank + -node.rank % lanes
    whole = all(int(end) % lanes == 0 for end in tables[node.ends])
    need(whole, "a stage does not end with a block")
    need(len(tables[node.coordinates]) == max(1, triangle_size(size, lanes)), "coordinates do not fit")
    need(len(tables[node.projection]) == max(1, size), "the projection does not fit")
    math, made = unstaged(node, tables)
    exact = types[node.exact] if node.tolerance < 0 else Type(Kind.SCORES, 1)
    return result_type(math, {**types, node.exact: exact}, made)


@result_type.register
def _(node: StagedVote, types: Types, tables: Tables) -> Type:
    need(tables[node.vectors].ndim == 3, "vectors are not in blocks")
    lanes, sizes = tables[node.vectors].shape[2], np.diff(tables[node.starts].astype(np.int64)).tolist()
    whole = all(size % lanes == 0 for size in (*sizes, *node.counts, node.block))
    need(whole, "a stage or a class does not end with a block")
    numbers = sum(triangle_size(size, lanes) for size in sizes)
    need(len(tables[node.coordinates]) == numbers, "coordinates do not fit")
    copies = len(tables[node.picks]) // lanes
    shape = (copies, *tables[node.vectors].shape[1:])
    need(node.basis == node.vectors or tables[node.basis].shape == shape, "the basis does not fit")
    math, made = unstaged(node, tables)
    return result_type(math, types, made)


@run.register(StagedSum)
@run.register(StagedVote)
def _(node: StagedSum | StagedVote, env: Env, tables: Tables) -> NDArray[Any]:
    math, made = unstaged(node, tables)
    return run(math, env, made)
