"""Projections in whole numbers: features that an affine function makes, and that distances are taken of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import Tables, maker, only_maker, readers
from svmcompile.ir.kinds import Kind, Type
from svmcompile.ir.node import At, Node
from svmcompile.ir.program import Program
from svmcompile.ir.whole_numbers import MOST_SHIFT, share_a_range
from svmcompile.lower.fixed.rows import INT32, Row, Span, View, own_row
from svmcompile.lower.fixed.sums import Fixed

TINY = 1e-30
MIXED_TOP = 1 << 16  # of sums that are mixed: they and the weights of the mixture have half of 32 bits each
WITH_KERNEL = (ir.KernelSum, ir.PairSum, ir.PathSum, ir.LeafSums)


def by_distance(node: Node) -> bool:
    """Whether a node needs all features in one scale."""
    return isinstance(node, WITH_KERNEL) and node.kernel.kind == "rbf"


def projection_of(program: Program, features: str) -> ir.Affine | None:
    """The affine function whose scores are these features, if nothing but distances is made of them."""
    made = maker(program, features)
    affine = only_maker(program, made.scores) if isinstance(made, ir.AsFeatures) else None
    reading = readers(program, features)
    while reading and all(isinstance(node, ir.Scale) for node in reading):
        reading = [reader for node in reading for reader in readers(program, node.out)]
    found = isinstance(affine, ir.Affine) and bool(reading) and all(map(by_distance, reading))
    return affine if found and isinstance(affine, ir.Affine) else None


def mixed_sums(program: Program, node: Node) -> ir.KernelSum | None:
    """The kernel sums that an affine function mixes, if nothing else is made of them."""
    features = only_maker(program, node.x) if isinstance(node, ir.Affine) else None
    made = only_maker(program, features.scores) if isinstance(features, ir.AsFeatures) else None
    return made if isinstance(made, ir.KernelSum) else None


def unit_to_mix(made: Fixed, row: Row, width: int) -> float:
    """The unit of sums that are to be mixed, given how they come out in the finest."""
    given = Type(Kind.FEATURES, width, whole="i16", limit=row.limit)
    most = made.node.result(At(made.node, made.tables, {row.value: given})).limit
    return made.unit * most / (MIXED_TOP - 2)


def row_of_sums(sums: Fixed, width: int, number: Number) -> Row:
    """Sums in whole numbers as the row that they are."""
    shift, factor = np.zeros(width, np.float32), np.full(width, 1 / sums.unit, np.float32)
    name = sums.node.out
    return Row(name, name, shift, factor, number, MIXED_TOP, off=sums.error / sums.unit)


def source_row(value: str, base: str, span: Span, number: Number) -> Row:
    """A row for dot products: in one scale where features share a range, which needs no tables."""
    if share_a_range(span.low, span.high):
        ends = np.full_like(span.low, span.low.min()), np.full_like(span.high, span.high.max())
        span = Span(*ends, span.rows)
    return own_row(value, base, span, number)


def fixed_projection(
    node: ir.Affine, tables: Tables, source: Row, view: View, target: Row
) -> tuple[Row, ir.FixedProjection, Tables] | None:
    """The target's row, made of the source's; none where one step of the source is too wide.

    Weights have as many bits as the row, in one unit, as distances count all outputs alike.
    """
    slopes, start = source.seen(view)
    factor = np.broadcast_to(target.factor.astype(np.float64), target.shape)
    parts = tables[node.weights] * slopes * factor[:, None]
    constant = tables[node.weights] @ np.broadcast_to(start - tables[node.centre], source.shape)
    constant = (constant + tables[node.bias] - target.shift.astype(np.float64)) * factor
    reach = source.limit * np.abs(parts).sum(axis=1) + np.abs(constant)
    room = min(
        source.top / max(float(np.abs(parts).max()), TINY),
        (INT32 - source.limit * parts.shape[1]) / (2 * max(float(reach.max()), TINY) + 1),
    )
    if room < 1:
        return None
    shift = min(math.floor(math.log2(room)), MOST_SHIFT)
    scale = 2.0**shift
    points = np.round(parts * scale)
    off = source.error * np.abs(parts).sum(axis=1)
    off += source.limit * np.abs(points / scale - parts).sum(axis=1) + 0.5 / scale
    made = replace(target, off=float(off.max()))
    weights, bias = f"{target.value}_weights", f"{target.value}_bias"
    whole_bias = np.floor(constant * scale + 0.5) + ((1 << shift) >> 1)
    stored = {weights: source.whole(points), bias: whole_bias.astype(np.int32)}
    projection = ir.FixedProjection(
        target.value, source.value, weights, bias, shift, target.bits, target.limit
    )
    return made, projection, stored
