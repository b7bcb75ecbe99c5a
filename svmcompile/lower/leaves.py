"""Leaf sums as `PackedLeaves`: kernel folded into the tables, each leaf in whole blocks of lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import Tables, fresh
from svmcompile.ir.leaf_layout import columns_of, leaves, running, sums_of
from svmcompile.ir.node import At
from svmcompile.ir.nodes import CsrLeaves, KernelSum, LeafSums, PackedLeaves, PackedSum
from svmcompile.ir.program import Program
from svmcompile.ir.whole_numbers import whole
from svmcompile.lower.sums import FAR, LANES, Lowered, in_lanes, pack, picked

Indices = NDArray[np.int64]


def pack_leaves(program: Program, node: LeafSums, number: Number, profile: str) -> Lowered:
    """The machine nodes and tables of leaf sums."""
    lanes = LANES[number] if profile == "host" else 1
    # What folds the kernel into vectors and row is the same as for a sum over all vectors.
    alike = KernelSum(node.out, node.x, node.vectors, node.weights, node.bias, node.kernel)
    nodes, folded = pack(program, alike, number)
    packed = nodes[-1]
    assert isinstance(packed, PackedSum)
    tables = program.tables
    order, starts = block_order(whole(tables[node.starts]), lanes)
    classes = np.diff(whole(tables[node.firsts]))
    derived = {
        "ends": leaf_ends(node, program),
        "places": starts * lanes if node.rule == "sum" else leaf_places(node, program),
        "bias_firsts": running(sums_of(node.rule, classes)),
    }
    names = {end: fresh(node.out, end, set(tables) | set(folded)) for end in derived}
    with_zero = np.pad(folded[node.vectors], ((0, 1), (0, 0)))  # there may be none
    made: Tables = {
        **{key: table for key, table in folded.items() if key not in (node.weights, node.bias)},
        **{names[end]: table for end, table in derived.items()},
        node.vectors: in_lanes(picked(with_zero, order), lanes),
        node.starts: starts,
        node.members: tables[node.members],
        node.firsts: tables[node.firsts],
        node.weights: leaf_weights(node, program, order, lanes),
        node.bias: not_empty(tables[node.bias]),
    }
    if packed.shape == "exp2":
        made[packed.offsets] = np.where(order < 0, FAR, np.append(folded[packed.offsets], FAR)[order])
    leaf_sums = PackedLeaves(
        node.out, packed.x, node.leaf, node.vectors, packed.offsets, node.starts, node.members, node.firsts,
        names["ends"], node.weights, names["places"], node.bias, names["bias_firsts"], node.rule,
        node.classes, packed.shape, packed.degree,
    )  # fmt: skip
    return [*nodes[:-1], leaf_sums], made


def block_order(starts: Indices, lanes: int) -> tuple[Indices, Indices]:
    """The vectors in the order of the blocks, -1 for what fills up, and where each leaf's blocks start.

    C has no empty tables, so there is always a block.
    """
    counts = np.diff(starts)
    blocks = -(-counts // lanes)
    order = np.full(max(1, int(blocks.sum())) * lanes, -1)
    first = running(blocks)
    slots = np.arange(len(order))[: int(blocks.sum()) * lanes]
    leaf = np.repeat(np.arange(len(counts)), blocks * lanes)
    place = slots - first[leaf] * lanes
    order[slots] = np.where(place < counts[leaf], starts[leaf] + place, -1)
    return order, first


def leaf_ends(node: LeafSums | CsrLeaves, program: Program) -> Indices:
    """Vectors of each leaf up to and with each of its classes."""
    parts = [np.cumsum(leaf.counts) for leaf in leaves(At(node, program.tables))]
    return np.concatenate(parts)


def leaf_places(node: LeafSums | CsrLeaves, program: Program) -> Indices:
    columns = columns_of(node.rule, np.diff(whole(program.tables[node.firsts])))
    return running(np.diff(whole(program.tables[node.starts])) * columns)


def leaf_weights(node: LeafSums | CsrLeaves, program: Program, order: Indices, lanes: int) -> NDArray[Any]:
    weights = program.tables[node.weights]
    if node.rule == "sum":
        return picked(np.append(weights, 0.0)[:, None], order)[:, 0]
    return np.append(weights, np.zeros(lanes))


def not_empty(table: NDArray[Any]) -> NDArray[Any]:
    """The table, or a zero: C has no empty ones."""
    return table if table.size else np.zeros(1, table.dtype)
