"""Projections in whole numbers: features that an affine function makes, and that distances are taken of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, Number
from svmcompile.ir.graph import Tables, maker, only_maker, readers
from svmcompile.ir.kinds import Kind, Type
from svmcompile.ir.node import At, Node
from svmcompile.ir.program import Program
from svmcompile.ir.whole_numbers import (
    MOST_SHIFT,
    NIBBLE_HIGH,
    NIBBLE_LOW,
    NIBBLE_ZERO,
    share_a_range,
    to_nibbles,
)
from svmcompile.lower.fixed.rows import INT32, Row, Span, View, own_row
from svmcompile.lower.fixed.sums import Fixed

TINY = 1e-30
OFF_GRID = 1e-4  # of a unit, by which weights of four bits may miss whole numbers
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
) -> tuple[Row, ir.FixedProjection | ir.NibbleProjection, Tables] | None:
    """The target's row, made of the source's; none where one step of the source is too wide.

    Weights have one unit, as distances count all outputs alike: the finest that as many bits as the row has
    allow, or that of a method which has rounded its weights to four bits.
    """
    slopes, start = source.seen(view)
    parts = tables[node.weights] * slopes
    constant = tables[node.weights] @ np.broadcast_to(start - tables[node.centre], source.shape)
    constant = constant + tables[node.bias]
    narrow = _four_bits(parts, constant, source, target) if source.trial.four_bits else None
    if narrow:
        target, shift = narrow
    factor = np.broadcast_to(target.factor.astype(np.float64), target.shape)
    parts, constant = parts * factor[:, None], (constant - target.shift.astype(np.float64)) * factor
    if narrow is None:
        found = _finest_shift(parts, constant, source)
        if found is None:
            return None
        shift = found
    scale = 2.0**shift
    points = np.round(parts * scale)
    off = source.error * np.abs(parts).sum(axis=1)
    off += source.limit * np.abs(points / scale - parts).sum(axis=1) + 0.5 / scale
    made = replace(target, off=float(off.max()))
    whole_bias = (np.floor(constant * scale + 0.5) + ((1 << shift) >> 1)).astype(np.int32)
    names = f"{target.value}_weights", f"{target.value}_bias"
    kind = ir.NibbleProjection if narrow else ir.FixedProjection
    stored = to_nibbles(points.astype(np.int64)) if narrow else source.whole(points)
    projection = kind(target.value, source.value, *names, shift, target.bits, target.limit)
    return made, projection, {names[0]: stored, names[1]: whole_bias}


def _finest_shift(parts: Array, constant: Array, source: Row) -> int | None:
    """By how many bits sums are shifted where weights are as large as the row's numbers may be."""
    reach = source.limit * np.abs(parts).sum(axis=1) + np.abs(constant)
    room = min(
        source.top / max(float(np.abs(parts).max()), TINY),
        (INT32 - source.limit * parts.shape[1]) / (2 * max(float(reach.max()), TINY) + 1),
    )
    return min(math.floor(math.log2(room)), MOST_SHIFT) if room >= 1 else None


def _four_bits(parts: Array, constant: Array, source: Row, target: Row) -> tuple[Row, int] | None:
    """The target's row in a unit that weights of four bits lead to, and the shift that does; none where
    weights are no such whole numbers times a unit."""
    unit, own = unit_of_nibbles(parts), float(target.factor[0])
    if not unit or (target.factor != target.factor[0]).any():
        return None
    shift = max(0, math.ceil(math.log2(1 / (own * unit)) - 1e-9))
    reach = source.limit * NIBBLE_ZERO * 3 * parts.shape[1] + float(np.abs(constant).max()) / unit
    if shift > MOST_SHIFT or reach > INT32 // 2:
        return None
    return replace(target, factor=np.full_like(target.factor, 1 / (unit * 2.0**shift))), shift


def unit_of_nibbles(weights: Array) -> float:
    """The unit of which all weights are multiples from -8 to 7; 0 if there is none."""
    largest = float(np.abs(weights).max(initial=0.0))
    for most in range(1, 1 - NIBBLE_LOW):
        unit = largest / most
        levels = weights / (unit or 1.0)
        whole = np.round(levels)
        fits = whole.min() >= NIBBLE_LOW and whole.max() <= NIBBLE_HIGH
        if fits and np.abs(levels - whole).max() < OFF_GRID:
            return unit
    return 0.0
