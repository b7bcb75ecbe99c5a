"""Rounding of Taylor polynomials whose code looks at features that are not zero alone.

Such code has |x|^2 - 2 x . c + |c|^2 for |h|^2, and x . v - c . v for h . v. With H the largest |h| within
the cells, C = |c| and |x| <= H + C, U = 2^-24 and terms that go through n additions (sums are taken in
segments), docs/certified-proof.md:

    rate    U (n + 6): of each term, in the dot product, the table's entry and what is added to it
    |h|^2   rate (H + 2 C)^2
    h . v   rate (H + 2 C) |v|; along r axes sqrt(r) times that, all together

What follows from these errors is in `extra`; what is rounded after them is as in `rounding`, without the
dot products over features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.taylor.rounding import SAFE, TINY, U
from svmcompile.ir.arithmetic import in_segments
from svmcompile.ir.kernel import Array

ROOM = 1.05  # the true u may be so much beyond the last cell
LARGEST = 0.04  # of the reach: what u may be off by, at most


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
