"""Types of the nodes of preprocessing; cases of `result_type`."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir import features as ir
from svmcompile.ir.kinds import Kind, Type
from svmcompile.ir.needs import Tables, Types, features, need, shapes, within
from svmcompile.ir.rules import result_type


@result_type.register
def _(node: ir.AsFeatures, types: Types, tables: Tables) -> Type:
    need(types[node.scores].kind is Kind.SCORES, f"%{node.scores} is not scores")
    return Type(Kind.FEATURES, types[node.scores].width)


@result_type.register
def _(node: ir.Pick, types: Types, tables: Tables) -> Type:
    width, columns = features(node, types), tables[node.columns]
    need(columns.ndim == 1 and columns.size > 0, "no columns are picked")
    within(columns, width, "a column")
    return Type(Kind.FEATURES, len(columns))


@result_type.register
def _(node: ir.Normalize, types: Types, tables: Tables) -> Type:
    need(math.isfinite(node.least) and node.least > 0, "the least norm is not above zero")
    return Type(Kind.FEATURES, features(node, types))


@result_type.register
def _(node: ir.Powers, types: Types, tables: Tables) -> Type:
    width, factors = features(node, types), tables[node.factors]
    need(factors.ndim == 2 and factors.size > 0, "no products are asked for")
    within(factors, width + 1, "a factor")
    return Type(Kind.FEATURES, len(factors))


@result_type.register
def _(node: ir.Cosine, types: Types, tables: Tables) -> Type:
    need(math.isfinite(node.factor), "the factor is not finite")
    return Type(Kind.FEATURES, features(node, types))


@result_type.register(ir.Fill)
@result_type.register(ir.Missing)
def _(node: ir.Fill | ir.Missing, types: Types, tables: Tables) -> Type:
    width = features(node, types)
    if isinstance(node, ir.Fill):
        shapes(tables, values=(node.values, (width,)))
    same = math.isfinite(node.marker) and float(np.float32(node.marker)) == node.marker
    need(same, "the marker is not a finite float32 number")
    return Type(Kind.FEATURES, width)


@result_type.register
def _(node: ir.Join, types: Types, tables: Tables) -> Type:
    left, right = types[node.left], types[node.right]
    need(left.kind is right.kind is Kind.FEATURES, "needs features")
    need(left.wide == right.wide, "one side is in double, the other is not")
    return Type(Kind.FEATURES, left.width + right.width)
