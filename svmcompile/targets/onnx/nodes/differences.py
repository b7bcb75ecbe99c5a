"""Kernel sums by differences of features in ONNX: in double, a few features at a time."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.differences import MOST_DEGREE, NEGATED, TERMS
from svmcompile.ir.kernel import Kernel
from svmcompile.targets.onnx.graph import Array
from svmcompile.targets.onnx.values import Values, build

MOST_STEPS = 48  # features are added up in so many steps at most; each holds [rows, vectors, some features]


@build.register
def _(node: ir.DifferenceSum, values: Values) -> str:
    x, vectors = values.names[node.x], values.tables[node.vectors]
    kernel = _of_sums(values, node.kernel, _sums(values, values.wide(x), vectors, TERMS[node.kernel.kind]))
    sums = values.product(kernel, values.tables[node.weights], values.tables[node.bias])
    return values.poisoned(x, vectors.shape[1], sums)


def _sums(values: Values, x: str, vectors: Array, term: str) -> str:
    """D of every row with every vector, [N, vectors]."""
    graph, d = values.graph, vectors.shape[1]
    size = -(-d // MOST_STEPS)
    total = ""
    for first in range(0, d, size):
        columns = range(first, min(first + size, d))
        part = graph.op("Gather", x, values.integers(*columns), axis=1)
        terms = _terms(
            values, graph.op("Unsqueeze", part, values.integers(1)), vectors[None, :, columns], term
        )
        sums = graph.op("ReduceSum", terms, values.integers(2), keepdims=0)
        total = graph.op("Add", total, sums) if total else sums
    return total


def _terms(values: Values, x: str, vectors: Array, term: str) -> str:
    graph = values.graph
    if term == "least":
        return graph.op("Neg", graph.op("Min", x, vectors))
    h = graph.op("Sub", x, vectors)
    if term == "absolute":
        return graph.op("Abs", h)
    if term == "square":
        return graph.op("Mul", h, h)
    both = graph.op("Add", x, vectors)
    above = graph.op("Greater", both, 0.0)
    share = graph.op("Div", h, graph.op("Where", above, both, values.scalar(1.0)))
    return graph.op("Where", above, graph.op("Mul", h, share), values.scalar(0.0))


def _of_sums(values: Values, kernel: Kernel, sums: str) -> str:
    """What the kernel makes of D."""
    graph = values.graph
    if kernel.kind in NEGATED:
        return graph.op("Neg", sums)
    if kernel.kind == "rational":
        base = graph.op("Add", graph.op("Mul", sums, kernel.gamma), 1.0)
        return graph.op("Exp", graph.op("Mul", graph.op("Log", base), -kernel.coef0))
    if kernel.kind != "matern":
        return graph.op("Exp", graph.op("Mul", sums, -kernel.gamma))
    t = graph.op("Mul", graph.op("Sqrt", sums), kernel.gamma)
    t = graph.op("Min", t, values.scalar(np.sqrt(np.finfo(np.float64).max)))  # beyond, the value is zero
    fading = graph.op("Exp", graph.op("Neg", t))
    if kernel.degree == 0:
        return fading
    factor = graph.op("Add", t, 1.0)
    if kernel.degree == MOST_DEGREE:
        factor = graph.op("Add", factor, graph.op("Mul", graph.op("Mul", t, t), 1 / 3))
    return graph.op("Mul", factor, fading)
