"""Ensembles in ONNX."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes.ensembles import MOST_EXPONENT
from svmcompile.targets.onnx.graph import DOUBLE
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.OneHot, values: Values) -> str:
    graph = values.graph
    label = graph.op("Unsqueeze", values.names[node.label], values.integers(1))
    classes = graph.constant(np.arange(node.n_classes, dtype=np.int64))
    return values.cast(graph.op("Equal", label, classes), DOUBLE)


@build.register
def _(node: ir.Blend, values: Values) -> str:
    wide = values.wide(values.names[node.values])
    return values.product(wide, values.tables[node.weights], values.tables[node.bias])


@build.register
def _(node: ir.Exponential, values: Values) -> str:
    graph, wide = values.graph, values.wide(values.names[node.scores])
    limit = values.scalar(MOST_EXPONENT["f32" if values.number == np.float32 else "f64"])
    held = graph.op("Where", graph.op("Greater", wide, limit), limit, wide)
    return graph.op("Sub", graph.op("Exp", held), node.less)
