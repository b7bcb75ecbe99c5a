"""Quadratic forms in whole numbers, with a bound on their error."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir.kernel import Array
from svmcompile.ir.nodes import FixedQuadratic, Quadratic
from svmcompile.lower.fixed_rows import INT32, Row, View
from svmcompile.lower.fixed_sums import SCORE_TOP, UNIT_ROUNDING, WEIGHT_TOP, Fixed, Tables


def fixed_quadratic(node: Quadratic, tables: Tables, row: Row, view: View, wanted: float) -> Fixed:
    """Forms of h = slope q + begin as forms of q: squares of 16 bits, slopes of 32, sums of 64."""
    slopes, start = row.seen(view)
    slope, begin = (
        np.broadcast_to(slopes, row.shape),
        np.broadcast_to(start - tables[node.centre], row.shape),
    )
    first, second = np.triu_indices(len(slope))
    squares = tables[node.squares] * (slope[first] * slope[second])
    linear = tables[node.weights] * slope
    mixed = tables[node.squares] * begin[second], tables[node.squares] * begin[first]
    np.add.at(linear.T, first, (mixed[0] * slope[first]).T)
    np.add.at(linear.T, second, (mixed[1] * slope[second]).T)
    constant = tables[node.squares] @ (begin[first] * begin[second]) + tables[node.weights] @ begin
    return _whole(node, row, squares, linear, constant + tables[node.bias], wanted)


def _whole(node: Quadratic, row: Row, squares: Array, linear: Array, bias: Array, wanted: float) -> Fixed:
    limit, sizes, slopes = row.limit, np.abs(squares).sum(axis=1), np.abs(linear).sum(axis=1)
    steepest = np.abs(linear).max() + limit * sizes.max()
    own = max(float(np.abs(squares).max()) / WEIGHT_TOP, float(steepest) / (INT32 // 2), 1e-30)
    reach = limit**2 * sizes + limit * slopes + np.abs(bias)
    unit = float(np.float32(wanted or max(float(reach.max()) / SCORE_TOP, own)))
    shift = max(0, min(30, math.floor(math.log2(unit / own))))
    scale = unit / 2.0**shift
    whole = np.round(squares / scale), np.round(linear / scale), np.round(bias / unit)
    error = sizes * (2 * limit * row.error + row.error**2) + slopes * row.error
    error += limit**2 * np.abs(whole[0] * scale - squares).sum(axis=1)
    error += limit * np.abs(whole[1] * scale - linear).sum(axis=1) + 2 * unit + UNIT_ROUNDING * reach
    names = f"{node.out}_squares", f"{node.out}_weights", f"{node.out}_bias"
    kinds = np.int16, np.int32, np.int32
    stored = {name: table.astype(kind) for name, table, kind in zip(names, whole, kinds, strict=True)}
    fixed = FixedQuadratic(node.out, row.value, *names, shift)
    return Fixed(fixed, stored, unit, float(error.max()))
