"""Arithmetic in whole numbers: int64, which never overflows where the type rules hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kinds import Kind, Type
from svmcompile.ir.kinds import Wholes as Wholes
from svmcompile.ir.node import SHAPE_FLOPS, At, need
from svmcompile.ir.pairs import pair_sums

UNIT_BITS = 15  # of the numbers that powers are made of
INT32 = (1 << 31) - 1
INT64 = (1 << 63) - 1
MOST_SHIFT = 30
BYTE = 255
NIBBLE_LOW, NIBBLE_HIGH = -8, 7  # weights of four bits,
NIBBLE_ZERO = 8  # and what is added to them
SHARED = 4.0  # the range of all features is at most so many times that of a typical one


def whole(table: NDArray[Any]) -> Wholes:
    """A table of whole numbers, wide enough to compute with."""
    return np.asarray(table, dtype=np.int64)


def share_a_range(low: NDArray[Any], high: NDArray[Any]) -> bool:
    """Whether one scale does for all features: half of them fill a good part of the range of all."""
    widths = (high - low)[high > low]
    whole_range = float(high.max(initial=0.0) - low.min(initial=0.0))
    return bool(len(widths)) and whole_range <= SHARED * float(np.median(widths))


def fit_strides(columns: NDArray[Any]) -> bool:
    """Whether bytes tell how far each feature that is read is behind the last."""
    strides = np.diff(columns, prepend=0)
    return bool(strides.min() >= 0 and strides.max() <= BYTE)


def rounded_shift(values: Wholes, bits: int) -> Wholes:
    """Divided by 2^bits, to the nearest; half goes up."""
    return values if bits == 0 else (values + (1 << (bits - 1))) >> bits


def to_nibbles(weights: Wholes) -> NDArray[np.uint8]:
    """Rows of weights from -8 to 7 as rows of bytes: the first half in low bits, the other in high ones."""
    count = weights.shape[1]
    packed = np.zeros((len(weights), (count + 1) // 2), np.uint8)
    packed |= (weights[:, : (count + 1) // 2] + NIBBLE_ZERO).astype(np.uint8)
    packed[:, : count // 2] |= (weights[:, (count + 1) // 2 :] + NIBBLE_ZERO).astype(np.uint8) << 4
    return packed


def from_nibbles(packed: NDArray[Any], count: int) -> Wholes:
    """The weights in rows of bytes, so many in each."""
    both = whole(packed)
    return np.concatenate([both & 15, both[:, : count // 2] >> 4], axis=1) - NIBBLE_ZERO


def fixed_kernel(at: At, x: Wholes) -> Wholes:
    """Kernel values [rows, n] of a node with vectors, offsets and a curve."""
    dots = whole_dots(x, whole(at.vectors))
    offsets, curve = whole(at.offsets), whole(at.curve)
    if at.shape == "exp2":
        norms = np.square(x).sum(axis=1, keepdims=True)
        t = np.maximum(norms + (offsets << at.offset_shift) - 2 * dots, 0)
        return on_curve(t, curve, at.cell_bits)
    t = dots + offsets
    if at.shape == "tanh":
        return on_curve(np.maximum(t, 0), curve, at.cell_bits)
    return t if at.shape == "identity" else powers(rounded_shift(t, at.cell_bits), at.degree)


def whole_dots(x: Wholes, vectors: Wholes) -> Wholes:
    """x . v for all rows and vectors: exact, and through float64, which is faster, where that is exact."""
    size = int(np.abs(x).max(initial=0)) * int(np.abs(vectors).max(initial=0)) * max(1, x.shape[1])
    if size < 1 << 52:
        return np.asarray(x.astype(np.float64) @ vectors.T.astype(np.float64)).astype(np.int64)
    return np.asarray(x @ vectors.T)


def on_curve(t: Wholes, curve: Wholes, bits: int) -> Wholes:
    """The curve at t, which is not negative; steps within a cell are counted in at most 15 bits."""
    cell = np.minimum(t >> bits, len(curve) - 1)
    after = np.minimum(cell + 1, len(curve) - 1)
    coarse = max(0, bits - UNIT_BITS)
    step = (t & ((1 << bits) - 1)) >> coarse
    return np.asarray(curve[cell] - (((curve[cell] - curve[after]) * step) >> (bits - coarse)))


def powers(u: Wholes, degree: int) -> Wholes:
    """u^degree for |u| < 2^15, in units of 2^(15 degree - 30)."""
    if degree == 0:
        return np.full_like(u, 1 << 2 * UNIT_BITS)
    result = u << UNIT_BITS
    for _ in range(degree - 1):
        result = (result * u) >> UNIT_BITS
    return result


def weighted(values: Wholes, weights: Wholes, counts: tuple[int, ...]) -> Wholes:
    """Weighted sums of kernel values, one per column of the weights or per pair of classes."""
    return pair_sums(values, weights, counts) if counts else values @ weights


def whole_features(at: At) -> int:
    """The width of the whole features a node reads."""
    whole_width(at)
    return at.d


def whole_width(at: At) -> int:
    """The width of the whole numbers a node reads."""
    need(bool(at.x.whole), f"%{at.node.x} is not in whole numbers")
    return int(at.x.width)


def fits(size: int, most: int, what: str) -> int:
    """The size, if it is within the type."""
    need(size <= most, f"{what} could reach {size}, beyond {'32' if most == INT32 else '64'} bits")
    return size


def sizes(table: Wholes) -> Wholes:
    """Sums of absolute values, row by row."""
    return np.asarray(np.abs(table).sum(axis=-1))


def sound_shift(shift: int) -> None:
    need(0 <= shift <= MOST_SHIFT, f"shift {shift} is not within 0 and {MOST_SHIFT}")


def kernel_limit(at: At) -> int:
    """The largest size of a kernel value; what leads to it is held against 32 bits."""
    d = whole_features(at)
    need(at.curve.ndim == 1 and len(at.curve) > 0, "the curve has no points")
    need(at.shape in ("exp2", "tanh", "power", "identity"), f"no whole numbers for {at.shape!r}")
    sound_shift(at.cell_bits)
    sound_shift(at.offset_shift)
    limit, offsets = at.x.limit, np.abs(whole(at.offsets))
    dots = limit * sizes(whole(at.vectors))
    if at.shape == "exp2":
        need(bool((whole(at.offsets) >= 0).all()), "a squared norm is below zero")
        reach = d * limit**2 + (offsets << at.offset_shift) + 2 * dots
    else:
        reach = dots + offsets
    reached = fits(int(reach.max(initial=0)), INT32, "a dot product")
    if at.shape in ("exp2", "tanh"):
        curve = int(np.abs(whole(at.curve)).max())
        return fits(curve, (1 << UNIT_BITS), "the curve")
    if at.shape == "identity":
        return reached
    need((reached >> at.cell_bits) + 1 < 1 << UNIT_BITS, "the base of a power is beyond 15 bits")
    return 1 << 2 * UNIT_BITS


def weighted_limit(weights: NDArray[Any], most: int, counts: tuple[int, ...]) -> int:
    """The largest size of a weighted sum of values up to `most`, at any time."""
    values = np.full((1, len(weights)), 1)
    return int(weighted(values, np.abs(weights.astype(np.int64)), counts).max(initial=0)) * most


def summed_scores(at: At, width: int, largest: int, what: str) -> Type:
    """The type of scores that are sums, up to `largest`, over 2^shift to the nearest, plus a bias."""
    sound_shift(at.shift)
    rounded = fits(largest + ((1 << at.shift) >> 1), INT64, what)
    limit = (rounded >> at.shift) + 1 + int(np.abs(whole(at.bias)).max(initial=0))
    return Type(Kind.SCORES, width, whole="i32", limit=fits(limit, INT32, "a score"))


def quantised_features(at: At) -> Type:
    """The type of features in whole numbers within the limit of a node."""
    need(at.bits in (8, 16), f"no whole numbers of {at.bits} bits")
    need(0 < at.limit < 1 << (at.bits - 1), f"limit {at.limit} does not fit {at.bits} bits")
    return Type(Kind.FEATURES, at.d, whole="i8" if at.bits == 8 else "i16", limit=at.limit)


def needs_int64(at: At) -> bool:
    """Whether a weighted sum needs 64 bits."""
    most = kernel_limit(at)
    rounding: int = (1 << at.shift) >> 1
    return weighted_limit(at.weights, most, at.counts) + rounding > INT32


def kernel_flops(node: Any) -> int:
    """Operations of one kernel value beside its dot product."""
    return 2 * node.degree if node.shape == "power" else SHAPE_FLOPS[node.shape] // 2
