"""The node of a vote whose pairs are Taylor polynomials about a centre of the champion's class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, Lazy, Level, Table, Value


@dataclass(frozen=True, slots=True)
class TaylorVote:
    """LIBSVM's vote, from the pairs of few classes, each known no better than its sign needs.

    Pairs may be differences of the sums of a one-vs-rest machine, of which the largest wins: so does its
    class all its pairs.

    The class with the largest guess_weights . x + guess_bias is the champion. It meets all others at
    once; who beats it is the next champion, and a champion that has beaten all others is the label. When
    a class that has been beaten would become champion, all pairs are settled by direct sums and vote.

    The champion's tests, from its root on, lead to one of its centres: the side where
    planes . x > thresholds is the second child, and a child below zero is the centre ~child. There,
    with h = x - centre, u = gamma |h|^2, the cell floor(u step), coordinates y = axes h (or h itself) and
    what they leave, z^2 = (1 + slack) |h|^2 - |y|^2, the pair with the q-th of the other classes has

        score_1 = offsets[champion, q] + exp(-u) (constants[q] + slopes[q] . h)
        score_2 = score_1 + exp(-u) (sum_{a <= b} squares[q, ba] y_a y_b + middles[q] z^2)

    above zero for the champion, and order p is sure of it where |score_p| is above

        margins[p, q] + u gaps[p, cell, side, q]   (+ exp(-u) loose[q] . (|y|^2, z^2) with axes, at order 2)

    with side 0 for scores above zero and 1 below. Of several that beat the champion for sure, the one
    with the least score counts. Pairs that stay open, and all pairs of rows beyond the last cell, go to
    the direct sum over the vectors of their two classes, the least score first, which is sure where it
    is above rounding[0] sum_i |weights_i k_i| + rounding[1]; where it is not, to the same sum in double,
    whose bound `closer` tells likewise. One that stays unsure makes the label exact, and so does a row
    that is not finite.

    Where there are norms and starts, bounds are wide enough for code that passes over zeros of a row: for
    products with x less those with the centre, and |x|^2 + |v|^2 - 2 x . v for distances.

    `vectors` and what belongs to them lie in blocks of lanes. With more than one lane, the last index of
    tables by class, q and axis is filled up to whole lanes, matrices with d columns are turned, and every
    row of a triangle is filled up.
    """

    level: ClassVar = Level.BOTH
    out: Value
    x: Value
    exact: Lazy  # a label
    guess_weights: Table  # [k, d]; in lanes [d, k]
    guess_bias: Table  # [k]
    roots: IndexTable  # [k], tests, or centres ~root
    planes: Table  # [tests, d]; a zero where there are none, as the next
    thresholds: Table  # [tests]
    children: IndexTable  # [tests, 2]
    centres: Table  # [centres, d], float32 numbers
    steps: Table  # [centres], cells per unit of u
    offsets: Table  # [k, k - 1]
    constants: Table  # [centres, k - 1]
    slopes: Table  # [centres, k - 1, d]; in lanes [centres, d, k - 1]
    axes: Table  # [centres, r, d], orthonormal rows, in lanes [centres, d, r]; a zero where y is h
    squares: Table  # [centres, k - 1, r (r + 1) / 2], lower triangles; below order 2 a zero
    middles: Table  # [centres, k - 1]; without axes a zero, as the next
    loose: Table  # [centres, 2, k - 1]
    gaps: Table  # [order, centres, cells, 2, k - 1]
    margins: Table  # [order, centres, k - 1]
    vectors: Table  # [blocks, d, lanes], grouped by class
    weights: Table  # [k - 1, blocks * lanes], as in `PairSum`
    bias: Table  # [pairs]
    rounding: Table  # [pairs, 2]
    closer: Table  # [pairs, 2]
    norms: Table  # [blocks * lanes], |vectors|^2, where code may pass over zeros of a row; else a zero
    starts: Table  # [centres, k - 1 + r], slopes and axes times the centre, likewise
    rank: int  # r; 0 where y is h
    counts: tuple[int, ...]  # vectors per class, with what fills up
    kernel: Kernel
    slack: float = 0.0  # keeps z from being too small by rounding
    reach: float = 0.0  # not read by an RBF kernel
