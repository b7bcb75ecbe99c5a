"""Nodes of programs in whole numbers: one per C routine, values int8, int16 or int32.

A program whose `number` is "q15" or "q7" turns features into whole numbers once, with `Quantise`, and
computes with these alone; `Dequantise` gives decision values back as float. Type rules hold every sum
against the C type it is computed in, for any row within the limit, so nothing overflows.
Shifts to the right round down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kinds import Level, Shape, Table, Value


@dataclass(frozen=True, slots=True)
class Quantise:
    """out = round((x - shift) * factor), half away from zero, held within +-limit; NaN becomes -limit."""

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    shift: Table  # [d], or [1] for all features
    factor: Table  # [d], or [1] for all features
    bits: int  # of the whole numbers: 8 or 16
    limit: int


@dataclass(frozen=True, slots=True)
class Requantise:
    """out = ((x - shift) * factor) / 2^scale_bits to the nearest, held within +-limit; x is whole."""

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    shift: Table  # [d]
    factor: Table  # [d]
    scale_bits: int
    bits: int  # of the result: 8 or 16
    limit: int


@dataclass(frozen=True, slots=True)
class FixedSum:
    """Kernel sums in whole numbers: t_i from x . vectors[i], k_i from t_i, then weighted sums.

    "exp2": t_i = |x|^2 + offsets[i] * 2^offset_shift - 2 x . vectors[i], not below 0; k_i = curve(t_i).
    "tanh": t_i = x . vectors[i] + offsets[i], not below 0; k_i = curve(t_i).
    "power": u_i = t_i / 2^cell_bits to the nearest, k_i = u_i^degree in units of 2^(15 degree - 30).
    "identity": k_i = t_i.
    The curve goes straight from point to point, 2^cell_bits apart, and stays at its last point.
    out = bias + (sum_i weights[i] k_i) / 2^shift to the nearest; with `counts` one sum per pair of classes.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    vectors: Table  # [n, d]
    offsets: Table  # [n]
    curve: Table  # [points], or [1] where there is none
    weights: Table  # [n, m] or [n, k - 1]
    bias: Table  # [sums]
    counts: tuple[int, ...]
    shape: Shape
    degree: int
    cell_bits: int
    offset_shift: int
    shift: int


@dataclass(frozen=True, slots=True)
class FixedAffine:
    """out = (weights x) / 2^shift to the nearest, + bias, in whole numbers."""

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    weights: Table  # [m, d]
    bias: Table  # [m]
    shift: int


@dataclass(frozen=True, slots=True)
class FixedQuadratic:
    """out = sums / 2^shift to the nearest, + bias, with one quadratic form per sum.

    sums[j] = sum_a x_a (weights[j, a] + sum_{b >= a} squares[j, ab] x_b)
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    squares: Table  # [m, d (d + 1) / 2], upper triangle row by row
    weights: Table  # [m, d]
    bias: Table  # [m]
    shift: int


@dataclass(frozen=True, slots=True)
class Dequantise:
    """out = x * unit: whole numbers as float."""

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    unit: float
