"""Taylor polynomials about centres in ONNX, in double: rows that are not sure go on to the next order."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.targets.onnx.graph import INDEX, Array
from svmcompile.targets.onnx.nodes.decisions import settled
from svmcompile.targets.onnx.values import Values, build, build_needed


@build.register
def _(node: ir.TaylorSum, values: Values) -> str:
    return _from_order(values, node, 0)


def _from_order(values: Values, node: ir.TaylorSum, number: int) -> str:
    """The sums of rows that no order before this one is sure of."""
    if number == len(values.tables[node.margins]):
        exact = settled(values, node.exact)
        build_needed(values, [exact])
        return values.wide(values.names[exact])
    order = Order(values, node, number)
    unsure = order.unsure()
    return values.put(order.score, unsure, _from_order(_part(values, unsure), node, number + 1))


def _part(values: Values, places: str) -> Values:
    """The rows at the places [1, some]."""
    return values.of_rows(values.graph.op("Squeeze", places, values.integers(0)))


class Order:
    """One order of some rows: its scores, and which of them are sure.

    Gates save work of C, which goes row by row. Here a row that a gate would turn away is tried: it has
    the sign of the exact sum either way.
    """

    def __init__(self, values: Values, node: ir.TaylorSum, order: int) -> None:
        self.values, self.node, self.order = values, node, order
        graph, tables = values.graph, values.tables
        h = graph.op("Sub", values.wide(values.names[node.x]), self.of_leaf(tables[node.centres]))
        square = values.row_dots(h, h)
        self.u = graph.op("Mul", square, node.gamma)
        self.fade = graph.op("Exp", graph.op("Neg", self.u)) if node.fades else ""
        self.loose = ""
        inner = values.row_dots(h, self.of_leaf(tables[node.slopes]))
        inner = graph.op("Add", inner, self.of_leaf(tables[node.constants][:, None]))
        if order > 0:
            y = self.along(h, square) if tables[node.axes].ndim > 1 else h
            if self.loose:
                middle = graph.op("Mul", self.left, self.of_leaf(tables[node.middles][:, None]))
                inner = graph.op("Add", inner, middle)
            inner = graph.op("Add", inner, self.quadratic(y))
            if order > 1:
                inner = graph.op("Add", inner, self.cubic(y))
        self.score = graph.op("Add", self.faded(inner), tables[node.bias])

    def faded(self, value: str) -> str:
        return self.values.graph.op("Mul", self.fade, value) if self.fade else value

    def of_leaf(self, table: Array) -> str:
        return self.values.by(table, self.values.names[self.node.leaf])

    def along(self, h: str, square: str) -> str:
        """Coordinates along the row's axes, [rows, r]; what they leave, and its bound, on the way."""
        graph, values, tables = self.values.graph, self.values, self.values.tables
        y = self._turned(h, tables[self.node.axes])
        own = values.row_dots(y, y)
        whole = graph.op("Mul", square, 1 + self.node.slack)
        self.left = graph.op("Max", graph.op("Sub", whole, own), 0.0)
        products = [graph.op("Mul", one, self.left) for one in (own, self.left)]
        terms = graph.op("Concat", own, self.left, *products, axis=1)
        bound = self.of_leaf(tables[self.node.loose][self.order - 1])
        self.loose = self.faded(values.row_dots(terms, bound))
        return y

    def _turned(self, h: str, matrices: Array) -> str:
        """The product of each leaf's matrix [leaves, r, d] and the row."""
        graph, values = self.values.graph, self.values
        if len(matrices) == 1:
            return graph.op("MatMul", h, matrices[0].T.copy())
        column = graph.op("Unsqueeze", h, values.integers(2))
        return graph.op("Squeeze", graph.op("MatMul", self.of_leaf(matrices), column), values.integers(2))

    def quadratic(self, y: str) -> str:
        """The quadratic form of the row's leaf, [rows, 1]."""
        squares = self.values.tables[self.node.squares]
        width = self._width()
        full = np.zeros((len(squares), width, width))
        second, first = np.tril_indices(width)
        full[:, first, second] = squares
        return self.values.row_dots(self._turned(y, full), y)

    def cubic(self, y: str) -> str:
        """The cubic form of the row's leaf, [rows, 1]: for each y_c a quadratic form of those up to it."""
        graph, values, width = self.values.graph, self.values, self._width()
        cubes = values.tables[self.node.cubes]
        full, at = np.zeros((len(cubes), width, width, width)), 0
        for c in range(width):
            second, first = np.tril_indices(c + 1)
            full[:, c, first, second] = cubes[:, at : at + len(first)]
            at += len(first)
        inner = self._turned(y, full.reshape(len(cubes), width * width, width))
        inner = graph.op("Reshape", inner, values.integers(-1, width, width))
        return values.row_dots(values.products(inner, y), y)

    def _width(self) -> int:
        tables = self.values.tables
        axes = tables[self.node.axes]
        return int(axes.shape[1] if axes.ndim > 1 else tables[self.node.centres].shape[1])

    def unsure(self) -> str:
        """Places [1, some] of the rows whose sign is not sure; NaN and rows beyond the cells are not."""
        graph, values, node = self.values.graph, self.values, self.node
        tables, zero = values.tables, values.scalar(0.0)
        cells = tables[node.gaps].shape[2]
        place = values.column(graph.op("Mul", self.u, self.of_leaf(tables[node.steps][:, None])))
        inside = graph.op("Less", place, float(cells))
        cell = values.cast(graph.op("Where", inside, place, zero), INDEX)
        score = values.column(self.score)
        index = graph.op("Mul", values.names[node.leaf], values.index(cells))
        index = graph.op("Mul", graph.op("Add", index, cell), values.index(2))
        index = graph.op("Add", index, values.cast(graph.op("Less", score, zero), INDEX))
        gap = values.by(tables[node.gaps][self.order].ravel(), index)
        gap = graph.op("Mul", gap, values.column(self.u))
        gap = graph.op("Add", gap, self.of_leaf(tables[node.margins][self.order]))
        if self.loose:
            gap = graph.op("Add", gap, values.column(self.loose))
        sure = graph.op("And", inside, graph.op("Greater", graph.op("Abs", score), gap))
        return graph.op("NonZero", graph.op("Not", sure))
