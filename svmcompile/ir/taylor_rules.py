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
    need(tables[node.lows].ndim == 3 and tables[node.lows].size > 0, "lows are missing")
    orders, _, cells = tables[node.lows].shape
    need(orders in (1, 2, 3), f"order {orders} is none of 1, 2 and 3")
    shapes(
        tables,
        centres=(node.centres, (leaves, d)),
        constants=(node.constants, (leaves,)),
        slopes=(node.slopes, (leaves, d)),
        squares=(node.squares, (leaves, d * (d + 1) // 2) if orders > 1 else (1,)),
        cubes=(node.cubes, (leaves, d * (d + 1) * (d + 2) // 6) if orders > 2 else (1,)),
        steps=(node.steps, (leaves,)),
        lows=(node.lows, (orders, leaves, cells)),
        highs=(node.highs, (orders, leaves, cells)),
        bias=(node.bias, (1,)),
    )
    float32_only(tables, node.centres)
    need(bool((tables[node.steps] > 0).all()), "steps are not above zero")
    need(bool((tables[node.lows] <= 0).all() and (tables[node.highs] >= 0).all()), "bounds without zero")
    return Type(Kind.SCORES, 1)


def taylor_flops(node: ir.TaylorSum, types: Types, tables: Tables) -> np.ndarray:
    """Flops up to each order."""
    d = types[node.x].width
    first = 5 * d + 24
    second = first + d * (d + 3) + 6
    third = second + d * (d + 1) * (d + 2) // 3 + d * (d + 1) + 6
    return np.array([first, second, third][: tables[node.lows].shape[0]], dtype=np.float64)
