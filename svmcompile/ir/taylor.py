"""Nodes of Taylor polynomials about centres, and of programs whose rows all fall into one leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kinds import Lazy, Level, Table, Value


@dataclass(frozen=True, slots=True)
class OneLeaf:
    """The leaf of a tree without a test: every row falls into leaf 0."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value


@dataclass(frozen=True, slots=True)
class TaylorSum:
    """A sum of RBF kernels by its Taylor polynomial about the row's centre, where that is sure of the sign.

    With h = x - centres[leaf], u = gamma |h|^2 and the cell floor(u steps[leaf]) of the row,

        score_1 = bias + exp(-u) (constants[leaf] + slopes[leaf] . h)
        score_2 = score_1 + exp(-u) sum_{a <= b} squares[leaf, ba] h_a h_b
        score_3 = score_2 + exp(-u) sum_{a <= b <= c} cubes[leaf, cba] h_a h_b h_c

    Order p is sure where score_p + lows[p - 1, leaf, cell] > 0 or score_p + highs[p - 1, leaf, cell] < 0.
    The first score that is sure is given, else (and for rows beyond the last cell, or not finite) the
    exact one. Lows and highs bound what the polynomial leaves out, and the rounding of float32 code.
    """

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    leaf: Value
    exact: Lazy
    centres: Table  # [leaves, d], float32 numbers
    constants: Table  # [leaves]
    slopes: Table  # [leaves, d]
    squares: Table  # [leaves, d (d + 1) / 2], lower triangle row by row; below order 2 a zero
    cubes: Table  # [leaves, d (d + 1) (d + 2) / 6], a larger triangle for each c; below order 3 a zero
    steps: Table  # [leaves], cells per unit of u
    lows: Table  # [order, leaves, cells]
    highs: Table  # [order, leaves, cells]
    bias: Table  # [1]
    gamma: float
