"""Preprocessing in ONNX: cases of `build`.

Whatever divides, multiplies features with each other or takes a cosine is done in double; what only
moves numbers keeps their type.
"""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.kinds import Kind
from svmcompile.targets.onnx.graph import INDEX
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.Scale, values: Values) -> str:
    given, tables = values.names[node.x], values.tables
    only_shifts = (tables[node.factor] == 1).all() and not tables[node.offset].any()
    kept = only_shifts and values.keeps(tables[node.shift])
    # In float, rounded tables would move the rows and products might overflow.
    x = given if kept else values.wide(given)
    for kind, table, idle in (("Sub", node.shift, 0), ("Mul", node.factor, 1), ("Add", node.offset, 0)):
        if (tables[table] != idle).any():
            x = values.same(kind, x, values.like(x, tables[table]))
    if kept and x != given:
        values.shifted[x] = given, tables[node.shift]
    return x


@build.register
def _(node: ir.Clip, values: Values) -> str:
    x = values.names[node.x]
    if not values.keeps(np.array([node.low, node.high])):
        x = values.wide(x)
    return values.with_nan_of(x, values.clip(x, node.low, node.high))


@build.register
def _(node: ir.AsFeatures, values: Values) -> str:
    return values.names[node.scores]


@build.register
def _(node: ir.Pick, values: Values) -> str:
    columns, x = values.integers(*values.tables[node.columns].tolist()), values.names[node.x]
    return values.same("Gather", x if _is_row(node.x, values) else values.wide(x), columns, axis=1)


@build.register
def _(node: ir.Normalize, values: Values) -> str:
    graph, x = values.graph, values.wide(values.names[node.x])
    axis, width = values.integers(1), values.types[node.x].width
    if node.norm == "max":
        norm = graph.op("ReduceMax", graph.op("Abs", x), axes=(1,), keepdims=1)
    else:
        sizes = graph.op("Abs", x) if node.norm == "l1" else graph.op("Mul", x, x)
        norm = graph.op("ReduceSum", sizes, axis, keepdims=1)
    if node.norm == "l2":
        norm = graph.op("Sqrt", norm)
    small = graph.op("Less", norm, node.least)
    divisor = graph.op("Where", small, 1.0, norm)
    return values.poisoned(x, width, graph.op("Div", x, divisor))


@build.register
def _(node: ir.Powers, values: Values) -> str:
    """One product per degree; columns that are the number one are multiplied as well."""
    graph, x, factors = values.graph, values.wide(values.names[node.x]), values.tables[node.factors]
    width = values.types[node.x].width
    if (factors == width).any():
        # x * 0 + 1 would be NaN for NaN: the number one is appended, [N, 1].
        rows = graph.op("Slice", graph.op("Shape", x), *(values.integers(at) for at in (0, 1, 0)))
        shape = graph.op("Concat", rows, values.integers(1), axis=0)
        x = graph.op("Concat", x, graph.op("Expand", 1.0, shape), axis=1)
    columns = [graph.constant(column.astype(np.int64)) for column in factors.T]
    out = graph.op("Gather", x, columns[0], axis=1)
    for column in columns[1:]:
        out = graph.op("Mul", out, graph.op("Gather", x, column, axis=1))
    return out


@build.register
def _(node: ir.Cosine, values: Values) -> str:
    graph = values.graph
    angle = graph.op("Mul", values.wide(values.names[node.x]), 2 * np.pi)
    return graph.op("Mul", graph.op("Cos", angle), node.factor)


@build.register
def _(node: ir.LogCounts, values: Values) -> str:
    graph, x = values.graph, values.wide(values.names[node.x])
    logs = graph.op("Add", graph.op("Log", x), 1.0)
    return graph.op("Where", graph.op("Equal", x, 0.0), 0.0, logs)


@build.register
def _(node: ir.Fill, values: Values) -> str:
    x, table = values.names[node.x], values.tables[node.values]
    gone = _missing(node, values)
    if not values.keeps(table):
        x = values.wide(x)
    filled = values.graph.op("Where", gone, values.like(x, table), x)
    return values.marked_like(x, filled)


@build.register
def _(node: ir.Missing, values: Values) -> str:
    x = values.names[node.x]
    flags = values.cast(_missing(node, values), values.type_of(x))
    return values.marked_like(x, flags)


def _missing(node: ir.Fill | ir.Missing, values: Values) -> str:
    x = values.names[node.x]
    if node.nan:
        return values.graph.op("IsNaN", x)
    return values.graph.op("Equal", x, values.like(x, node.marker))


@build.register
def _(node: ir.Join, values: Values) -> str:
    """Features in the type of both sides, in double if they differ; all else in double."""
    left, right = values.names[node.left], values.names[node.right]
    if not _is_row(node.left, values) or (left in values.floats) != (right in values.floats):
        left, right = values.wide(left), values.wide(right)
    return values.same("Concat", left, right, axis=1)


def _is_row(name: str, values: Values) -> bool:
    return values.types[name].kind is Kind.FEATURES


@build.register
def _(node: ir.Products, values: Values) -> str:
    """All d * d products, and of these the upper triangle: one gathering fewer than factor by factor."""
    graph, centre = values.graph, values.tables[node.centre]
    d = len(centre)
    h = values.centred(values.names[node.x], centre)
    factors = [values.same("Unsqueeze", h, values.integers(axis)) for axis in (1, 2)]
    square = values.same("Reshape", values.same("Mul", *factors), values.integers(0, d * d))
    first, second = np.triu_indices(d)
    chosen = graph.constant((first * d + second).astype(INDEX))
    return values.same("Concat", h, values.same("Gather", square, chosen, axis=1), axis=1)
