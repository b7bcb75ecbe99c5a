"""Affine and quadratic functions in ONNX, in double."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.Affine, values: Values) -> str:
    x = values.names[node.x]
    h = values.wide_centred(x, values.tables[node.centre])
    weights, bias = values.tables[node.weights], values.tables[node.bias]
    return values.poisoned(x, weights.shape[1], values.product(h, weights, bias))


@build.register
def _(node: ir.Quadratic, values: Values) -> str:
    """h . (A h + w) + b: one product gives A h + w for all outputs, then one sum over features."""
    graph, x, weights = values.graph, values.names[node.x], values.tables[node.weights]
    m, d = weights.shape
    upper = np.zeros((m, d, d))
    rows, columns = np.triu_indices(d)
    upper[:, rows, columns] = values.tables[node.squares]
    h = values.wide_centred(x, values.tables[node.centre])
    slopes = values.product(h, upper.reshape(m * d, d), weights.reshape(m * d))
    slopes = graph.op("Reshape", slopes, values.integers(0, m, d))  # 0 keeps the number of rows
    terms = graph.op("Mul", slopes, graph.op("Unsqueeze", h, values.integers(1)))
    sums = graph.op("ReduceSum", terms, values.integers(2), keepdims=0)
    return values.poisoned(x, d, graph.op("Add", sums, values.tables[node.bias]))
