"""Type rules of heads that give probabilities; cases of `result_type`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.needs import Tables, Types, need, pair_count, shapes, within
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import result_type

COLUMNS = (Kind.SCORES, Kind.PROBABILITIES)


def _columns(value: str, types: Types) -> Type:
    """Scores, or probabilities that stand for them."""
    need(types[value].kind in COLUMNS, f"%{value} is neither scores nor probabilities")
    return types[value]


def _chances(value: str, types: Types) -> int:
    need(types[value].kind is Kind.PROBABILITIES, f"%{value} is not probabilities")
    return types[value].width


@result_type.register
def _(node: ir.Beside, types: Types, tables: Tables) -> Type:
    left, right = _columns(node.left, types), _columns(node.right, types)
    need(left.kind is right.kind, "scores stand beside probabilities")
    return Type(left.kind, left.width + right.width)


@result_type.register
def _(node: ir.Columns, types: Types, tables: Tables) -> Type:
    found, columns = _columns(node.values, types), tables[node.columns]
    need(columns.ndim == 1 and columns.size > 0, "no columns")
    within(columns, found.width, "a column")
    return Type(found.kind, len(columns))


@result_type.register
def _(node: ir.Shifted, types: Types, tables: Tables) -> Type:
    need(types[node.scores].kind is Kind.SCORES, "needs scores")
    shapes(tables, by=(node.by, (types[node.scores].width,)))
    return types[node.scores]


@result_type.register
def _(node: ir.Sigmoid, types: Types, tables: Tables) -> Type:
    width = _columns(node.scores, types).width
    shapes(tables, slopes=(node.slopes, (width,)), offsets=(node.offsets, (width,)))
    need(0 <= node.floor < 0.5, "the floor is not within 0 and a half")
    return Type(Kind.PROBABILITIES, width)


@result_type.register
def _(node: ir.Isotonic, types: Types, tables: Tables) -> Type:
    width, starts = _columns(node.scores, types).width, tables[node.starts].astype(np.int64)
    knots, levels = tables[node.knots], tables[node.levels]
    shapes(tables, starts=(node.starts, (width + 1,)), levels=(node.levels, knots.shape))
    need(starts[0] == 0 and starts[-1] == len(knots), "starts do not cover the knots")
    need(bool((np.diff(starts) >= 2).all()), "a column has fewer than two knots")
    need(bool(((levels >= 0) & (levels <= 1)).all()), "a level is not a probability")
    for start, stop in pairwise(starts):
        # Numbers apart in double may be one in float, where they make a step.
        need(bool((np.diff(knots[start:stop]) >= 0).all()), "knots do not rise")
        steps = np.diff(levels[start:stop])
        need(bool((steps >= 0).all() or (steps <= 0).all()), "levels rise and fall")
    return Type(Kind.PROBABILITIES, width)


@result_type.register
def _(node: ir.Density, types: Types, tables: Tables) -> Type:
    need(types[node.score] == Type(Kind.SCORES, 1), "needs one score")
    marks = tables[node.marks]
    need(marks.ndim == 1 and marks.size > 0, "no marks")
    need(bool((np.diff(marks) >= 0).all()), "marks do not rise")
    return Type(Kind.PROBABILITIES, 2)


@result_type.register
def _(node: ir.Complement, types: Types, tables: Tables) -> Type:
    return Type(Kind.PROBABILITIES, 2 * _chances(node.chances, types))


@result_type.register(ir.Shares)
@result_type.register(ir.Mean)
def _(node: ir.Shares | ir.Mean, types: Types, tables: Tables) -> Type:
    width = _chances(node.chances, types)
    need(node.groups > 0 and width % node.groups == 0, f"{width} columns do not make {node.groups} groups")
    if isinstance(node, ir.Mean):
        return Type(Kind.PROBABILITIES, width // node.groups)
    need(0 <= node.empty <= 1, "empty is not a probability")
    return Type(Kind.PROBABILITIES, width)


@result_type.register
def _(node: ir.Couple, types: Types, tables: Tables) -> Type:
    need(_chances(node.pairs, types) == pair_count(node.n_classes), "needs one probability per pair")
    return Type(Kind.PROBABILITIES, node.n_classes)
