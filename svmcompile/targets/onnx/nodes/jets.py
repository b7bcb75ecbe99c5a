"""Sums in blocks with jets in ONNX, in double."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.targets.onnx.nodes.bounded import exact_where, of_all
from svmcompile.targets.onnx.nodes.sums import kernel_values
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.JetSum, values: Values) -> str:
    """All vectors for all rows: few come here, and operators of jets cost more than a product."""
    inside, vectors = values.in_double(), values.tables[node.vectors]
    graph, x, centre = inside.graph, inside.wide(values.names[node.x]), vectors.mean(axis=0)
    poison = graph.op("MatMul", x, np.zeros((vectors.shape[1], 1)))
    met = kernel_values(inside, inside.wide_centred(x, centre), vectors - centre, node.kernel)
    score, error = of_all(inside, node, met, inside.scalar(1.0))
    score = graph.op("Add", score, poison)
    return exact_where(inside, node.exact, score, graph.op("Greater", graph.op("Abs", score), error))
