"""Types of the nodes of preprocessing; cases of `result_type`."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir import features as ir
from svmcompile.ir.kinds import Kind, Type
from svmcompile.ir.rules import Tables, Types, _features, _need, _shape, _within, result_type


@result_type.register
def _(node: ir.AsFeatures, types: Types, tables: Tables) -> Type:
    _need(types[node.scores].kind is Kind.SCORES, f"%{node.scores} is not scores")
    return Type(Kind.FEATURES, types[node.scores].width)


@result_type.register
def _(node: ir.Pick, types: Types, tables: Tables) -> Type:
    width, columns = _features(node, types), tables[node.columns]
    _need(columns.ndim == 1 and columns.size > 0, "no columns are picked")
    _within(columns, width, "a column")
    return Type(Kind.FEATURES, len(columns))


@result_type.register
def _(node: ir.Normalize, types: Types, tables: Tables) -> Type:
    _need(math.isfinite(node.least) and node.least > 0, "the least norm is not above zero")
    return Type(Kind.FEATURES, _features(node, types))


@result_type.register
def _(node: ir.Powers, types: Types, tables: Tables) -> Type:
    width, factors = _features(node, types), tables[node.factors]
    _need(factors.ndim == 2 and factors.size > 0, "no products are asked for")
    _within(factors, width + 1, "a factor")
    return Type(Kind.FEATURES, len(factors))


@result_type.register
def _(node: ir.Cosine, types: Types, tables: Tables) -> Type:
    _need(math.isfinite(node.factor), "the factor is not finite")
    return Type(Kind.FEATURES, _features(node, types))


@result_type.register(ir.Fill)
@result_type.register(ir.Missing)
def _(node: ir.Fill | ir.Missing, types: Types, tables: Tables) -> Type:
    width = _features(node, types)
    if isinstance(node, ir.Fill):
        _shape(tables, values=(node.values, (width,)))
    same = math.isfinite(node.marker) and float(np.float32(node.marker)) == node.marker
    _need(same, "the marker is not a finite float32 number")
    return Type(Kind.FEATURES, width)


@result_type.register
def _(node: ir.Join, types: Types, tables: Tables) -> Type:
    left, right = types[node.left], types[node.right]
    _need(left.kind is right.kind is Kind.FEATURES, "needs features")
    _need(left.wide == right.wide, "one side is in double, the other is not")
    return Type(Kind.FEATURES, left.width + right.width)
