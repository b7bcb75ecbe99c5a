"""Packed sums as `TiledSum`: tables in blocks of lanes, for processors with vector instructions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.nodes import Node, PackedSum, Prepare, TiledSum
from svmcompile.ir.program import Number

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
    by_lane = tables[node.weights].shape[1] <= MAX_LANE_COLUMNS
    order = (
        _by_class(node.counts, lanes) if by_lane and node.counts else np.arange(len(tables[node.vectors]))
    )
    order = _filled(order, 2 * lanes)
    made |= _blocks(node, tables, order, lanes, by_lane)
    counts = node.counts or (len(tables[node.vectors]),)
    tables_of = (node.vectors, node.offsets, node.weights, node.bias)
    body.append(TiledSum(node.out, x, *tables_of, counts, node.shape, node.degree))
    return body, made


def _by_class(counts: tuple[int, ...], lanes: int) -> NDArray[np.intp]:
    """Vector numbers with each class filled up to whole blocks by -1."""
    starts = np.concatenate([[0], np.cumsum(counts)])
    return np.concatenate([_filled(np.arange(a, b), lanes) for a, b in pairwise(starts)])


def _filled(order: NDArray[np.intp], multiple: int) -> NDArray[np.intp]:
    return np.concatenate([order, np.full(-len(order) % multiple, -1, dtype=np.intp)])


def _blocks(node: PackedSum, tables: Tables, order: NDArray[np.intp], lanes: int, by_lane: bool) -> Tables:
    """The tables in blocks; number -1 stands for a vector that adds nothing."""
    vectors, weights = _picked(tables[node.vectors], order), _picked(tables[node.weights], order)
    blocks, columns = len(order) // lanes, weights.shape[1]
    if by_lane:
        weights = weights.reshape(blocks, lanes, columns).transpose(0, 2, 1)
    else:
        weights = np.pad(weights, ((0, 0), (0, -columns % lanes)))
    offsets = tables[node.offsets]
    if node.shape == "exp2":
        offsets = np.where(order < 0, FAR, offsets[order])
    return {
        node.vectors: vectors.reshape(blocks, lanes, -1).transpose(0, 2, 1),
        node.weights: weights,
        node.offsets: offsets,
        node.bias: tables[node.bias],
    }


def _picked(table: NDArray[Any], order: NDArray[np.intp]) -> NDArray[Any]:
    return np.asarray(np.where(order[:, None] < 0, 0.0, table[order]))
