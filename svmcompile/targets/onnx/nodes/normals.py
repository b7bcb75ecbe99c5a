"""Normal quantiles in ONNX, in double: a logarithm and a quotient of polynomials."""

from __future__ import annotations

import math

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes.normals import DENOMINATOR, LEAST, NUMERATOR
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.NormalQuantile, values: Values) -> str:
    graph, x, width = values.graph, values.wide(values.names[node.x]), values.types[node.x].width
    share, rest = (
        graph.op("Gather", x, values.integers(*range(first, width, 2)), axis=1) for first in (0, 1)
    )
    smaller = graph.op("Max", graph.op("Min", share, rest, 0.5), LEAST)
    t = graph.op("Neg", graph.op("Log", smaller))

    def polynomial(terms: tuple[float, ...]) -> str:
        out = graph.op("Add", graph.op("Mul", t, terms[-1]), terms[-2])
        for term in reversed(terms[:-2]):
            out = graph.op("Add", graph.op("Mul", t, out), term)
        return out

    part = graph.op("Div", polynomial(NUMERATOR["f64"]), polynomial(DENOMINATOR["f64"]))
    size = graph.op("Mul", graph.op("Sub", t, math.log(2)), part)
    out = graph.op("Where", graph.op("Less", share, rest), graph.op("Neg", size), size)
    return graph.op("Add", graph.op("Mul", graph.op("Add", share, rest), 0.0), out)
