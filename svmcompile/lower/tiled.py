"""Packed sums as `TiledSum`: tables in blocks of lanes, for processors with vector instructions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.nodes import Node, PackedSum, Prepare, TiledSum

Tables = dict[str, NDArray[Any]]

LANES: dict[Number, int] = {"f32": 16, "f64": 8}  # vectors that fill 64 bytes, feature by feature
# Up to so many weights per vector a lane keeps its own sums, which are added up at the end of
# each class; with more of them it is cheaper to take the vectors one by one.
MAX_LANE_COLUMNS = 4
FAR = -1e4  # exponent of the vectors that fill up a block: their kernel value is zero
LARGEST: dict[Number, float] = {
    "f32": float(np.finfo(np.float32).max),
    "f64": float(np.finfo(np.float64).max),
}


def tile(nodes: list[Node], tables: Tables, number: Number, width: int) -> tuple[list[Node], Tables]:
    """The nodes of one packed sum in tiled form; kernels but RBF get a `Prepare` that marks bad rows."""
    node = nodes[-1]
    assert isinstance(node, PackedSum)
    lanes, x = LANES[number], node.x
    body, made = nodes[:-1], dict(tables)
    if node.shape != "exp2":
        x = f"{node.out}_z"
        names = (f"{node.out}_shift", f"{node.out}_factor")
        made |= {names[0]: np.zeros(width), names[1]: np.ones(width)}
        body.append(Prepare(x, node.x, *names, LARGEST[number]))
    order, by_lane = block_order(node, tables, lanes)
    made |= block_weights(node, tables, order, lanes, by_lane)
    vectors = picked(tables[node.vectors], order).reshape(len(order) // lanes, lanes, -1)
    made[node.vectors] = vectors.transpose(0, 2, 1)
    counts = node.counts or (len(tables[node.vectors]),)
    tables_of = (node.vectors, node.offsets, node.weights, node.bias)
    body.append(TiledSum(node.out, x, *tables_of, counts, node.shape, node.degree))
    return body, made


def block_order(node: PackedSum, tables: Tables, lanes: int) -> tuple[NDArray[np.intp], bool]:
    """The vectors in the order of the blocks, -1 for what fills up, and whether weights go by lane."""
    by_lane = tables[node.weights].shape[1] <= MAX_LANE_COLUMNS
    order = (
        _by_class(node.counts, lanes) if by_lane and node.counts else np.arange(len(tables[node.vectors]))
    )
    return _filled(order, 2 * lanes), by_lane


def _by_class(counts: tuple[int, ...], lanes: int) -> NDArray[np.intp]:
    """Vector numbers with each class filled up to whole blocks by -1."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    return np.concatenate([_filled(np.arange(a, b), lanes) for a, b in pairwise(starts)])


def _filled(order: NDArray[np.intp], multiple: int) -> NDArray[np.intp]:
    return np.concatenate([order, np.full(-len(order) % multiple, -1, dtype=np.intp)])


def block_weights(
    node: PackedSum, tables: Tables, order: NDArray[np.intp], lanes: int, by_lane: bool
) -> Tables:
    """Weights, offsets and bias in blocks; number -1 stands for a vector that adds nothing."""
    weights = picked(tables[node.weights], order)
    blocks, columns = len(order) // lanes, weights.shape[1]
    if by_lane:
        weights = weights.reshape(blocks, lanes, columns).transpose(0, 2, 1)
    else:
        weights = np.pad(weights, ((0, 0), (0, -columns % lanes)))
    offsets = tables[node.offsets]
    if node.shape == "exp2":
        offsets = np.where(order < 0, FAR, offsets[order])
    return {node.weights: weights, node.offsets: offsets, node.bias: tables[node.bias]}


def picked(table: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    """Rows of a table in an order; number -1 stands for a row of zeros."""
    return np.asarray(np.where(order[:, None] < 0, 0.0, table[order]))
