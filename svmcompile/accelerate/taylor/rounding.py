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

Rounding of Taylor polynomials whose code looks at features that are not zero alone.
Such code has |x|^2 - 2 x . c + |c|^2 for |h|^2, and x . v - c . v for h . v. With H the largest |h| within
the cells, C = |c| and |x| <= H + C, U = 2^-24 and terms that go through n additions (sums are taken in
segments), docs/certified-proof.md:

    rate    U (n + 6): of each term, in the dot product, the table's entry and what is added to it
    |h|^2   rate (H + 2 C)^2
    h . v   rate (H + 2 C) |v|; along r axes sqrt(r) times that, all together

What follows from these errors is in `extra`; what is rounded after them is as above, without the dot
products over features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import ARITHMETIC, Array, in_segments

U, U64 = ARITHMETIC["f32"].u, ARITHMETIC["f64"].u
EXP = 2.6e-7 / U  # relative error of exp2 in generated code: 2.48e-7 with short chains, the others less
SAFE = 1.01  # for products of roundings, and those of the margins themselves
TINY = ARITHMETIC["f32"].smallest  # numbers below may be taken as zero
# Within these, no product overflows or vanishes that matters.
LEAST_GAMMA, MOST_GAMMA = 1e-20, 1e20
MOST_MASS = 1e18  # of the weights and the bias
MOST_FEATURES = 30_000  # times the root of the number of axes
MOST_ENTRY = 1e30  # of a table
MOST_RADIUS = 1e8  # of cells, where nothing fades with the distance
ROOM = 1.05  # the true u may be so much beyond the last cell
LARGEST = 0.04  # of the reach: what u may be off by, at most


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
    """What |h|^2 - |y|^2 may be off by, over |h|^2; without axes nothing."""
    return SAFE * U * (d + 8 + 2 * _turn(d, rank) + rank) if rank else 0.0


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


def bound_underflow(d: int, rank: int, gamma: float, gap: float, reach: float, fades: bool = True) -> float:
    """What all numbers below the normal range may add up to: in scores, in u times gaps up to `gap`."""
    farthest = math.sqrt((1.0 if fades else reach) / gamma)
    scores = 4.0 * (d + (rank or d) + 4) ** 2 * math.pow(1 + farthest, 4 if rank else 3)
    return TINY * (scores + 1 + reach + (2 * d * gamma + 4) * gap)


def offline(m: int, d: int, rank: int) -> float:
    """Rounding of the tables' own computation in float64, over the sum of absolute weights."""
    return 128 * (m + d + 16) * (1 + rank) * U64


@dataclass(frozen=True, slots=True)
class Apart:
    """What sums over the features that are not zero are off by."""

    farthest: float  # H
    distance: float  # of |h|^2
    product: float  # of h . v, over |v|
    gamma: float

    @property
    def u(self) -> float:
        return self.gamma * self.distance

    @property
    def usable(self) -> bool:
        """Whether rows within the cells are no farther than assumed."""
        return self.u <= LARGEST * self.gamma * self.farthest**2 / ROOM


def apart(centre: Array, gamma: float, reach: float) -> Apart:
    """For rows about a centre, u up to `reach`."""
    farthest = math.sqrt(ROOM * reach / gamma)
    rate, far = SAFE * U * (in_segments(len(centre)) + 6), farthest + 2 * float(np.linalg.norm(centre))
    lost = TINY * 4 * (len(centre) + 2)
    return Apart(farthest, rate * far**2 + lost, rate * far + lost, gamma)


@dataclass(frozen=True, slots=True)
class Parts:
    """How large the parts of a polynomial are: bounds of forms on rows of length one."""

    constant: float
    slope: float
    form: float
    middle: float
    loose: Array  # [order - 1, 4]
    cubes: float


def extra(off: Apart, parts: Parts, order: int, rank: int, gap: float) -> list[float]:
    """What is to be added to the margin of each order, where no bound over u is above `gap`."""
    h, u = off.farthest, off.u
    first = off.product * parts.slope + u * (parts.constant + parts.slope * h + gap)
    found = [first]
    turned = math.sqrt(rank) * off.product
    along = 2 * h * turned + turned**2  # of |y|^2
    left = off.distance + along  # of what axes leave
    for at in range(1, order):
        forms = parts.form * (along + u * h**2) + parts.middle * (left + u * h**2)
        bounds = np.array([along, left, (along + left) * h**2 + along * left, 2 * h**2 * left + left**2])
        bounds += u * np.array([h**2, h**2, h**4, h**4])
        total = first + forms + float(parts.loose[at - 1] @ bounds)
        if at > 1:
            total += parts.cubes * ((h + turned) ** 3 - h**3 + u * h**3)
        found.append(total)
    return [SAFE**2 * one for one in found]


def check_limits(gamma: float, mass: float, d: int) -> None:
    """Refuses a sum whose numbers are beyond what float32 code of it can hold."""
    if not LEAST_GAMMA <= gamma <= MOST_GAMMA:
        _refuse(f"gamma is {gamma:.3g}, not within {LEAST_GAMMA:g} and {MOST_GAMMA:g}; scale the features")
    if not math.isfinite(mass) or mass > MOST_MASS:
        _refuse(f"weights and bias add up to {mass:.3g}, above {MOST_MASS:g}; divide them all by a number")
    check_width(d, 1)


def check_width(d: int, rank: int) -> None:
    """Refuses so many features and axes that roundings add up to more than a few thousandths."""
    if d * math.sqrt(max(rank, 1)) > MOST_FEATURES:
        _refuse(f"{d} features and {rank} axes are too many for float32; take fewer axes")


def check_reach(radius: float) -> None:
    """Refuses rows so far from their centre that float32 cannot hold the fourth power of the distance."""
    if not radius <= MOST_RADIUS:
        _refuse(f"rows lie {radius:.3g} from their centre, above {MOST_RADIUS:g}; scale the features")


def check_tables(*tables: Array) -> None:
    """Refuses tables whose products float32 could not hold."""
    largest = max(float(np.abs(table).max(initial=0.0)) for table in tables)
    if not largest <= MOST_ENTRY:
        _refuse(f"a coefficient of {largest:.3g} is above {MOST_ENTRY:g}; scale the features")


def _refuse(reason: str) -> None:
    raise UnsupportedError(f"Taylor expansions: {reason}, or use method exact")
