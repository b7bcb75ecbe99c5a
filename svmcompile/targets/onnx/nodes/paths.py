"""Trees of kernel tests in ONNX: rows go in, the sums of their paths come out.

As with planes, the tree is cut in two: kernel values of the upper part are computed for every row
at once and the tree operator finds the way through them; below, each row meets only the vectors on
its way, gathered level by level. What was met is then weighed by the leaf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.walks import path_nodes
from svmcompile.targets.onnx.graph import DOUBLE, INDEX, Array
from svmcompile.targets.onnx.nodes.sums import is_constant, kernel_values, poisoned, power
from svmcompile.targets.onnx.nodes.trees import UPPER_NODES, CutTree, cut
from svmcompile.targets.onnx.plain_trees import Integers
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.PathSum, values: Values) -> str:
    tables = values.tables
    children = tables[node.children]
    routes = path_nodes(children)
    vectors = met_vectors(tables[node.picks], routes)
    tree = cut(children, UPPER_NODES)
    walk = _Walk(values, node, tree, vectors)
    place = walk.upper()
    met = [walk.kernel]
    for _ in range(tree.levels):
        value, place = walk.step(place)
        met.append(value)
    leaf = values.graph.op("Sub", place, values.index(len(tree.lower)))
    sums, values_met, levels = walk.weigh(routes, met, leaf)
    return poisoned(values, node, values_met, levels, sums)


def met_vectors(picks: Integers, routes: list[list[int]]) -> Integers:
    """The vector each node meets, those met before included."""
    found = picks.astype(np.int64)
    for route in routes:
        for node in route:
            if picks[node] < 0:
                found[node] = found[route[~picks[node]]]
    return found


@dataclass
class _Walk:
    """The way of every row through the tree, and the kernel values of the upper part."""

    values: Values
    node: ir.PathSum
    tree: CutTree
    vectors: Integers  # of each node
    kernel: str = ""  # [N, upper nodes]

    def upper(self) -> str:
        """The place of every row below the upper part."""
        values, tree, tables = self.values, self.tree, self.values.tables
        x, vectors = values.names[self.node.x], tables[self.node.vectors][self.vectors[tree.upper]]
        self.kernel = _upper_values(values, x, vectors, self.node.kernel)
        thresholds = values.graph.constant(tables[self.node.thresholds][tree.upper])
        # The tree operator would round the threshold; the difference has the same sign.
        return tree.walk_upper(values, values.graph.op("Sub", self.kernel, thresholds))

    def step(self, place: str) -> tuple[str, str]:
        """The kernel value met at every row's place, zero at leaves, and the place below."""
        values, tree, graph = self.values, self.tree, self.values.graph
        vector = graph.op("Gather", self._by_place(self.vectors[tree.lower].astype(INDEX)), place, axis=0)
        value = self._value(vector)
        inside = graph.op(
            "Unsqueeze", graph.op("Less", place, values.index(len(tree.lower))), values.integers(1)
        )
        value = graph.op("Where", inside, value, 0.0)
        thresholds = self._by_place(values.tables[self.node.thresholds][tree.lower])
        above = graph.op("Greater", values.column(value), graph.op("Gather", thresholds, place, axis=0))
        sides = [values.by(tree.next[:, side].astype(INDEX), place) for side in (1, 0)]
        return value, graph.op("Where", above, *sides)

    def _value(self, vector: str) -> str:
        """Kernel of every row with the vector of that number, [N, 1] in double."""
        values, x = self.values, self.values.names[self.node.x]
        table = values.tables[self.node.vectors]
        if self.node.kernel.kind == "precomputed":
            points = values.by(table.astype(np.int64), vector)
            return values.wide(values.same("GatherElements", x, points, axis=1))
        rows = values.gather(values.number_table(table), vector)
        return _pair_values(values, x, values.wide(rows), self.node.kernel)

    def _by_place(self, table: NDArray[np.generic]) -> str:
        """A table of the lower nodes, filled up with zeros for the leaves."""
        filling = np.zeros(len(self.tree.next) - len(table), table.dtype)
        return self.values.graph.constant(np.concatenate([table, filling]))

    def weigh(self, routes: list[list[int]], met: list[str], leaf: str) -> tuple[str, str, int]:
        """bias + weights . values met, by leaf, those values, and how many they are.

        Upper values are found by column, lower ones by level.
        """
        values, graph = self.values, self.values.graph
        columns, weights = self._leaf_tables(routes)
        values_met = graph.op("GatherElements", met[0], values.by(columns, leaf), axis=1)
        if met[1:]:
            values_met = graph.op("Concat", values_met, *met[1:], axis=1)
        bias, by_leaf = (
            values.by(values.tables[self.node.bias], leaf),
            values.by(weights, leaf),
        )  # [N, m], [N, m, levels]
        terms = graph.op("Mul", by_leaf, graph.op("Unsqueeze", values_met, values.integers(1)))
        sums = graph.op("Add", bias, graph.op("ReduceSum", terms, values.integers(2), keepdims=0))
        return sums, values_met, weights.shape[2]

    def _leaf_tables(self, routes: list[list[int]]) -> tuple[NDArray[np.int64], Array]:
        """By leaf: columns of the upper values on its way, and the weights of upper, then lower values."""
        node, tree, tables = self.node, self.tree, self.values.tables
        starts, weights = tables[node.starts], tables[node.weights]
        place = {int(n): at for at, n in enumerate(tree.upper)}
        most = max(sum(n in place for n in route) for route in routes)
        columns = np.zeros((len(routes), most), np.int64)
        spread = np.zeros((len(routes), weights.shape[1], most + tree.levels), DOUBLE)
        for leaf, route in enumerate(routes):
            above = sum(n in place for n in route)  # the upper part is the beginning of every way
            columns[leaf, :above] = [place[n] for n in route[:above]]
            for level, row in enumerate(weights[starts[leaf] : starts[leaf + 1]]):
                spread[leaf, :, level if level < above else most + level - above] = row
        return columns, spread


def _upper_values(values: Values, x: str, vectors: Array, kernel: Kernel) -> str:
    """Kernel of every row with every vector, in double."""
    if kernel.kind == "linear":
        return values.product(values.wide(x), vectors, np.zeros(len(vectors)))
    if is_constant(kernel):
        return values.product(values.wide(x), np.zeros_like(vectors), np.ones(len(vectors)))
    return kernel_values(values, x, vectors, kernel)


def _pair_values(values: Values, x: str, vectors: str, kernel: Kernel) -> str:
    """Kernel of every row with the vector gathered for it, [N, 1] in double."""
    graph, wide = values.graph, values.wide(x)
    if kernel.kind == "rbf":
        away = graph.op("Sub", wide, vectors)
        return graph.op("Exp", graph.op("Mul", values.row_dots(away, away), -kernel.gamma))
    dots = values.row_dots(wide, vectors)
    if kernel.kind == "linear":
        return dots
    if is_constant(kernel):
        return graph.op("Add", graph.op("Mul", dots, 0.0), 1.0)
    inner = graph.op("Mul", dots, kernel.gamma)
    inner = graph.op("Add", inner, kernel.coef0)
    return graph.op("Tanh", inner) if kernel.kind == "sigmoid" else power(values, inner, kernel.degree)
