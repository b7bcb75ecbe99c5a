"""The type rule of a sum in blocks with jets; a case of `result_type`."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.needs import Tables, Types, features, float32_only, need, shapes, sound_kernel
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import result_type


@result_type.register
def _(node: ir.JetSum, types: Types, tables: Tables) -> Type:
    sound_kernel(node.kernel)
    need(node.kernel.kind == "rbf" and node.kernel.gamma >= 0, "the kernel has no jets")
    exact = types[node.exact]
    need((exact.kind, exact.width) == (Kind.SCORES, 1), f"%{node.exact} is not one score")
    n, d = len(tables[node.vectors]), features(node, types)
    ends = tables[node.ends].astype(np.int64)
    need(tables[node.gaps].ndim == 3 and tables[node.gaps].size > 0, "gaps are missing")
    jets, cells, _ = tables[node.gaps].shape
    rising = len(ends) > 0 and ends[0] > 0 and ends[-1] < n and (np.diff(ends) > 0).all()
    need(bool(rising), "the ends of blocks do not rise")
    shapes(
        tables,
        vectors=(node.vectors, (n, d)),
        weights=(node.weights, (n,)),
        bias=(node.bias, (1,)),
        ends=(node.ends, (jets,)),
        centre=(node.centre, (d,)),
        constants=(node.constants, (jets,)),
        slopes=(node.slopes, (jets, d)),
        squares=(node.squares, (jets, d * (d + 1) // 2)),
        steps=(node.steps, (1,)),
        gaps=(node.gaps, (jets, cells, 2)),
        margins=(node.margins, (jets,)),
        rounding=(node.rounding, (2,)),
    )
    float32_only(tables, node.centre)
    need(bool(tables[node.steps][0] > 0), "steps are not above zero")
    for name in (node.gaps, node.margins, node.rounding):
        need(bool((tables[name] >= 0).all()), f"@{name} holds bounds below zero")
    return Type(Kind.SCORES, 1)
