"""fold_scales: a scaling goes into the scaling or affine function that reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.nodes import Affine, Node, Scale
from svmcompile.ir.program import Program
from svmcompile.optimise.rewrite import all_finite, own_scale, rewrite
from svmcompile.shift import split_shift

Tables = dict[str, NDArray[Any]]


def fold_scales(program: Program) -> Program:
    """Fold until nothing folds; the meaning is kept up to float64 rounding, barring overflow."""
    while True:
        folded = _fold_one(program)
        if folded is program:
            return program
        program = folded


def _fold_one(program: Program) -> Program:
    for index, node in enumerate(program.body):
        if not isinstance(node, (Scale, Affine)):
            continue
        inner = own_scale(program, node.x)
        if inner is None:
            continue
        fold = _into_scale if isinstance(node, Scale) else _into_affine
        with np.errstate(all="ignore"):
            new, tables = fold(program, inner, node)  # type: ignore[arg-type]
        if not all_finite(tables):
            continue
        body = [*program.body[:index], new, *program.body[index + 1 :]]
        return rewrite(program, body, tables)
    return program


def _into_scale(program: Program, inner: Scale, outer: Scale) -> tuple[Node, Tables]:
    """((x - a) f + o - b) g + p = (x - a) f g + (o - b) g + p."""
    t = program.tables
    factor = t[inner.factor] * t[outer.factor]
    offset = (t[inner.offset] - t[outer.shift]) * t[outer.factor] + t[outer.offset]
    shift, offset = split_shift(t[inner.shift], factor, offset)
    tables = {outer.shift: shift, outer.factor: factor, outer.offset: offset}
    return Scale(outer.out, inner.x, outer.shift, outer.factor, outer.offset), tables


def _into_affine(program: Program, inner: Scale, outer: Affine) -> tuple[Node, Tables]:
    """W ((x - a) f + o - c) + b = (W f) (x - a') + b', a' in float32."""
    t = program.tables
    centre, rest = split_shift(t[inner.shift], t[inner.factor], t[inner.offset] - t[outer.centre])
    tables = {
        outer.weights: t[outer.weights] * t[inner.factor],
        outer.bias: t[outer.bias] + t[outer.weights] @ rest,
        outer.centre: centre,
    }
    return Affine(outer.out, inner.x, outer.weights, outer.bias, outer.centre), tables
