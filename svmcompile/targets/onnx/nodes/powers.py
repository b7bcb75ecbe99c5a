"""Power transforms in ONNX, in double."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes.ensembles import MOST_EXPONENT
from svmcompile.ir.nodes.powers import SERIES
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.BoxCox, values: Values) -> str:
    graph, powers = values.graph, values.tables[node.powers]
    x, power = values.wide(values.names[node.x]), graph.constant(powers)
    below = graph.op("Less", x, 0.0)
    if node.both:
        power = graph.op("Where", below, graph.constant(2 - powers), power)
        logs = graph.op("Log", graph.op("Add", graph.op("Abs", x), 1.0))
    else:
        logs = graph.op("Log", graph.op("Where", graph.op("Greater", x, 0.0), x, math.nan))
    limit = values.scalar(MOST_EXPONENT["f32" if values.number == np.float32 else "f64"])
    t = graph.op("Mul", power, logs)
    t = graph.op("Where", graph.op("Greater", t, limit), limit, t)
    series = graph.op("Mul", t, 1 / math.factorial(SERIES))
    for n in range(SERIES - 1, 0, -1):
        series = graph.op("Mul", t, graph.op("Add", series, 1 / math.factorial(n)))
    small = graph.op("Less", graph.op("Abs", t), 0.5)
    grown = graph.op("Where", small, series, graph.op("Sub", graph.op("Exp", t), 1.0))
    none = graph.op("Equal", power, 0.0)
    divisor = graph.op("Where", none, 1.0, power)
    out = graph.op("Where", none, logs, graph.op("Div", grown, divisor))
    if node.both:
        out = graph.op("Where", below, graph.op("Neg", out), out)
    return graph.op("Add", graph.op("Mul", x, 0.0), out)
