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

    With h = x - centres[leaf], u = gamma |h|^2, the cell floor(u steps[leaf]) of the row, its r coordinates
    y = axes[leaf] h, or h itself without axes, and what they leave, z^2 = (1 + slack) |h|^2 - |y|^2,

        score_1 = bias + exp(-u) (constants[leaf] + slopes[leaf] . h)
        score_2 = score_1 + exp(-u) (sum_{a <= b} squares[leaf, ba] y_a y_b + middles[leaf] z^2)
        score_3 = score_2 + exp(-u) sum_{a <= b <= c} cubes[leaf, cba] y_a y_b y_c

    Order p is sure of its sign where |score_p| is above

        margins[p, leaf] + u gaps[p, leaf, cell, side]
            + exp(-u) loose[p, leaf] . (|y|^2, z^2, |y|^2 z^2, z^4)

    with side 0 for scores above zero and 1 below. The last part is there with axes alone, from order 2 on.
    Order p + 1 is tried where |score_p| > gates[p] (margins + u gaps of order p + 1). The first score that
    is sure is given, else (and for rows beyond the last cell, or not finite) the exact one. Gaps bound
    what the polynomial leaves out, margins the rounding of float32 code.
    """

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    leaf: Value
    exact: Lazy
    centres: Table  # [leaves, d], float32 numbers
    constants: Table  # [leaves]
    slopes: Table  # [leaves, d]
    axes: Table  # [leaves, r, d], orthonormal rows; a zero where y is h
    squares: Table  # [leaves, r (r + 1) / 2], lower triangle row by row; below order 2 a zero
    cubes: Table  # [leaves, r (r + 1) (r + 2) / 6], a larger triangle for each c; below order 3 a zero
    middles: Table  # [leaves]; without axes a zero
    loose: Table  # [order - 1, leaves, 4]; without axes a zero
    steps: Table  # [leaves], cells per unit of u
    gaps: Table  # [order, leaves, cells, 2]
    margins: Table  # [order, leaves]
    bias: Table  # [1]
    gates: tuple[float, ...]  # one fewer than orders
    gamma: float
    slack: float = 0.0  # keeps z from being too small by rounding
