"""Nodes of sums that are known no better than a decision needs, and of double arithmetic.

Both bounded nodes hold kernel values to the first few vectors (the basis) as
coordinates of the row in the kernel's own space: what the basis leaves of the
row, times what it leaves of the weights, bounds what the estimate misses.

`slacks`, `margins` and `rounding` cover the rounding of float32 code, so that
an estimate that is sure stays sure in every backend and number type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, Lazy, Level, Table, Value


@dataclass(frozen=True, slots=True)
class Widen:
    """out = x in double, whatever the program's number type; so is all that is computed from it."""

    level: ClassVar = Level.BOTH
    out: Value
    x: Value


@dataclass(frozen=True, slots=True)
class BoundedSum:
    """One kernel sum, known no better than needed: an estimate, as soon as the bound on its error allows.

    k_i = kernel(x, vectors[i]), in order. After the first c = ends[s] of them, with q = T k over the
    first r = min(c, len(projection)) rows of the lower triangle T that `coordinates` holds row by row,

        score = bias + projection . q  while r = c,  else bias + estimates . k  (the stage's own estimates)
        error = residuals[s] sqrt(max(kernel(x, x) - |q|^2, 0) + slacks[s] size^2) + margins[s] size

    and with all vectors score = bias + weights . k, error = rounding[0] sum_i |weights_i k_i| +
    rounding[1] size. A sign is sure where |score| > error, a value (tolerance not below zero) where
    error <= tolerance. The first score that is sure is given; without one, the value after all vectors,
    but for a sign the exact sum. size = 1 for an RBF kernel, else
    max(1, (gamma |x| max(|x|, reach) + |coef0|)^degree). A row that is not finite is never sure.
    """

    level: ClassVar = Level.MATH
    out: Value
    x: Value
    exact: Lazy
    vectors: Table  # [n, d], the basis first
    weights: Table  # [n]
    bias: Table  # [1]
    ends: IndexTable  # [stages], rising
    coordinates: Table  # [r (r + 1) / 2]
    projection: Table  # [r]
    estimates: Table  # [sum of the ends beyond r], stage by stage; a zero where there are none
    residuals: Table  # [stages]
    slacks: Table  # [stages]
    margins: Table  # [stages]
    rounding: Table  # [2]
    reach: float
    tolerance: float
    kernel: Kernel


@dataclass(frozen=True, slots=True)
class BoundedVote:
    """LIBSVM's vote, from as few pairs as decide it, each known no better than its sign needs.

    The class with the largest guess is the champion. It meets the others in their order, except those
    it has met already; who beats it is the next champion, and a champion that has beaten all others is
    the label. When a class that has been beaten would become champion, all pairs are settled and vote.

    A pair is settled as a `BoundedSum` settles a sign, with the basis picks[starts[p]:starts[p + 1]],
    all its coordinates, a stage after every `block` values and at the end of the basis, then with all
    vectors of its two classes; pairs share kernel values. One that stays unsure makes the label exact.
    """

    level: ClassVar = Level.MATH
    out: Value
    x: Value
    guess: Value  # [k]
    exact: Lazy  # a label
    vectors: Table  # [n, d], grouped by class
    weights: Table  # [k - 1, n], as in `PairSum`
    bias: Table  # [pairs]
    starts: IndexTable  # [pairs + 1]
    picks: IndexTable  # [basis vectors of all pairs]
    coordinates: Table  # lower triangles, pair by pair
    projections: Table  # [basis vectors of all pairs]
    residuals: Table  # [stages of all pairs]
    slacks: Table
    margins: Table
    rounding: Table  # [pairs, 2]
    reach: float
    block: int
    counts: tuple[int, ...]
    kernel: Kernel
