"""The node of a sum in blocks whose rest is a Taylor polynomial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, Lazy, Level, Table, Value


@dataclass(frozen=True, slots=True)
class JetSum:
    """A sum of RBF kernels, vector by vector; what is still to come is a Taylor polynomial (a jet).

    k_i = kernel(x, vectors[i]), in order. With h = x - centre, u = gamma |h|^2 and the cell
    floor(u steps[0]) of the row, after the first ends[j] vectors

        score_j = bias + sum_{i < ends[j]} weights_i k_i
                  + exp(-u) (constants[j] + slopes[j] . h + sum_{a <= b} squares[j, ba] h_a h_b)

    is sure of its sign where |score_j| is above

        margins[j] + u gaps[j, cell, side] + rounding[0] sum_{i < ends[j]} |weights_i k_i|

    with side 0 for scores above zero and 1 below. Jets are for rows within the cells. The first score that
    is sure is given. Without one it is bias + sum_i weights_i k_i if that is larger than
    rounding[0] sum_i |weights_i k_i| + rounding[1], else the exact score; for rows that are not finite the
    latter. Gaps bound what the jets of vectors to come leave out, margins the rounding of float32 code.
    """

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    exact: Lazy
    vectors: Table  # [n, d], block after block
    weights: Table  # [n]
    bias: Table  # [1]
    ends: IndexTable  # [jets], rising, below n
    centre: Table  # [d], float32 numbers
    constants: Table  # [jets]
    slopes: Table  # [jets, d]
    squares: Table  # [jets, d (d + 1) / 2], lower triangle row by row
    steps: Table  # [1], cells per unit of u
    gaps: Table  # [jets, cells, 2]
    margins: Table  # [jets]
    rounding: Table  # [2]
    kernel: Kernel
