"""Heads that give probabilities, in ONNX: all in double, rounded when they leave."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.row_functions import LEAST, MOST
from svmcompile.targets.onnx.build import build
from svmcompile.targets.onnx.values import DOUBLE, Array, Values


@build.register
def _(node: ir.Beside, values: Values) -> str:
    left, right = (values.wide(values.names[name]) for name in (node.left, node.right))
    return values.graph.op("Concat", left, right, axis=1)


@build.register
def _(node: ir.Columns, values: Values) -> str:
    columns = values.integers(*values.tables[node.columns].tolist())
    return values.graph.op("Gather", values.wide(values.names[node.values]), columns, axis=1)


@build.register
def _(node: ir.Shifted, values: Values) -> str:
    by = values.graph.constant(values.tables[node.by])
    return values.graph.op("Add", values.wide(values.names[node.scores]), by)


@build.register
def _(node: ir.Sigmoid, values: Values) -> str:
    """With e = exp(-|z|): e / (1 + e) or 1 / (1 + e)."""
    graph, scores = values.graph, values.wide(values.names[node.scores])
    slopes, offsets = (graph.constant(values.tables[name]) for name in (node.slopes, node.offsets))
    z = graph.op("Add", graph.op("Mul", scores, slopes), offsets)
    e = graph.op("Exp", graph.op("Neg", graph.op("Abs", z)))
    one = values.scalar(1.0)
    above = graph.op("Where", graph.op("GreaterOrEqual", z, values.scalar(0.0)), e, one)
    p = graph.op("Div", above, graph.op("Add", one, e))
    return values.with_nan_of(z, values.clip(p, node.floor, 1.0 - node.floor)) if node.floor else p


@build.register
def _(node: ir.Isotonic, values: Values) -> str:
    scores = values.wide(values.names[node.scores])
    starts = values.tables[node.starts]
    columns = []
    for column in range(len(starts) - 1):
        part = slice(starts[column], starts[column + 1])
        x = values.graph.op("Gather", scores, values.integers(column), axis=1)
        lines = _along_lines(values, x, values.tables[node.knots][part], values.tables[node.levels][part])
        columns.append(lines)
    return values.graph.op("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]


def _along_lines(values: Values, x: str, knots: Array, levels: Array) -> str:
    """Between the last knot below x and the next; the ends are level."""
    graph = values.graph
    held = values.with_nan_of(x, values.clip(x, float(knots[0]), float(knots[-1])))
    below = _count(values, graph.op("Less", graph.constant(knots[1:-1]), held), len(knots) - 2)
    spans = np.diff(knots)
    slopes = np.diff(levels) / np.where(spans > 0, spans, np.inf)
    slope, start, level = (
        graph.op("Gather", graph.constant(table), below) for table in (slopes, knots[:-1], levels[:-1])
    )
    return graph.op("Add", graph.op("Mul", slope, graph.op("Sub", held, start)), level)


def _count(values: Values, truths: str, width: int) -> str:
    """How many of a row's are true, [N, 1]; by a product, which does without rows too."""
    if not width:
        return values.integers(0)
    sums = _total(values, values.cast(truths, DOUBLE), width)
    return values.cast(sums, np.dtype(np.int64))


def _total(values: Values, tensor: str, width: int) -> str:
    """Sums over the last axis, which is kept."""
    return values.graph.op("MatMul", tensor, values.graph.constant(np.ones((width, 1))))


@build.register
def _(node: ir.Density, values: Values) -> str:
    """As many marks but the first as are not above the score tell its place."""
    graph, score, marks = values.graph, values.wide(values.names[node.score]), values.tables[node.marks]
    count = len(marks)
    places = np.arange(1, count + 1) / count
    places[-1] = 0.0
    met = graph.op("GreaterOrEqual", score, graph.constant(marks[1:]))
    inlier = graph.op("Gather", graph.constant(places), _count(values, met, count - 1))
    last, first = values.scalar(marks[-1]), values.scalar(marks[0])
    inlier = graph.op("Where", graph.op("Less", score, first), values.scalar(LEAST), inlier)
    inlier = graph.op("Where", graph.op("Greater", score, last), values.scalar(MOST), inlier)
    inlier = values.with_nan_of(score, inlier)
    return graph.op("Concat", graph.op("Sub", values.scalar(1.0), inlier), inlier, axis=1)


@build.register
def _(node: ir.Complement, values: Values) -> str:
    graph, p = values.graph, values.names[node.chances]
    width = values.types[node.chances].width
    both = [
        graph.op("Unsqueeze", q, values.integers(2)) for q in (graph.op("Sub", values.scalar(1.0), p), p)
    ]
    return graph.op("Reshape", graph.op("Concat", *both, axis=2), values.integers(0, 2 * width))


@build.register
def _(node: ir.Shares, values: Values) -> str:
    graph, width = values.graph, values.types[node.chances].width
    parts = _grouped(values, values.names[node.chances], node.groups, width)
    total = _total(values, parts, width // node.groups)
    none = graph.op("Equal", total, values.scalar(0.0))
    shares = graph.op("Where", none, values.scalar(node.empty), graph.op("Div", parts, total))
    return graph.op("Reshape", shares, values.integers(0, width))


@build.register
def _(node: ir.Mean, values: Values) -> str:
    """Added up in order, so that ties stay ties; a product could not be divided, since ONNX Runtime
    makes one operator of the two, whose divisor is a float32."""
    graph, p = values.graph, values.names[node.chances]
    size = values.types[node.out].width
    runs = [range(at * size, (at + 1) * size) for at in range(node.groups)]
    parts = [graph.op("Gather", p, values.integers(*run), axis=1) for run in runs]
    total = parts[0]
    for part in parts[1:]:
        total = graph.op("Add", total, part)
    return graph.op("Div", total, values.scalar(float(node.groups)))


def _grouped(values: Values, tensor: str, groups: int, width: int) -> str:
    """[N, width] as [N, groups, width / groups]."""
    return values.graph.op("Reshape", tensor, values.integers(0, groups, width // groups))
