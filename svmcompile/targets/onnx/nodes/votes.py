"""Votes in ONNX, from their exact pair sums.

Settling pairs one after the other takes operators for each pair, which costs more
than the kernel values it saves in the batches ONNX is for.
"""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.targets.onnx.graph import Values, build, build_needed


@build.register(ir.BoundedVote)
@build.register(ir.TaylorVote)
def _(node: ir.BoundedVote | ir.TaylorVote, values: Values) -> str:
    build_needed(values, [node.exact])
    return values.names[node.exact]
