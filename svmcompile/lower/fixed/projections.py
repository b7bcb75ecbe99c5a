"""Projections in whole numbers: features that an affine function makes, and that distances are taken of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import Tables, maker, only_maker, readers
from svmcompile.ir.node import Node
from svmcompile.ir.program import Program
from svmcompile.ir.whole_numbers import MOST_SHIFT, share_a_range
from svmcompile.lower.fixed.rows import INT32, Row, Span, View, own_row

TINY = 1e-30
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
