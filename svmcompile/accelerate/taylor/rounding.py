"""Rounding of Taylor polynomials in float32 code: what a score may be off by, one constant per order.

Each operation is off by a share u = 2^-24 of its result, or by TINY where that is below the normal
range; sums may be taken in any order, with or without fused products. Counted in u, with W the number
of coordinates (features, or axes), docs/certified-proof.md step by step:

    h            1, of a difference of float32 numbers
    u            d + 4: two of h, d of the dot product, gamma, its product
    exp(-u)      d + 6 times u, for the factor log2 e and its product as well, and EXP of exp2
    y            (d + 2) sqrt(W) of |h|, all of them together
    score        2 of the bias, 2 + EXP of exp(-u) sum, and what the sum is off by:
    order 1      2 of the constant, d + 3 of slope . h
    order 2      2 W + 4 of the form, with axes twice that of y; W + 1 of what was there before
    order 3      3 W + 6 of the form (more for many W), with axes three times that of y; W of what was there

exp(-u) u^q is at most (q / e)^q, so that a term of degree 2 q in h is bounded however far the row is. Sums
of polynomial kernels have no such factor: there u^q is at most that of the farthest cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

U = 2.0**-24  # unit roundoff of float32
U64 = 2.0**-53
EXP = 2.6e-7 / U  # relative error of exp2 in generated code: 2.48e-7 with short chains, the others less
SAFE = 1.01  # for products of roundings, and those of the margins themselves
TINY = 2.0**-126  # numbers below may be taken as zero

# Within these, no product overflows or vanishes that matters.
LEAST_GAMMA, MOST_GAMMA = 1e-20, 1e20
MOST_MASS = 1e18  # of the weights and the bias
MOST_FEATURES = 30_000  # times the root of the number of axes
MOST_ENTRY = 1e30  # of a table
MOST_RADIUS = 1e8  # of cells, where nothing fades with the distance


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large the parts of a polynomial are, in units in which gamma is 1."""

    bias: float
    constant: float
    slope: float
    form: float  # squared sum of the entries, rooted: of y where there are axes
    largest: float  # bound of the whole form
    cubes: float
    middle: float = 0.0
    loose: float = 0.0  # sum of the bounds on what axes leave, where |h|^2 is 1
    far_loose: float = 0.0  # those of them with |h|^4


def peak(q: float) -> float:
    """The largest value of exp(-u) u^q."""
    return (q / math.e) ** q if q > 0 else 1.0


def distance_rounding(d: int) -> float:
    """What u, its place among the cells, and u times a bound may be off by, over themselves."""
    return SAFE * U * (d + 10)


def slack(d: int, rank: int) -> float:
    """What |h|^2 - |y|^2 may be off by, over |h|^2."""
    return SAFE * U * (d + 8 + 2 * _turn(d, rank) + rank)


def _turn(d: int, rank: int) -> float:
    """What coordinates along axes are off by together, over |h| u."""
    return (d + 2) * math.sqrt(rank)


class Part(NamedTuple):
    """A part of the sum with a power of u left out."""

    bound: float
    entries: float  # bound on the sum of its terms' absolute values
    rounded: float  # what it is off by, in U

    def again(self, times: int) -> Part:
        """Rounded so many times more."""
        return self._replace(rounded=self.rounded + times * self.entries)


@dataclass(frozen=True, slots=True)
class Factor:
    """What sums are multiplied by: exp(-u), or 1 where u goes no farther than a reach."""

    reach: float = 0.0  # 0: exp(-u)

    def most(self, q: float) -> float:
        """The largest value of the factor times u^q."""
        return self.reach**q if self.reach else peak(q)

    def rounded(self, d: int, q: float, bound: float) -> float:
        """What its rounding and two more do to a part of that size, in U."""
        if self.reach:
            return 2 * bound * self.most(q)
        return (EXP + 2) * bound * peak(q) + (d + 6) * bound * peak(q + 1)

    def short(self, along: float, d: int, q: float) -> float:
        """The same where bounds are multiplied, which were off by `along` before."""
        return along * self.most(q) + (0.0 if self.reach else (d + 6) * peak(q + 1))


def order_margins(sizes: Sizes, d: int, rank: int, fixed: float, reach: float = 0.0) -> list[float]:
    """Bounds for orders 1, 2 and 3, `fixed` added; rank 0 if the coordinates are the features.

    `reach`: of u, where no exp(-u) is there to bound it.
    """
    found, factor = [], Factor(reach)
    for order, parts in enumerate(_parts(sizes, d, rank)):
        counted = 2 * abs(sizes.bias) + (_lost(sizes, d, rank, factor) if order else 0.0)
        for q, part in parts.items():
            counted += part.rounded * factor.most(q) + factor.rounded(d, q, part.bound)
        found.append(SAFE * (U * counted + fixed))
    return found


def _parts(sizes: Sizes, d: int, rank: int) -> list[dict[float, Part]]:
    """Of each order, the parts of its sum by powers of u."""
    width, turn = rank or d, _turn(d, rank)
    form = 2 * width + 4 + (2 * turn if rank else 0)
    cubes = cubic_roundings(width) + (3 * turn if rank else 0)
    middle = (2 * slack(d, rank) / U + width + 3) * sizes.middle
    first = {
        0.0: Part(sizes.constant, sizes.constant, 2 * sizes.constant),
        0.5: Part(sizes.slope, sizes.slope, (d + 3) * sizes.slope),
    }
    square = Part(sizes.largest + sizes.middle, sizes.form + sizes.middle, form * sizes.form + middle)
    cube = Part(sizes.cubes, sizes.cubes, cubes * sizes.cubes)
    second = {q: part.again(width + 1) for q, part in first.items()} | {1.0: square}
    third = {q: part.again(width) for q, part in second.items()} | {1.5: cube}
    return [first, second, third]


def cubic_roundings(width: int) -> int:
    """Of a product of three: row by row, or in fours of rows that are added up vector by vector."""
    fours = width // 4 + 1
    return max(3 * width, width + fours * (fours + 1) // 2 + 4) + 6


def _lost(sizes: Sizes, d: int, rank: int, factor: Factor) -> float:
    """What the bounds on what axes leave may be short of, in u."""
    along = 2 * _turn(d, rank) + rank + 14
    near, far = factor.short(along, d, 1), factor.short(along, d, 2)
    return near * sizes.loose + far * sizes.far_loose if rank else 0.0


def vanished(d: int, rank: int, gamma: float, gap: float, reach: float, fades: bool = True) -> float:
    """What all numbers below the normal range may add up to: in scores, in u times gaps up to `gap`."""
    farthest = math.sqrt((1.0 if fades else reach) / gamma)
    scores = 4.0 * (d + (rank or d) + 4) ** 2 * math.pow(1 + farthest, 4 if rank else 3)
    return TINY * (scores + 1 + reach + (2 * d * gamma + 4) * gap)


def offline(m: int, d: int, rank: int) -> float:
    """Rounding of the tables' own computation in float64, over the sum of absolute weights."""
    return 128 * (m + d + 16) * (1 + rank) * U64
