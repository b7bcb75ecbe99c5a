"""Labels that rounding cannot change, in ONNX: those of the sums in double.

How often a graph's float32 products are rounded on the way to their sum is not known.
"""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.ir.graph import expands_far
from svmcompile.targets.onnx.graph import DOUBLE
from svmcompile.targets.onnx.values import Values, build, build_needed


@build.register
def _(node: ir.Certain, values: Values) -> str:
    if values.number == DOUBLE and not expands_far(values.body, values.tables, node.scores):
        for one in node.plain(values.types[node.out].width):
            values.names[one.out] = build(one, values)
        return values.names[node.out]
    build_needed(values, [node.exact])
    return values.names[node.exact]
