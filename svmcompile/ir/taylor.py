"""Nodes of Taylor polynomials about centres, and of programs whose rows all fall into one leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kinds import IndexTable, Lazy, Level, Table, Value


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

    With `sparse`, code may look at features that are not zero alone, and take |x|^2 - 2 x . c + |c|^2 for
    |h|^2 and products of x less those of c for products of h; gaps and margins are wide enough for that.
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
    sparse: bool = False  # with one leaf only


@dataclass(frozen=True, slots=True)
class TiledTaylor:
    """`Scale`, a route of planes (or none) and `TaylorSum` in one, for processors with vector instructions.

    Rows of features are filled up with zeros to P numbers, whole vectors, and so are coordinates to R:
    h itself, or r axes filled up to whole groups. `planes` lie side by side, [groups, d, lanes], and
    `sides` tells for each four of them and each outcome which leaves it leaves; or they are filled up,
    [planes, P], and the tree is walked; with one leaf they are a zero. Planes see x before it is scaled.

    `squares` lie in fours of rows, each filled up to whole vectors that hold the last of the four. `cubes`
    holds, for each such four and each c not below its first, the four rows that y_c goes with.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    exact: Lazy
    shift: Table  # [P]
    factor: Table  # [P]
    offset: Table  # [P]
    planes: Table
    thresholds: Table  # one per plane and what fills up
    children: IndexTable  # [planes, 2]
    sides: IndexTable  # [fours of planes, 16], sets of leaves as bits; a zero where there are none
    centres: Table  # [leaves, P]
    constants: Table
    slopes: Table  # [leaves, P]
    axes: Table  # [leaves, rows of axes, P]; a zero where y is h
    squares: Table  # [leaves, numbers]
    cubes: Table  # [leaves, numbers]
    middles: Table
    loose: Table
    steps: Table
    gaps: Table
    margins: Table
    bias: Table
    gates: tuple[float, ...]
    gamma: float
    slack: float
    rank: int  # axes, without what fills up; 0 where y is h
    lanes: int  # of the vectors that tables are filled up for


@dataclass(frozen=True, slots=True)
class PickedTaylor:
    """A sparse `TaylorSum`: what the features that are not zero bring is added up, all products at once.

    columns[j] holds what feature j brings: the axes' j-th numbers, centre_j, slope_j, zeros up to whole
    groups of `lanes`; `starts` is what the centre itself would bring. Rows of
    `squares`, and of each triangle of `cubes`, are filled up to whole groups.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    exact: Lazy
    columns: Table  # [d, L]
    starts: Table  # [L]
    constants: Table  # [1]
    squares: Table
    cubes: Table
    middles: Table
    loose: Table
    steps: Table
    gaps: Table
    margins: Table
    bias: Table
    gates: tuple[float, ...]
    gamma: float
    slack: float
    rank: int
    lanes: int
