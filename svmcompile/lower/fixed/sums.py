"""Kernel sums, their curves, affine and quadratic functions in whole numbers, with bounds on errors.

What enters is a math node and the quantised row it reads; what leaves is the node in whole numbers, its
tables, the unit of its scores and how far a score can be from the original's, for any row within range.

Arguments and points are whole numbers: the function is known at multiples of 2^cell_bits of an argument
in some unit, points are in units of 1 / TOP. What leaves is the table, cell_bits and a bound on the error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import Tables
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.kinds import Shape
from svmcompile.ir.whole_numbers import MOST_SHIFT, UNIT_BITS, weighted
from svmcompile.lower.fixed.rows import INT32, Row, View

WEIGHT_TOP, BYTE_WEIGHT_TOP = 32767, 127
# What the largest weight must reach for sums of 32 bits to do.
LEAST_WEIGHT_TOP: dict[Number, int] = {"q7": 256, "q15": 8192}
SCORE_TOP = 1 << 30
# Of converting a score to float and multiplying it with a unit that is a float.
UNIT_ROUNDING = 2.0**-22
TOP = 32767  # the point that stands for one
CELLS = {"q7": 70, "q15": 256}  # at most; each takes two bytes
# Off the straight line by rounding of two points and of the place between them, in units of 1 / TOP.
ROUNDING = 2.5 / TOP
STEEPEST_TURN = 4 / (3 * math.sqrt(3))  # largest second derivative of tanh
BITS = range(31)


@dataclass(frozen=True, eq=False)
class Fixed:
    """A node in whole numbers; scores are in `unit`s, off by at most `error`.

    A test whose value is closer to its threshold than `slack`, in its own unit, may come out otherwise.
    """

    node: ir.Node
    tables: Tables
    unit: float
    error: float
    slack: Array | None = None


@dataclass(frozen=True, eq=False)
class Values:
    """Kernel values in whole numbers: tables of the vectors, and a value's unit, size and error."""

    vectors: NDArray[Any]
    offsets: NDArray[Any]
    curve: Curve
    shape: Shape
    offset_shift: int
    unit: float  # of a kernel value
    most: int  # largest whole number
    size: Array  # [n] largest kernel value
    error: Array  # [n] largest error of a kernel value
    middle: float = 0.0  # what is to be added to every kernel value

    def tables(self, vectors: str, offsets: str, curve: str) -> Tables:
        """What a node reads, by these names."""
        return {vectors: self.vectors, offsets: self.offsets, curve: self.curve.points}


def fixed_values(kernel: Kernel, vectors: Array, row: Row, view: View) -> Values:
    """The kernel of a row and each vector."""
    values = _distances if kernel.kind == "rbf" else _products
    return values(kernel, vectors, row, view)


def _distances(kernel: Kernel, vectors: Array, row: Row, view: View) -> Values:
    (slopes, start), number = row.seen(view), row.number
    slope = float(np.median(slopes[slopes > 0])) if (slopes > 0).any() else 1.0
    lowest = 0 if row.as_it_is else -row.limit
    points = np.clip(np.round((vectors - start) / slope), lowest, row.limit).astype(np.int64)
    row_error = math.sqrt(float(np.square(row.error * slopes + row.limit * np.abs(slopes - slope)).sum()))
    vector_error = np.sqrt(np.square(points * slope + start - vectors).sum(axis=1))
    norms = np.square(points).sum(axis=1)
    shift = max(0, int(norms.max(initial=0)).bit_length() - 16) if number == "q7" else 0
    stored = (norms + ((1 << shift) >> 1)) >> shift
    stored = np.minimum(stored, (1 << 16) - 1) if number == "q7" else stored
    rate = kernel.gamma * slope * slope
    reach = int(4 * len(slopes) * row.limit**2)
    curve = falling(rate, row.trial.cells or CELLS[number], reach, row.trial.coarser)
    steepest = math.sqrt(2 * kernel.gamma / math.e)  # of exp(-gamma r^2), by r
    moved = np.minimum(1.0, steepest * (row_error + vector_error))
    error = moved + rate * np.abs((stored << shift) - norms) + curve.error
    kind = np.uint16 if number == "q7" else np.int32
    whole = points.astype(np.uint8) if row.as_it_is else row.whole(points)
    sizes = np.ones(len(points))
    return Values(whole, stored.astype(kind), curve, "exp2", shift, 1 / TOP, TOP, sizes, error)


