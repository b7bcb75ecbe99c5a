"""Taylor polynomials about centres in ONNX, in double: rows that are not sure go on to the next order."""

from __future__ import annotations

import numpy as np

from svmcompile.emit.onnx_build import build, build_needed
from svmcompile.emit.onnx_values import INDEX, Array, Values
from svmcompile.ir import nodes as ir


@build.register
def _(node: ir.OneLeaf, values: Values) -> str:
    """A zero for each row, made from the row so that their number fits."""
    zeros = values.graph.op("Mul", values.wide(values.names[node.x]), values.scalar(0.0))
    known = values.graph.op("Where", values.graph.op("IsNaN", zeros), values.scalar(0.0), zeros)
    return values.cast(values.graph.op("ReduceSum", known, values.integers(1), keepdims=0), INDEX)


@build.register
def _(node: ir.TaylorSum, values: Values) -> str:
    result, place = _score(values, node, 0)
    unsure = _unsure(values, node, 0, result, place)
    for order in range(1, values.tables[node.lows].shape[0]):
        part = _part(values, unsure)
        score, place = _score(part, node, order)
        result = _placed(values, result, unsure, score)
        left = values.graph.op("Squeeze", _unsure(part, node, order, score, place), values.integers(0))
        unsure = values.graph.op("Gather", unsure, left, axis=1)
    part = _part(values, unsure)
    build_needed(part, [node.exact])
    return _placed(values, result, unsure, part.wide(part.names[node.exact]))


def _part(values: Values, places: str) -> Values:
    """The rows at the places [1, some]."""
    return values.of_rows(values.graph.op("Squeeze", places, values.integers(0)))


def _placed(values: Values, result: str, places: str, some: str) -> str:
    """`result` with the rows at the places replaced."""
    return values.graph.op("ScatterND", result, values.graph.op("Transpose", places), some)


def _score(values: Values, node: ir.TaylorSum, order: int) -> tuple[str, str]:
    """The score of an order, [rows, 1], and the place of each row's distance among the cells, [rows]."""
    graph, tables, leaf = values.graph, values.tables, values.names[node.leaf]

    def of_leaf(table: Array) -> str:
        return graph.op("Gather", graph.constant(table), leaf, axis=0)

    h = graph.op("Sub", values.wide(values.names[node.x]), of_leaf(tables[node.centres]))
    u = graph.op("Mul", values.row_dots(h, h), values.scalar(node.gamma))
    inner = values.row_dots(h, of_leaf(tables[node.slopes]))
    inner = graph.op("Add", inner, of_leaf(tables[node.constants][:, None]))
    if order > 0:
        inner = graph.op("Add", inner, _quadratic(values, node, h))
    if order > 1:
        inner = graph.op("Add", inner, _cubic(values, node, h))
    fade = graph.op("Exp", graph.op("Neg", u))
    score = graph.op("Add", graph.op("Mul", fade, inner), graph.constant(tables[node.bias]))
    return score, values.column(graph.op("Mul", u, of_leaf(tables[node.steps][:, None])))


def _quadratic(values: Values, node: ir.TaylorSum, h: str) -> str:
    """The quadratic form of the row's leaf, [rows, 1]."""
    graph, (leaves, d) = values.graph, values.tables[node.centres].shape
    full = np.zeros((leaves, d, d))
    second, first = np.tril_indices(d)
    full[:, first, second] = values.tables[node.squares]
    if leaves == 1:
        return values.row_dots(graph.op("MatMul", h, graph.constant(full[0])), h)
    forms = graph.op("Gather", graph.constant(full), values.names[node.leaf], axis=0)
    rows = graph.op("MatMul", graph.op("Unsqueeze", h, values.integers(1)), forms)
    return values.row_dots(graph.op("Squeeze", rows, values.integers(1)), h)


def _cubic(values: Values, node: ir.TaylorSum, h: str) -> str:
    """The cubic form of the row's leaf, [rows, 1]: for each h_c a quadratic form of those up to it."""
    graph, (leaves, d) = values.graph, values.tables[node.centres].shape
    full = np.zeros((leaves, d, d, d))
    at = 0
    for c in range(d):
        second, first = np.tril_indices(c + 1)
        full[:, c, first, second] = values.tables[node.cubes][:, at : at + len(first)]
        at += len(first)
    flat = full.reshape(leaves, d * d, d)
    table = graph.constant(flat[:1] if leaves == 1 else flat)
    chosen = table if leaves == 1 else graph.op("Gather", table, values.names[node.leaf], axis=0)
    column = graph.op("Unsqueeze", h, values.integers(2))
    inner = graph.op("Reshape", graph.op("MatMul", chosen, column), values.integers(-1, d, d))
    middle = graph.op("Squeeze", graph.op("MatMul", inner, column), values.integers(2))
    return values.row_dots(middle, h)


def _unsure(values: Values, node: ir.TaylorSum, order: int, scores: str, place: str) -> str:
    """Places [1, some] of the rows whose sign is not sure; NaN and rows beyond the cells are not."""
    graph, score, zero = values.graph, values.column(scores), values.scalar(0.0)
    cells = values.tables[node.lows].shape[2]
    inside = graph.op("Less", place, values.scalar(float(cells)))
    cell = values.cast(graph.op("Where", inside, place, zero), INDEX)
    start = graph.op("Mul", values.names[node.leaf], graph.constant(np.array(cells, INDEX)))
    index = graph.op("Add", start, cell)
    low, high = (
        graph.op("Gather", graph.constant(values.tables[name][order].ravel()), index, axis=0)
        for name in (node.lows, node.highs)
    )
    above = graph.op("Greater", graph.op("Add", score, low), zero)
    below = graph.op("Less", graph.op("Add", score, high), zero)
    sure = graph.op("And", inside, graph.op("Or", above, below))
    return graph.op("NonZero", graph.op("Not", sure))
