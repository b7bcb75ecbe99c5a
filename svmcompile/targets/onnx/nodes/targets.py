"""Several labels per row in ONNX."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.Above, values: Values) -> str:
    held, test = values.names[node.values], "GreaterOrEqual" if node.reached else "Greater"
    return values.cast(values.graph.op(test, held, values.like(held, node.limit)), np.dtype(np.int64))


@build.register
def _(node: ir.LabelRow, values: Values) -> str:
    graph, first = values.graph, values.names[node.labels]
    if values.types[node.labels].kind is ir.Kind.LABEL:
        first = graph.op("Unsqueeze", first, values.integers(1))
    places = values.tables[node.places].astype(np.int64)
    more = graph.op("Gather", places, values.names[node.label], axis=0)
    return graph.op("Concat", first, graph.op("Unsqueeze", more, values.integers(1)), axis=1)
