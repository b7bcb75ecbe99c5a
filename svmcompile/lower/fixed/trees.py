"""Trees in whole numbers: routes, functions of leaves, tests by kernel values, sums of leaves.

What leaves beside a node and its tables: for scores their unit and a bound on their error, which holds
for rows that take the same way; for tests how close to its threshold a row may take another (`slack`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.graph import Tables
from svmcompile.ir.kernel import Array
from svmcompile.ir.leaf_layout import columns_of, leaves, running, sums_of
from svmcompile.ir.node import At
from svmcompile.ir.whole_numbers import whole
from svmcompile.lower.fixed.rows import INT32, Row, View
from svmcompile.lower.fixed.sums import (
    SCORE_TOP,
    UNIT_ROUNDING,
    WEIGHT_TOP,
    Fixed,
    Values,
    fixed_values,
    own_names,
    signed_sums,
)
from svmcompile.lower.leaves import not_empty

LIST_TOP = 1 << 20  # the largest answer of a list


def fixed_axes(node: ir.AxisRoute, math_tables: Tables, row: Row, view: View, unit: float) -> Fixed | None:
    """Tests of single features; none where a feature counts backwards."""
    slopes, start = row.seen(view)
    features = math_tables[node.features].astype(np.intp)
    slopes, start = (np.broadcast_to(part, row.shape)[features] for part in (slopes, start))
    if (slopes <= 0).any():
        return None
    thresholds = np.floor((math_tables[node.thresholds] - start) / slopes)
    tables = {name: math_tables[name] for name in (node.features, node.children)}
    tables[node.thresholds] = _held(thresholds)
    return Fixed(replace(node, x=row.value), tables, 1.0, 0.0, np.full(len(features), row.error + 1))


def _held(thresholds: Array) -> NDArray[np.int32]:
    return np.asarray(np.clip(thresholds, -INT32, INT32), dtype=np.int32)


def fixed_planes(
    node: ir.PlaneRoute | ir.PlaneLists, math_tables: Tables, row: Row, view: View, unit: float
) -> Fixed:
    """Tests by planes, each in its own unit; the answers of lists are in `unit`."""
    slopes, start = row.seen(view)
    planes = math_tables[node.planes].astype(np.float64)
    parts = planes * slopes
    shift = planes @ np.broadcast_to(start - math_tables[node.centre], row.shape)
    own = _units(parts, row)
    points = np.round(parts / own[:, None])
    off = np.abs(points * own[:, None] - parts)
    slack = row.error * np.abs(parts).sum(axis=1) + row.limit * off.sum(axis=1)
    tables = {name: math_tables[name] for name in ir.table_names(node)}
    tables |= {
        node.planes: row.whole(points),
        node.thresholds: _held(np.floor((math_tables[node.thresholds] - shift) / own)),
        node.centre: np.zeros(row.shape, np.int8),
    }
    error = 0.0
    if isinstance(node, ir.PlaneLists):
        ends = math_tables[node.answers], math_tables[node.rest]
        if node.order == "dag":  # which asks for signs alone, and gives ones
            ends, unit = (np.sign(ends[0]), np.sign(ends[1])), 1.0
        unit = unit or float(np.float32(max(np.abs(end).max() for end in ends) / LIST_TOP)) or 1.0
        for name, end in zip((node.answers, node.rest), ends, strict=True):
            tables[name] = np.round(end / unit).astype(np.int32)
        error = 0.0 if node.order == "dag" else unit
    return Fixed(replace(node, x=row.value), tables, unit or 1.0, error, slack / own + 2)


def _units(parts: Array, row: Row) -> Array:
    """For each row of coefficients the least unit that keeps it and its dot products within their types."""
    room = INT32 // 2 - row.limit * parts.shape[1]
    size = np.abs(parts)
    found = np.maximum(size.max(axis=1) / row.top, row.limit * size.sum(axis=1) / room)
    return np.where(found > 0, found, 1.0)


def fixed_leaves(node: ir.LeafAffine, math_tables: Tables, row: Row, view: View, unit: float) -> Fixed:
    """Affine functions of leaves."""
    slopes, start = row.seen(view)
    t = math_tables
    functions = t[node.weights].astype(np.float64) * t[node.units].astype(np.float64)[:, None]
    parts = functions * slopes
    constants = functions @ np.broadcast_to(start - t[node.centre], row.shape)
    leaf = np.repeat(np.arange(len(t[node.bias])), np.diff(whole(t[node.starts])))
    at = leaf, whole(t[node.sums])
    bias, reach = t[node.bias].astype(np.float64).copy(), np.zeros(t[node.bias].shape)
    np.add.at(bias, at, constants)
    np.add.at(reach, at, row.limit * np.abs(parts).sum(axis=1))
    own = _units(parts, row)
    if not unit:
        unit = max(float((reach + np.abs(bias)).max()) / SCORE_TOP, float(own.max()))
    unit = float(np.nextafter(np.float32(unit), np.float32(np.inf)))
    shifts = np.clip(np.floor(np.log2(unit / own)), 0, 30).astype(np.int64)
    scale = (unit / 2.0**shifts)[:, None]
    points = np.round(parts / scale)
    off = row.error * np.abs(parts).sum(axis=1) + row.limit * np.abs(points * scale - parts).sum(axis=1)
    error = np.full(bias.shape, unit)
    np.add.at(error, at, off + unit)
    error += UNIT_ROUNDING * (reach + np.abs(bias))
    kept, moves, zero = own_names(node, "weights shifts bias")
    tables = {
        node.starts: t[node.starts],
        node.sums: t[node.sums],
        kept: row.whole(points),
        moves: shifts.astype(np.uint8),
        zero: np.round(bias / unit).astype(np.int32),
    }
    made = ir.FixedLeaves(node.out, row.value, node.leaf, node.starts, node.sums, kept, moves, zero)
    return Fixed(made, tables, unit, float(error.max()))


class Scaled:
    """Weights [n, m] in whole numbers for kernel values of given size, and the shift of their sums."""

    def __init__(self, values: Values, weights: Array, size: float, unit: float) -> None:
        largest = float(np.abs(weights).max(initial=0.0)) or 1.0
        own = largest / WEIGHT_TOP
        natural = max(size / SCORE_TOP, own * values.unit)
        self.unit = float(np.float32(unit or natural))
        self.shift = int(np.clip(math.floor(math.log2(self.unit / (own * values.unit))), 0, 30))
        self.weight_unit = self.unit / (values.unit * 2.0**self.shift)
        self.weights = np.round(weights / self.weight_unit).astype(np.int16)
        self.off = np.abs(weights - self.weights * self.weight_unit)

    def whole(self, bias: Array) -> NDArray[np.int32]:
        return np.round(bias / self.unit).astype(np.int32)


def fixed_path(node: ir.PathSum, math_tables: Tables, row: Row, view: View, unit: float) -> Fixed:
    """A tree whose tests are kernel values."""
    t = math_tables
    values = fixed_values(node.kernel, t[node.vectors], row, view)
    weights, bias = t[node.weights].astype(np.float64), t[node.bias].astype(np.float64)
    leaf = np.repeat(np.arange(len(bias)), np.diff(whole(t[node.starts])))
    bias = bias + values.middle * _by_leaf(weights, leaf, len(bias))
    most = values.unit * values.most
    size = float((most * _by_leaf(np.abs(weights), leaf, len(bias)) + np.abs(bias)).max())
    made = Scaled(values, weights, size, unit)
    worst = float(values.error.max(initial=0.0))
    error = _by_leaf(np.abs(weights) * worst + made.off * (most + worst), leaf, len(bias))
    names = own_names(node, "vectors offsets curve thresholds weights bias")
    vectors, offsets, curve, thresholds, kept, zero = names
    limits = np.floor((t[node.thresholds] - values.middle) / values.unit)
    tables = values.tables(vectors, offsets, curve) | {
        node.picks: t[node.picks], node.children: t[node.children], node.starts: t[node.starts],
        thresholds: _held(limits), kept: made.weights, zero: made.whole(bias),
    }  # fmt: skip
    fixed = ir.FixedPath(
        node.out, row.value, vectors, offsets, curve, node.picks, thresholds, node.children, node.starts,
        kept, zero, values.shape, node.kernel.degree if values.shape == "power" else 1,
        values.curve.cell_bits, values.offset_shift, made.shift,
    )  # fmt: skip
    bound = float(error.max()) + 2 * made.unit + UNIT_ROUNDING * size
    slack = np.full(len(t[node.picks]), worst / values.unit + 2)
    return Fixed(fixed, tables, made.unit, bound, slack)


def _by_leaf(values: Array, leaf: NDArray[Any], count: int) -> Array:
    """Sums of what belongs to each leaf."""
    out = np.zeros((count, values.shape[1]))
    np.add.at(out, leaf, values)
    return out


def fixed_leaf_sums(node: ir.LeafSums, math_tables: Tables, row: Row, view: View, unit: float) -> Fixed:
    """Kernel sums that belong to the leaves of a tree."""
    t = math_tables
    values = fixed_values(node.kernel, t[node.vectors], row, view)
    bias = t[node.bias].astype(np.float64).copy()
    worst, most = float(values.error.max(initial=0.0)), values.unit * values.most
    n = np.diff(whole(t[node.starts]))
    largest = float(np.abs(t[node.weights]).max(initial=0.0))
    for leaf in leaves(At(node, t)) if values.middle else ():
        if leaf.has_sums:
            own = t[node.weights][leaf.weights].reshape(-1, leaf.columns)
            bias[leaf.bias] += values.middle * signed_sums(own, leaf.counts if node.rule == "vote" else ())
    size = most * largest * int(n.max(initial=0)) + float(np.abs(bias).max(initial=0.0))
    made = Scaled(values, t[node.weights].astype(np.float64), size, unit)
    names = own_names(node, "vectors offsets curve weights places bias bias_firsts")
    vectors, offsets, curve, kept, places, zero, firsts = names
    classes = np.diff(whole(t[node.firsts]))
    tables = values.tables(vectors, offsets, curve) | {
        name: t[name] for name in (node.starts, node.members, node.firsts, node.counts)
    }
    tables |= {
        kept: not_empty(made.weights),
        places: running(n * columns_of(node.rule, classes)).astype(np.int32),
        zero: not_empty(made.whole(bias)),
        firsts: running(sums_of(node.rule, classes)).astype(np.int32),
    }
    fixed = ir.FixedLeafSums(
        node.out, row.value, node.leaf, vectors, offsets, curve, node.starts, node.members, node.firsts,
        node.counts, kept, places, zero, firsts, node.rule, node.classes, values.shape,
        node.kernel.degree if values.shape == "power" else 1,
        values.curve.cell_bits, values.offset_shift, made.shift,
    )  # fmt: skip
    off = float(made.off.max(initial=0.0))
    error = int(n.max(initial=0)) * (largest * worst + off * (most + worst)) + 2 * made.unit
    return Fixed(fixed, tables, made.unit, error + UNIT_ROUNDING * size)
