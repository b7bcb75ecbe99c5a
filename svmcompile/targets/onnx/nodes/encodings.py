"""Flags of features in ONNX: compared in double, so that numbers are what they are."""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.targets.onnx.graph import DOUBLE
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.Matches, values: Values) -> str:
    graph, tables = values.graph, values.tables
    columns = values.integers(*tables[node.columns].tolist())
    x = values.wide(graph.op("Gather", values.wide(values.names[node.x]), columns, axis=1))
    held = graph.constant(tables[node.values])
    flags = graph.op("Equal" if node.test == "equal" else "GreaterOrEqual", x, held)
    return graph.op("Add", graph.op("Mul", x, 0.0), values.cast(flags, DOUBLE))
