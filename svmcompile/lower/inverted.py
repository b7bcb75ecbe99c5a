"""Packed sums as `SparseSum`: vectors that are mostly zeros, stored by feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import fresh
from svmcompile.ir.inverted import marked
from svmcompile.ir.nodes import Node, PackedSum, Prepare, SparseSum
from svmcompile.ir.program import Program
from svmcompile.lower.storage import LAYOUTS, Layout, Storage, sparse_pays
from svmcompile.lower.tiled import LANES, LARGEST, block_order, block_weights, picked

Tables = dict[str, NDArray[Any]]


def invert(
    program: Program, nodes: list[Node], tables: Tables, number: Number, profile: str, storage: Storage
) -> tuple[list[Node], Tables] | None:
    """The nodes of one packed sum as a sparse one; None where the dense table suits better or must do."""
    node = nodes[-1]
    assert isinstance(node, PackedSum)
    source = _source(program, nodes, tables, number)
    if storage == "sparse" and source is None:
        raise EmitError(
            f"rows of the sum %{node.out} are shifted or clipped, so zeros do not stay zeros and vectors "
            "cannot be stored by feature; leave out --tables sparse"
        )
    if storage == "dense" or source is None or not tables[node.vectors].any():
        return None
    if storage == "auto" and not sparse_pays(tables[node.vectors], number, profile):
        return None
    x, factor, limit = source
    lanes = LANES[number] if profile == "host" else 1
    order, by_lane = np.arange(len(tables[node.vectors])), True
    if profile == "host":
        order, by_lane = block_order(node, tables, lanes)
    stored = {"factor": factor, **_columns(tables[node.vectors], order, LAYOUTS[profile])}
    names = {end: fresh(node.out, end, set(program.tables) | set(tables)) for end in stored}
    made = block_weights(node, tables, order, lanes, by_lane)
    made |= {names[end]: table for end, table in stored.items()}
    sparse = SparseSum(
        node.out,
        x,
        names["factor"],
        names["marks"],
        names["ranks"],
        names["starts"],
        names["indices"],
        names["values"],
        node.offsets,
        node.weights,
        node.bias,
        node.counts or (len(tables[node.vectors]),),
        node.shape,
        node.degree,
        LAYOUTS[profile].segment,
        limit,
    )
    return [sparse], made


def _source(
    program: Program, nodes: list[Node], tables: Tables, number: Number
) -> tuple[str, NDArray[Any], float] | None:
    """The row as it comes, what it is multiplied by and its limit; None where zeros do not stay zeros."""
    prepare = nodes[0]
    if not isinstance(prepare, Prepare):
        node = nodes[-1]
        assert isinstance(node, PackedSum)
        return (node.x, np.ones(1), LARGEST[number]) if node.x == program.input.name else None
    factor = tables[prepare.factor]
    if prepare.x != program.input.name or tables[prepare.shift].any():
        return None
    return prepare.x, factor[:1] if (factor == factor[0]).all() else factor, prepare.limit


def _columns(vectors: NDArray[Any], order: NDArray[np.intp], layout: Layout) -> Tables:
    """The vectors by feature, segment by segment."""
    features = np.flatnonzero(vectors.any(axis=0))
    marks, ranks = marked(features, vectors.shape[1])
    starts, indices, values, at = [], [], [], 0
    for first in range(0, len(order), layout.segment):
        part = picked(vectors[:, features], order[first : first + layout.segment]).T
        held = part != 0
        held[held.mean(axis=1) >= layout.full] = True
        starts.append(at + np.concatenate([[0], np.cumsum(held.sum(axis=1))]))
        indices.append(np.nonzero(held)[1])
        values.append(part[held])
        at = int(starts[-1][-1])
    return {
        "marks": marks,
        "ranks": narrow(ranks),
        "starts": narrow(np.stack(starts)),
        "indices": narrow(np.concatenate(indices)),
        "values": np.concatenate(values),
    }


def narrow(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the smaller of two types that holds them."""
    return numbers.astype(np.uint16 if numbers.max() < 1 << 16 else np.uint32)
