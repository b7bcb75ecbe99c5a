"""Type rules and costs of nodes in whole numbers.

A rule computes the largest size every intermediate result can have, for any row within the limit, and
refuses a node that could leave its C type: 32 bits, or 64 for weighted sums that need them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.fixed_meaning import UNIT_BITS, Wholes, weighted, whole_table
from svmcompile.ir.needs import class_counts, features, float32_only, need, pair_count, shapes, sound_degree
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import Tables, Types, result_type
from svmcompile.ir.work import SHAPE_FLOPS, Values, Work, work

INT32 = (1 << 31) - 1
INT64 = (1 << 63) - 1
MOST_SHIFT = 30


def whole_features(node: Any, types: Types) -> int:
    """The width of the whole features a node reads."""
    need(bool(types[node.x].whole), f"%{node.x} is not in whole numbers")
    return features(node, types)


def fits(size: int, most: int, what: str) -> int:
    """The size, if it is within the type."""
    need(size <= most, f"{what} could reach {size}, beyond {'32' if most == INT32 else '64'} bits")
    return size


def sizes(table: Wholes) -> Wholes:
    """Sums of absolute values, row by row."""
    return np.asarray(np.abs(table).sum(axis=-1))


@result_type.register
def _(node: ir.Quantise, types: Types, tables: Tables) -> Type:
    width = features(node, types)
    for name in (node.shift, node.factor):
        shapes(tables, table=(name, (1,) if tables[name].size == 1 else (width,)))
    float32_only(tables, node.shift)
    need(node.bits in (8, 16), f"no whole numbers of {node.bits} bits")
    need(0 < node.limit < 1 << (node.bits - 1), f"limit {node.limit} does not fit {node.bits} bits")
    return Type(Kind.FEATURES, width, whole="i8" if node.bits == 8 else "i16", limit=node.limit)


@result_type.register
def _(node: ir.Requantise, types: Types, tables: Tables) -> Type:
    width = whole_features(node, types)
    shapes(tables, shift=(node.shift, (width,)), factor=(node.factor, (width,)))
    need(node.bits in (8, 16), f"no whole numbers of {node.bits} bits")
    need(0 < node.limit < 1 << (node.bits - 1), f"limit {node.limit} does not fit {node.bits} bits")
    sound_shift(node.scale_bits)
    reach = types[node.x].limit + np.abs(whole_table(tables, node.shift))
    sizes = reach * np.abs(whole_table(tables, node.factor)) + ((1 << node.scale_bits) >> 1)
    fits(int(sizes.max()), INT32, "a scaled feature")
    return Type(Kind.FEATURES, width, whole="i8" if node.bits == 8 else "i16", limit=node.limit)


@result_type.register
def _(node: ir.FixedSum, types: Types, tables: Tables) -> Type:
    need(tables[node.bias].ndim == 1, "bias has not one number per sum")
    sums, k = tables[node.bias].shape[0], len(node.counts)
    if node.counts:
        class_counts(node.counts)
        need(sum(node.counts) == len(tables[node.vectors]), "counts do not fit the tables")
        need(sums == pair_count(k), "counts do not fit the tables")
    n = len(tables[node.vectors])
    shapes(tables, weights=(node.weights, (n, k - 1 if k else sums)))
    most = kernel_limit(node, types, tables)
    sound_shift(node.shift)
    largest = fits(weighted_limit(tables[node.weights], most, node.counts), INT64, "a weighted sum")
    bias = int(np.abs(whole_table(tables, node.bias)).max(initial=0))
    limit = fits((largest >> node.shift) + 1 + bias, INT32, "a score")
    return Type(Kind.SCORES, sums, whole="i32", limit=limit)


def sound_shift(shift: int) -> None:
    need(0 <= shift <= MOST_SHIFT, f"shift {shift} is not within 0 and {MOST_SHIFT}")


def kernel_limit(node: Any, types: Types, tables: Tables) -> int:
    """The largest size of a kernel value; what leads to it is held against 32 bits."""
    n, d = len(tables[node.vectors]), whole_features(node, types)
    shapes(tables, vectors=(node.vectors, (n, d)), offsets=(node.offsets, (n,)))
    need(tables[node.curve].ndim == 1 and len(tables[node.curve]) > 0, "the curve has no points")
    need(node.shape in ("exp2", "tanh", "power", "identity"), f"no whole numbers for {node.shape!r}")
    sound_degree(node.degree)
    sound_shift(node.cell_bits)
    sound_shift(node.offset_shift)
    limit, offsets = types[node.x].limit, np.abs(whole_table(tables, node.offsets))
    dots = limit * sizes(whole_table(tables, node.vectors))
    if node.shape == "exp2":
        need(bool((whole_table(tables, node.offsets) >= 0).all()), "a squared norm is below zero")
        reach = d * limit**2 + (offsets << node.offset_shift) + 2 * dots
    else:
        reach = dots + offsets
    reached = fits(int(reach.max(initial=0)), INT32, "a dot product")
    if node.shape in ("exp2", "tanh"):
        curve = int(np.abs(whole_table(tables, node.curve)).max())
        return fits(curve, (1 << UNIT_BITS), "the curve")
    if node.shape == "identity":
        return reached
    need((reached >> node.cell_bits) + 1 < 1 << UNIT_BITS, "the base of a power is beyond 15 bits")
    return 1 << 2 * UNIT_BITS


def weighted_limit(weights: NDArray[Any], most: int, counts: tuple[int, ...]) -> int:
    """The largest size of a weighted sum of values up to `most`, at any time."""
    values = np.full((1, len(weights)), 1)
    return int(weighted(values, np.abs(weights.astype(np.int64)), counts).max(initial=0)) * most


def needs_int64(node: Any, types: Types, tables: Tables) -> bool:
    """Whether a weighted sum needs 64 bits."""
    most = kernel_limit(node, types, tables)
    rounding: int = (1 << node.shift) >> 1
    return weighted_limit(tables[node.weights], most, node.counts) + rounding > INT32


@result_type.register
def _(node: ir.FixedAffine, types: Types, tables: Tables) -> Type:
    d, m = whole_features(node, types), len(tables[node.bias])
    shapes(tables, weights=(node.weights, (m, d)), bias=(node.bias, (m,)))
    sound_shift(node.shift)
    reach = types[node.x].limit * sizes(whole_table(tables, node.weights)) + ((1 << node.shift) >> 1)
    fits(int(reach.max()), INT32, "a dot product")
    scores = (reach >> node.shift) + np.abs(whole_table(tables, node.bias)) + (node.shift > 0)
    return Type(Kind.SCORES, m, whole="i32", limit=fits(int(scores.max()), INT32, "a score"))


@result_type.register
def _(node: ir.FixedQuadratic, types: Types, tables: Tables) -> Type:
    d, m = whole_features(node, types), len(tables[node.bias])
    shapes(
        tables,
        squares=(node.squares, (m, d * (d + 1) // 2)),
        weights=(node.weights, (m, d)),
        bias=(node.bias, (m,)),
    )
    sound_shift(node.shift)
    limit, weights = types[node.x].limit, np.abs(whole_table(tables, node.weights))
    starts = np.concatenate([[0], np.cumsum(np.arange(d, 1, -1))])
    slopes = limit * np.add.reduceat(np.abs(whole_table(tables, node.squares)), starts, axis=1) + weights
    fits(int(slopes.max()), INT32, "a slope")
    sums = fits(int(slopes.sum(axis=1).max()) * limit + ((1 << node.shift) >> 1), INT64, "a form")
    bias = int(np.abs(whole_table(tables, node.bias)).max())
    limit = fits((sums >> node.shift) + 1 + bias, INT32, "a score")
    return Type(Kind.SCORES, m, whole="i32", limit=limit)


@work.register
def _(node: ir.FixedQuadratic, types: Types, tables: Tables, values: Values | None) -> Work:
    m, d = tables[node.weights].shape
    return Work(0, m * (d * (d + 1) + 2 * d))


@result_type.register
def _(node: ir.Dequantise, types: Types, tables: Tables) -> Type:
    need(bool(types[node.x].whole), f"%{node.x} is not in whole numbers")
    need(float(np.float32(node.unit)) == node.unit and node.unit > 0, "the unit is no float above zero")
    return Type(types[node.x].kind, types[node.x].width)


@work.register(ir.Quantise)
@work.register(ir.Requantise)
@work.register(ir.Dequantise)
def _(
    node: ir.Quantise | ir.Requantise | ir.Dequantise, types: Types, tables: Tables, values: Values | None
) -> Work:
    return Work(0, 3 * types[node.out].width)


@work.register
def _(node: ir.FixedSum, types: Types, tables: Tables, values: Values | None) -> Work:
    n, d = tables[node.vectors].shape
    return Work(n, n * (2 * d + kernel_flops(node) + 2 * tables[node.weights].shape[1]))


def kernel_flops(node: Any) -> int:
    """Operations of one kernel value beside its dot product."""
    return 2 * node.degree if node.shape == "power" else SHAPE_FLOPS[node.shape] // 2


@work.register
def _(node: ir.FixedAffine, types: Types, tables: Tables, values: Values | None) -> Work:
    m, d = tables[node.weights].shape
    return Work(0, 2 * m * d)
