"""Types and cost of Taylor polynomials about centres."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.needs import Tables, Types, features, float32_only, need, shapes
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import result_type


@result_type.register
def _(node: ir.OneLeaf, types: Types, tables: Tables) -> Type:
    features(node, types)
    return Type(Kind.INDEX, 1)


@result_type.register
def _(node: ir.TaylorSum, types: Types, tables: Tables) -> Type:
    need(types[node.leaf].kind is Kind.INDEX, f"%{node.leaf} is not an index")
    exact = types[node.exact]
    need((exact.kind, exact.width) == (Kind.SCORES, 1), f"%{node.exact} is not one score")
    leaves, d = types[node.leaf].width, features(node, types)
    need(math.isfinite(node.gamma) and node.gamma >= 0, "gamma makes no sense")
    need(0 <= node.slack < 1, "slack makes no sense")
    need(tables[node.gaps].ndim == 4 and tables[node.gaps].size > 0, "gaps are missing")
    orders, _, cells, _ = tables[node.gaps].shape
    need(orders in (1, 2, 3), f"order {orders} is none of 1, 2 and 3")
    need(len(node.gates) == orders - 1, f"{len(node.gates)} gates between {orders} orders")
    need(all(math.isfinite(gate) and gate >= 0 for gate in node.gates), "gates make no sense")
    own = tables[node.axes].ndim > 1 and orders > 1
    need(not node.sparse or (leaves == 1 and (own or orders == 1)), "sparse rows need one centre, and axes")
    r = tables[node.axes].shape[1] if own else d
    shapes(
        tables,
        centres=(node.centres, (leaves, d)),
        constants=(node.constants, (leaves,)),
        slopes=(node.slopes, (leaves, d)),
        axes=(node.axes, (leaves, r, d) if own else (1,)),
        squares=(node.squares, (leaves, r * (r + 1) // 2) if orders > 1 else (1,)),
        cubes=(node.cubes, (leaves, r * (r + 1) * (r + 2) // 6) if orders > 2 else (1,)),
        middles=(node.middles, (leaves,) if own else (1,)),
        loose=(node.loose, (orders - 1, leaves, 4) if own else (1,)),
        steps=(node.steps, (leaves,)),
        gaps=(node.gaps, (orders, leaves, cells, 2)),
        margins=(node.margins, (orders, leaves)),
        bias=(node.bias, (1,)),
    )
    float32_only(tables, node.centres)
    need(bool((tables[node.steps] > 0).all()), "steps are not above zero")
    for name in (node.gaps, node.margins, node.loose):
        need(bool((tables[name] >= 0).all()), f"@{name} holds bounds below zero")
    return Type(Kind.SCORES, 1)


def taylor_flops(node: ir.TaylorSum, types: Types, tables: Tables) -> np.ndarray:
    """Flops up to each order."""
    d = types[node.x].width
    r, turned = d, 0
    if tables[node.axes].ndim > 1:
        r = tables[node.axes].shape[1]
        turned = 2 * r * d + 2 * r + 12
    first = 5 * d + 24
    second = first + turned + r * (r + 3) + 6
    third = second + r * (r + 1) * (r + 2) // 3 + r * (r + 1) + 6
    return np.array([first, second, third][: len(tables[node.margins])], dtype=np.float64)