def _products(kernel: Kernel, vectors: Array, row: Row, view: View) -> Values:
    slopes, start = row.seen(view)
    gamma, constant = (1.0, 0.0) if kernel.kind == "linear" else (kernel.gamma, kernel.coef0)
    parts = gamma * vectors * slopes
    offsets = gamma * (vectors @ np.broadcast_to(start, slopes.shape)) + constant
    reach = row.limit * np.abs(parts).sum(axis=1) + np.abs(offsets)
    rounding = row.limit * len(slopes) / 2 + 2
    room = float(reach.max(initial=0.0))
    if kernel.kind == "sigmoid":  # whose curve starts at the lowest value
        room = 3 * row.limit * float(np.abs(parts).sum(axis=1).max(initial=0.0)) + float(np.ptp(offsets))
        rounding = 3 * rounding
    largest = float(np.abs(parts).max(initial=0.0))
    unit = max(largest / row.top, room / (INT32 - rounding), np.finfo(np.float64).tiny)
    points, stored = np.round(parts / unit).astype(np.int64), np.round(offsets / unit).astype(np.int64)
    moved = row.error * np.abs(parts).sum(axis=1)
    moved += row.limit * np.abs(points * unit - parts).sum(axis=1) + np.abs(stored * unit - offsets)
    tables = row.whole(points), stored.astype(np.int32)
    whole_reach = int((row.limit * np.abs(points).sum(axis=1) + np.abs(stored)).max(initial=0))
    if kernel.kind == "sigmoid":
        dots = row.limit * np.abs(points).sum(axis=1)
        low, high = int((stored - dots).min()), int((stored + dots).max())
        found = rising(unit, CELLS[row.number], low, high - low)
        sizes = np.full(len(points), found.amplitude)
        error = np.minimum(2, moved) + found.amplitude * found.curve.error
        return Values(
            tables[0], (stored - low).astype(np.int32), found.curve, "tanh", 0, found.amplitude / TOP, TOP,
            sizes, error, found.middle,
        )  # fmt: skip
    if kernel.kind == "linear":
        return Values(*tables, NO_CURVE, "identity", 0, unit, whole_reach, reach + moved, moved)
    return _powers(kernel.degree, tables, unit, whole_reach, reach, moved)


