"""Curves of features in ONNX, in double: how many knots are not above a feature tells its piece."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.targets.onnx.nodes.probabilities import count_true
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.Pieces, values: Values) -> str:
    return _all_curves(node, values, values.wide(values.names[node.x]))


@build.register
def _(node: ir.PeriodicPieces, values: Values) -> str:
    graph, tables = values.graph, values.tables
    periods = tables[node.periods]
    period = graph.constant(np.where(periods > 0, periods, 1.0))
    away = graph.op("Sub", values.wide(values.names[node.x]), graph.constant(tables[node.origins]))
    left = graph.op("Sub", away, graph.op("Mul", graph.op("Floor", graph.op("Div", away, period)), period))
    left = graph.op("Where", graph.op("Less", left, 0.0), graph.op("Add", left, period), left)
    over = graph.op("GreaterOrEqual", left, period)
    left = graph.op("Where", over, graph.op("Sub", left, period), left)
    return _all_curves(node, values, graph.op("Where", graph.constant(periods > 0), left, away))


def _all_curves(node: ir.Pieces, values: Values, rows: str) -> str:
    graph, tables = values.graph, values.tables
    starts, parts = tables[node.starts], []
    for column in range(len(starts) - 1):
        start, stop = int(starts[column]), int(starts[column + 1])
        x = graph.op("Gather", rows, values.integers(column), axis=1)
        knots, levels = tables[node.knots][start:stop], tables[node.levels][start:stop]
        parts.append(
            _curves(values, x, knots, levels, tables[node.pieces][start + column : stop + column + 1])
        )
    return graph.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]


def _curves(values: Values, x: str, knots: Array, levels: Array, pieces: Array) -> str:
    graph, curves = values.graph, levels.shape[1]
    count = count_true(values, graph.op("LessOrEqual", graph.constant(knots), x), len(knots))
    piece = graph.op("Reshape", count, values.integers(-1))

    def held(table: NDArray[np.float64]) -> str:
        return graph.op("Gather", graph.constant(np.ascontiguousarray(table)), piece, axis=0)

    before = np.maximum(np.arange(len(pieces)) - 1, 0)
    knot = held(knots[before][:, None])
    h = graph.op("Sub", x, knot)
    powers = [held(pieces[:, at : at + curves]) for at in range(0, pieces.shape[1], curves)]
    out = powers.pop()
    while powers:
        out = graph.op("Add", graph.op("Mul", out, h), powers.pop())
    out = graph.op("Where", graph.op("Equal", x, knot), held(levels[before]), out)
    return graph.op("Add", graph.op("Mul", x, 0.0), out)
