"""Gaussian processes in ONNX, in double: error functions by a series, which runtimes have in float only."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes.gaussian import ERF_LIMIT, ERF_TERMS, SHARES, WIDTHS
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.Deviation, values: Values) -> str:
    return values.graph.op("Sqrt", _variance(values, node.sums, node.prior))


@build.register
def _(node: ir.GaussianChance, values: Values) -> str:
    graph, widths = values.graph, np.array([WIDTHS])
    mean = values.wide(values.names[node.mean])
    variance = _variance(values, node.sums, node.prior)
    spread = graph.op("Sqrt", graph.op("Add", graph.op("Mul", variance, 2 * np.square(widths)), 1.0))
    each = _erf(values, graph.op("Div", graph.op("Mul", mean, widths), spread))
    chance = graph.op("MatMul", graph.op("Add", each, 1.0), 0.5 * np.array([SHARES]).T)
    return values.with_nan_of(mean, values.clip(chance, 0.0, 1.0))


def _variance(values: Values, sums: str, prior: float) -> str:
    graph, wide = values.graph, values.wide(values.names[sums])
    left = graph.op("Sub", values.scalar(prior), values.row_dots(wide, wide))
    return values.with_nan_of(left, graph.op("Max", left, values.scalar(0.0)))


def _erf(values: Values, x: str) -> str:
    """2 / sqrt(pi) x exp(-x^2) (1 + y / 3 (1 + y / 5 (...))) with y = 2 x^2."""
    graph = values.graph
    held = values.clip(x, -ERF_LIMIT, ERF_LIMIT)
    square = graph.op("Mul", held, held)
    total = values.scalar(1.0)
    for k in range(ERF_TERMS, 0, -1):
        total = graph.op("Add", graph.op("Mul", graph.op("Mul", total, square), 2 / (2 * k + 1)), 1.0)
    fading = graph.op("Exp", graph.op("Neg", square))
    return graph.op("Mul", graph.op("Mul", graph.op("Mul", held, fading), total), 2 / math.sqrt(math.pi))