def _powers(
    degree: int, tables: tuple[Any, Any], unit: float, whole_reach: int, reach: Array, moved: Array
) -> Values:
    bits = max(0, whole_reach.bit_length() - UNIT_BITS)
    while (whole_reach >> bits) + 1 >= 1 << UNIT_BITS:
        bits += 1
    base = unit * (1 << bits)
    value_unit = base**degree * 2.0 ** (UNIT_BITS * (degree - 2))
    off = moved + base / 2
    error = degree * (reach + off) ** (degree - 1) * off + degree * value_unit if degree else 0 * off
    curve = Curve(NO_CURVE.points, bits, 0.0)
    sizes = (reach + off) ** degree
    return Values(*tables, curve, "power", 0, value_unit, 1 << 2 * UNIT_BITS, sizes, error)


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights and bias in whole numbers, the shift of their sums, and the unit of these."""

    weights: NDArray[Any]
    bias: NDArray[Any]
    shift: int
    unit: float


def fixed_weights(
    values: Values, weights: Array, bias: Array, counts: tuple[int, ...], row: Row, wanted: float
) -> Weights:
    """Weights [n, m] as fine as sums allow: 32 bits where that does, else 64; scores in the unit wanted."""
    largest = float(np.abs(weights).max(initial=0.0)) or 1.0
    most = values.unit * values.most
    top = BYTE_WEIGHT_TOP if row.trial.byte_weights else WEIGHT_TOP
    size = float(_sums(np.full(len(weights), most), weights, counts).max(initial=0.0))
    size += float(np.abs(bias).max(initial=0.0)) + 4 * most * largest * len(weights) / top
    unit, shift = size / (INT32 - 2 - values.most * (len(weights) // 2 + 1)) / values.unit, 0
    if unit <= 0 or largest / unit < min(LEAST_WEIGHT_TOP[row.number], top):
        unit = largest / top
        shift = min(MOST_SHIFT, max(0, math.ceil(math.log2(size / (unit * values.unit * SCORE_TOP)))))
        unit = max(unit, size / (values.unit * SCORE_TOP * 2.0**shift))  # a bias far above the sums
    unit = max(unit, largest / top)
    if wanted:
        more = max(0, math.floor(math.log2(wanted / (unit * values.unit * 2.0**shift))))
        shift = min(MOST_SHIFT, shift + more)
        unit = wanted / (values.unit * 2.0**shift)
    whole = np.round(weights / unit).astype(np.int8 if row.trial.byte_weights else np.int16)
    score = unit * values.unit * 2.0**shift
    return Weights(whole, np.round(bias / score).astype(np.int32), shift, unit)


def _sums(values: Array, weights: Array, counts: tuple[int, ...]) -> Array:
    """Sums of sizes times the sizes of weights."""
    sums: Any = weighted
    return np.asarray(sums(values[None], np.abs(weights), counts)[0])


def signed_sums(weights: Array, counts: tuple[int, ...]) -> Array:
    """Sums of the weights."""
    sums: Any = weighted
    return np.asarray(sums(np.ones((1, len(weights))), weights, counts)[0])


def fixed_sum(
    node: ir.KernelSum | ir.PairSum, tables: Tables, row: Row, view: View, wanted: float
) -> Fixed:
    """A kernel sum over a row in whole numbers; `wanted` is the unit of its scores, or 0 for the finest."""
    values = fixed_values(node.kernel, tables[node.vectors], row, view)
    counts = node.counts if isinstance(node, ir.PairSum) else ()
    weights, bias = tables[node.weights].T, tables[node.bias]
    bias = bias + values.middle * signed_sums(weights, counts)
    made = fixed_weights(values, weights, bias, counts, row, wanted)
    unit = float(np.float32(made.unit * values.unit * 2.0**made.shift))
    off = np.abs(weights - made.weights * made.unit)
    error = _sums(values.error, weights, counts) + _sums(values.size + values.error, off, counts)
    error += unit * 1.5 + UNIT_ROUNDING * (_sums(values.size, weights, counts) + np.abs(bias))
    vectors, offsets, curve, kept, zero = own_names(node, "vectors offsets curve weights bias")
    degree = node.kernel.degree if values.shape == "power" else 1
    fixed = ir.FixedSum(
        node.out, row.value, vectors, offsets, curve, kept, zero, counts, values.shape, degree,
        values.curve.cell_bits, values.offset_shift, made.shift,
    )  # fmt: skip
    stored = values.tables(vectors, offsets, curve) | {kept: made.weights, zero: made.bias}
    return Fixed(fixed, stored, unit, float(error.max(initial=0.0)))


def own_names(node: ir.Node, ends: str) -> list[str]:
    """Names for tables of a node."""
    return [f"{node.out}_{end}" for end in ends.split()]


def fixed_affine(node: ir.Affine, tables: Tables, row: Row, view: View, wanted: float) -> Fixed:
    """Affine functions of a row in whole numbers; weights have 16 bits whatever the row has."""
    slopes, start = row.seen(view)
    weights = tables[node.weights]
    parts, bias = weights * slopes, weights @ (start - tables[node.centre]) + tables[node.bias]
    reach = row.limit * np.abs(parts).sum(axis=1) + np.abs(bias)
    own = max(
        float(np.abs(parts).max(initial=0.0)) / WEIGHT_TOP,
        float(reach.max()) / (INT32 // 2 - row.limit * len(slopes) / 2 - 2),
        np.finfo(np.float32).tiny,
    )
    unit = float(np.nextafter(np.float32(wanted or own), np.float32(np.inf)))
    shift = max(0, min(30, math.floor(math.log2(unit / own))))
    scale = unit / 2.0**shift
    whole, whole_bias = np.round(parts / scale).astype(np.int16), np.round(bias / unit).astype(np.int32)
    error = row.error * np.abs(parts).sum(axis=1) + row.limit * np.abs(whole * scale - parts).sum(axis=1)
    error += np.abs(whole_bias * unit - bias) + (shift > 0) * unit + UNIT_ROUNDING * reach
    kept, zero = own_names(node, "weights bias")
    fixed = ir.FixedAffine(node.out, row.value, kept, zero, shift)
    return Fixed(fixed, {kept: whole, zero: whole_bias}, unit, float(error.max()))


@dataclass(frozen=True, eq=False)
class Curve:
    """A table of points, their distance and how far the curve can be off, as a share of one."""

    points: NDArray[Any]
    cell_bits: int
    error: float


def falling(rate: float, cells: int, reach: int, coarser: int = 0) -> Curve:
    """exp(-rate t) for t from 0 to `reach`; behind the last cell it is zero.

    The worst error of a kernel value is the least with cells of a width that, `coarser`, is doubled
    so many times: large weights on small values ask for a curve that goes on further.
    """
    found = [_falling(rate, bits, min(cells, _cells_to(reach, bits)), reach) for bits in BITS]
    best = min(found, key=lambda curve: (curve.error, len(curve.points)))
    return found[min(best.cell_bits + coarser, len(found) - 1)]


def _cells_to(reach: int, bits: int) -> int:
    """Cells up to `reach`, and one behind it."""
    return (reach >> bits) + 2


def _falling(rate: float, bits: int, count: int, reach: int) -> Curve:
    step = rate * (1 << bits)
    bend = min(step * step / 16, 0.5)  # points lie this share below, so that the line is off to both sides
    points = np.round(TOP * np.exp(-step * np.arange(count + 1)) * (1 - bend)).astype(np.int16)
    points[-1] = 0
    # In the last cell, which goes down to zero, and behind it curve and function are within this.
    last = 0.0 if (count - 1) << bits > reach else math.exp(-step * (count - 1))
    between = max(bend, step * step / 8 - bend * math.exp(-step)) if step < 1 else 1.0
    return Curve(points, bits, max(between, last) + ROUNDING)


@dataclass(frozen=True, eq=False)
class Rising:
    """tanh as middle + amplitude * curve."""

    curve: Curve
    middle: float
    amplitude: float


def rising(unit: float, cells: int, low: int, reach: int) -> Rising:
    """tanh(unit (low + t)) for t from 0 to `reach`: what is met of it fills the range of points."""
    found = (_rising(unit, bits, min(cells, _cells_to(reach, bits)), low, reach) for bits in BITS)
    return min(found, key=lambda one: (one.amplitude * one.curve.error, len(one.curve.points)))


def _rising(unit: float, bits: int, count: int, low: int, reach: int) -> Rising:
    step = unit * (1 << bits)
    values = np.tanh(unit * low + step * np.arange(count + 1))
    top = math.tanh(unit * (low + reach))  # the largest value that is met
    middle = float(values[0] + values[-1]) / 2
    amplitude = max(float(values[-1] - values[0]) / 2, 1e-9)
    points = np.round(TOP * (values - middle) / amplitude).astype(np.int16)
    bend = min(2.0, step * step / 8 * STEEPEST_TURN)
    behind = max(0.0, top - float(values[-1]))  # the curve stays at its last point
    return Rising(Curve(points, bits, (bend + behind) / amplitude + ROUNDING), middle, amplitude)


def fixed_quadratic(node: ir.Quadratic, tables: Tables, row: Row, view: View, wanted: float) -> Fixed:
    """Forms of h = slope q + begin as forms of q: squares of 16 bits, slopes of 32, sums of 64."""
    slopes, start = row.seen(view)
    slope = np.broadcast_to(slopes, row.shape)
    begin = np.broadcast_to(start - tables[node.centre], row.shape)
    first, second = np.triu_indices(len(slope))
    squares = tables[node.squares] * (slope[first] * slope[second])
    linear = tables[node.weights] * slope
    mixed = tables[node.squares] * begin[second], tables[node.squares] * begin[first]
    np.add.at(linear.T, first, (mixed[0] * slope[first]).T)
    np.add.at(linear.T, second, (mixed[1] * slope[second]).T)
    constant = tables[node.squares] @ (begin[first] * begin[second]) + tables[node.weights] @ begin
    return _whole(node, row, squares, linear, constant + tables[node.bias], wanted)


def _whole(
    node: ir.Quadratic, row: Row, squares: Array, linear: Array, bias: Array, wanted: float
) -> Fixed:
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
    names, kinds = own_names(node, "squares weights bias"), (np.int16, np.int32, np.int32)
    stored = {name: table.astype(kind) for name, table, kind in zip(names, whole, kinds, strict=True)}
    fixed = ir.FixedQuadratic(node.out, row.value, names[0], names[1], names[2], shift)
    return Fixed(fixed, stored, unit, float(error.max()))


NO_CURVE = Curve(np.zeros(1, np.int16), 0, 0.0)
