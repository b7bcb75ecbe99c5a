"""Trees in ONNX: routes to leaves, and what leaves compute.

A tree of planes is cut in two. The planes of the upper part are multiplied
with every row at once, and the tree operator finds the way through them; below,
each row meets only the planes on its way, gathered level by level.

Each row gathers the functions of its leaf. Where leaves have several, they are
filled up to the same number with functions that are zero, and taken in portions
that bound the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.targets.onnx.graph import INDEX
from svmcompile.targets.onnx.plain_trees import UNROLLED_LEVELS, Integers
from svmcompile.targets.onnx.tree_operator import walk_tree
from svmcompile.targets.onnx.values import Values, build

UPPER_NODES = 63  # six full levels; with more planes, products for all rows cost more than gathering
PORTION = 1 << 13  # weights of leaves per row that are gathered at once
ADDING_SCATTER = 16  # the first opset whose ScatterElements adds


@build.register
def _(node: ir.AxisRoute, values: Values) -> str:
    features, thresholds = values.tables[node.features], values.tables[node.thresholds]
    ends = np.arange(len(features) + 1)
    return walk_tree(values, values.names[node.x], features, thresholds, values.tables[node.children], ends)


@build.register
def _(node: ir.PlaneRoute, values: Values) -> str:
    planes, thresholds = values.tables[node.planes], values.tables[node.thresholds]
    h = values.centred(values.names[node.x], values.tables[node.centre])
    tree = cut(values.tables[node.children], UPPER_NODES)
    place = tree.walk_upper(values, above_planes(values, h, planes[tree.upper], thresholds[tree.upper]))
    if tree.levels:
        place = _Level(values, h, planes[tree.lower], thresholds[tree.lower], tree).descend(values, place)
    return values.graph.op("Sub", place, values.index(len(tree.lower)))


def above_planes(values: Values, h: str, planes: NDArray[Any], thresholds: NDArray[Any]) -> str:
    """Value minus threshold, with the sign of the comparison: the tree operator would round a threshold."""
    products = values.same("Gemm", h, values.in_number(values.small_table(planes)), transB=1)
    return values.same("Sub", products, values.rounded(thresholds))


@dataclass(frozen=True)
class CutTree:
    """A tree in two parts. A place is a node of the lower part, or its number of nodes plus a leaf."""

    upper: Integers  # nodes
    lower: Integers  # nodes
    children: Integers  # [upper, 2]: of the upper part alone; what lies below it are ends
    ends: Integers  # the place of each end
    next: Integers  # [places, 2]: left, right; leaves stay where they are
    levels: int  # the longest way through the lower part

    def walk_upper(self, values: Values, above: str) -> str:
        """The place of every row below the upper part, from what is above zero where it goes right."""
        count = len(self.upper)
        return walk_tree(values, above, np.arange(count), np.zeros(count), self.children, self.ends)


def cut(children: Integers, size: int) -> CutTree:
    """The first nodes, level by level, are the upper part."""
    upper = np.array(_breadth_first(children)[:size])
    lower = np.setdiff1d(np.arange(len(children)), upper)
    in_upper, place_of = (np.full(len(children), -1) for _ in range(2))
    in_upper[upper], place_of[lower] = np.arange(len(upper)), np.arange(len(lower))
    inner = np.maximum(children, 0)
    places = np.where(children < 0, len(lower) + ~children, place_of[inner])
    inside = (children[upper] >= 0) & (in_upper[inner[upper]] >= 0)
    ends = ~(np.cumsum(~inside).reshape(inside.shape) - 1)  # numbered as they are met
    leaves = len(lower) + np.arange(len(children) + 1)
    return CutTree(
        upper=upper,
        lower=lower,
        children=np.where(inside, in_upper[inner[upper]], ends),
        ends=places[upper][~inside],
        next=np.vstack([places[lower], np.stack([leaves, leaves], axis=1)]),
        levels=_levels(children, lower),
    )


def _breadth_first(children: Integers) -> list[int]:
    order = [0]
    for node in order:  # grows meanwhile
        order += [int(child) for child in children[node] if child >= 0]
    return order


def _levels(children: Integers, nodes: Integers) -> int:
    """The longest way through some nodes, which come before their children."""
    depth = np.zeros(len(children), dtype=np.intp)
    depth[nodes] = 1
    for node in nodes:
        below = children[node][children[node] >= 0]
        depth[below] = depth[node] + 1
    return int(depth.max())


class _Level:
    """What one step down the lower part reads: rows, and tables by place."""

    def __init__(
        self, values: Values, h: str, planes: NDArray[Any], thresholds: NDArray[Any], tree: CutTree
    ) -> None:
        self.h, self.nodes, self.levels = h, len(planes), tree.levels
        padded = np.concatenate([thresholds, np.zeros(len(tree.next) - len(thresholds))])
        self.planes, self.thresholds = (
            values.small_table(planes),
            values.graph.constant(values.rounded(padded)),
        )
        self.left, self.right = (values.graph.constant(side) for side in tree.next.T.astype(INDEX))

    def descend(self, values: Values, place: str) -> str:
        """The places of leaves, from places below the upper part."""
        if self.levels > UNROLLED_LEVELS:
            return self._loop(values, place)
        for _ in range(self.levels):
            place = self.step(values, place)
        return place

    def step(self, values: Values, place: str) -> str:
        """The place of every row one level below; rows at leaves compute in vain."""
        graph = values.graph
        plane = values.gather(self.planes, graph.op("Min", place, values.index(self.nodes - 1)))
        value = values.row_dots(values.in_number(plane), self.h)
        above = graph.op(
            "Greater", values.column(value), graph.op("Gather", self.thresholds, place, axis=0)
        )
        sides = [graph.op("Gather", side, place, axis=0) for side in (self.right, self.left)]
        return graph.op("Where", above, *sides)

    def _loop(self, values: Values, place: str) -> str:
        """The place after all levels, or as many steps as lead every row to a leaf."""
        body = values.graph.nested(INDEX)
        inside = values.within(body)
        after = self.step(inside, body.argument)
        most = values.graph.constant(np.array(self.levels, np.int64))
        unfinished = inside.any(body.op("Less", after, inside.index(self.nodes)))
        return values.graph.loop(most, place, body, unfinished, after)


@build.register
def _(node: ir.LeafAffine, values: Values) -> str:
    tables, x, leaf = values.tables, values.names[node.x], values.names[node.leaf]
    bias = values.wide(values.gather(values.number_table(tables[node.bias]), leaf))
    functions = functions_of_leaves(tables[node.starts])
    h = values.centred(x, tables[node.centre])
    dots = _dots(values, node, h, leaf, functions)
    sums = np.append(tables[node.sums], 0)[functions].astype(INDEX)
    out = _added(values, bias, leaf, dots, sums, tables[node.bias].shape[1])
    return values.poisoned(x, tables[node.weights].shape[1], out)


def functions_of_leaves(starts: NDArray[Any]) -> NDArray[np.intp]:
    """[leaves, most functions of a leaf]: filled up with the number of functions."""
    first, counts = starts[:-1].astype(np.intp), np.diff(starts.astype(np.intp))
    place = np.arange(counts.max())
    return np.where(place < counts[:, None], first[:, None] + place, int(starts[-1]))


def _dots(values: Values, node: ir.LeafAffine, h: str, leaf: str, functions: NDArray[np.intp]) -> str:
    """Double [rows, most functions]: each function of the row's leaf, without bias."""
    weights, units = values.tables[node.weights], values.tables[node.units]
    if functions.max() == len(weights):  # some leaf has fewer: a function that is zero
        weights, units = np.vstack([weights, np.zeros_like(weights[:1])]), np.append(units, 1.0)
    size = max(1, PORTION // weights.shape[1])
    portions = [functions[:, at : at + size] for at in range(0, functions.shape[1], size)]
    table = values.small_table(weights)
    parts = [_portion(values, h, leaf, portion, table, units) for portion in portions]
    return parts[0] if len(parts) == 1 else values.graph.op("Concat", *parts, axis=1)


def _portion(
    values: Values, h: str, leaf: str, functions: NDArray[np.intp], table: str, units: NDArray[Any]
) -> str:
    """Double [rows, functions]."""
    graph = values.graph
    one = functions.shape[1] == 1
    chosen = leaf
    if not one or (functions[:, 0] != np.arange(len(functions))).any():
        ids = functions[:, 0] if one else functions
        chosen = values.by(ids.astype(INDEX), leaf)
    weights = values.in_number(values.gather(table, chosen))
    dots = values.wide(values.row_dots(weights, h) if one else values.products(weights, h))
    if (units == 1).all():
        return dots
    by_leaf = values.number_table(units[functions])
    return graph.op("Mul", dots, values.wide(values.gather(by_leaf, leaf)))


def _added(values: Values, bias: str, leaf: str, dots: str, sums: NDArray[Any], width: int) -> str:
    """Scores [rows, width]: the bias, and each dot product added to its sum."""
    if sums.shape[1] == width and (sums == np.arange(width)).all():
        return values.graph.op("Add", bias, dots)
    targets = values.by(sums, leaf)
    if values.graph.opset < ADDING_SCATTER:  # a column of zeros and ones for each dot product instead
        graph, last = values.graph, values.integers(2)
        ours = graph.op("Equal", graph.op("Unsqueeze", targets, last), np.arange(width, dtype=INDEX))
        parts = graph.op("Where", ours, graph.op("Unsqueeze", dots, last), 0.0)
        return graph.op("Add", bias, graph.op("ReduceSum", parts, values.integers(1), keepdims=0))
    return values.graph.op("ScatterElements", bias, targets, dots, axis=1, reduction="add")


@build.register
def _(node: ir.OneLeaf, values: Values) -> str:
    """A zero for each row, made from the row so that their number fits."""
    zeros = values.graph.op("Mul", values.wide(values.names[node.x]), 0.0)
    known = values.graph.op("Where", values.graph.op("IsNaN", zeros), 0.0, zeros)
    return values.cast(values.graph.op("ReduceSum", known, values.integers(1), keepdims=0), INDEX)
