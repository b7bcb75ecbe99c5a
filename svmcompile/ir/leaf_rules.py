"""Type rules of leaf sums; cases of `result_type`.

Tables may come from a file of any origin: no index in them may lead out of another table.
"""

from __future__ import annotations

import numpy as np

from svmcompile.ir.fixed_trees import FixedLeafSums
from svmcompile.ir.kinds import Kind, Type
from svmcompile.ir.leaf_layout import (
    Indices,
    columns_of,
    packed_layout,
    sums_of,
    whole,
)  # fmt: skip
from svmcompile.ir.leaf_sums import LeafSums, PackedLeaves
from svmcompile.ir.needs import (
    Tables,
    Types,
    features,
    need,
    rising,
    shapes,
    sound_degree,
    sound_kernel,
    within,
)  # fmt: skip
from svmcompile.ir.rules import result_type

MOST_CLASSES = 1 << 15  # pairs of them are counted in 32 bits


@result_type.register
def _(node: LeafSums, types: Types, tables: Tables) -> Type:
    need(node.kernel.kind != "precomputed", "leaves have vectors, which a precomputed kernel has not")
    sound_kernel(node.kernel)
    vectors, classes = sound_leaves(node, types, tables)
    coefficients = int((vectors * columns_of(node.rule, classes)).sum())
    sums = int(sums_of(node.rule, classes).sum())
    shapes(tables, weights=(node.weights, (coefficients,)), bias=(node.bias, (sums,)))
    return _scores(node)


def sound_leaves(node: LeafSums | FixedLeafSums, types: Types, tables: Tables) -> tuple[Indices, Indices]:
    """How many vectors and classes each leaf has."""
    n_leaves, classes = _leaf_classes(node, types, tables)
    starts, counts = tables[node.starts], tables[node.counts]
    n = len(tables[node.vectors])
    shapes(
        tables,
        vectors=(node.vectors, (n, features(node, types))),
        starts=(node.starts, (n_leaves + 1,)),
        counts=(node.counts, tables[node.members].shape),
    )
    rising(starts, n, "vectors")
    within(counts, n + 1, "a number of vectors")
    vectors = np.diff(whole(starts))
    need(
        bool((np.add.reduceat(whole(counts), whole(tables[node.firsts])[:-1]) == vectors).all()),
        "counts of classes do not make up the vectors of their leaf",
    )
    need(not vectors[classes == 1].any(), "a leaf of one class has vectors")
    return vectors, classes


def _leaf_classes(
    node: LeafSums | PackedLeaves | FixedLeafSums, types: Types, tables: Tables
) -> tuple[int, Indices]:
    """How many leaves there are, and how many classes each has."""
    need(types[node.leaf].kind is Kind.INDEX, f"%{node.leaf} is not an index")
    need(2 <= node.classes <= MOST_CLASSES, f"{node.classes} classes are too few or too many")
    need(node.rule != "sum" or node.classes == 2, "the rule of sums is for two classes")
    n_leaves, members, firsts = types[node.leaf].width, tables[node.members], tables[node.firsts]
    shapes(tables, firsts=(node.firsts, (n_leaves + 1,)), members=(node.members, (len(members),)))
    rising(firsts, len(members), "classes of leaves")
    within(members, node.classes, "a class")
    classes = np.diff(whole(firsts))
    need(bool((classes > 0).all()), "a leaf has no class")
    inside = np.ones(len(members), dtype=bool)
    inside[whole(firsts)[:-1]] = False  # the first of each leaf has none before it
    steps = np.diff(whole(members), prepend=-1)
    need(bool((steps[inside] > 0).all()), "the classes of a leaf are not ascending")
    return n_leaves, classes


def _scores(node: LeafSums | PackedLeaves) -> Type:
    return Type(Kind.SCORES, 1 if node.rule == "sum" else node.classes)


@result_type.register
def _(node: PackedLeaves, types: Types, tables: Tables) -> Type:
    sound_degree(node.degree)
    need(node.shape != "given", "leaves have vectors")
    n_leaves, classes = _leaf_classes(node, types, tables)
    need(tables[node.vectors].ndim == 3, "vectors are not in blocks")
    blocks, _, lanes = tables[node.vectors].shape
    need(lanes > 0, "blocks have no lanes")
    shapes(
        tables,
        vectors=(node.vectors, (blocks, features(node, types), lanes)),
        offsets=(node.offsets, (blocks * lanes if node.shape == "exp2" else 1,)),
        starts=(node.starts, (n_leaves + 1,)),
        ends=(node.ends, tables[node.members].shape),
    )
    starts = whole(tables[node.starts])
    rising(starts, int(starts[-1]), "blocks")
    need(bool(starts[-1] <= blocks), "leaves have more blocks than there are")
    _ends(node, tables, classes, np.diff(starts) * lanes)
    layout = packed_layout(node, tables)
    need(np.array_equal(whole(tables[node.places]), layout.places), "places of weights do not fit")
    need(np.array_equal(whole(tables[node.bias_firsts]), layout.bias_firsts), "biases do not fit")
    held = blocks * lanes if node.rule == "sum" else int(layout.places[-1]) + lanes
    weights, bias = tables[node.weights], tables[node.bias]
    need(weights.ndim == 1 and weights.size >= held, "weights are missing")
    need(bias.ndim == 1 and bias.size >= layout.bias_firsts[-1], "biases are missing")
    return _scores(node)


def _ends(node: PackedLeaves, tables: Tables, classes: Indices, room: Indices) -> None:
    """Vectors of a leaf's classes follow each other within its blocks."""
    ends, firsts = whole(tables[node.ends]), whole(tables[node.firsts])
    within(ends, int(room.max(initial=0)) + 1, "an end")
    before = np.concatenate([[0], ends[:-1]])
    before[firsts[:-1]] = 0
    need(bool((ends >= before).all()), "the ends of a leaf's classes do not rise")
    vectors = ends[firsts[1:] - 1]
    need(bool((vectors <= room).all()), "a leaf counts more vectors than it has")
    need(not vectors[classes == 1].any(), "a leaf of one class has vectors")
