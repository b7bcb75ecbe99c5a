"""Rounding of Taylor polynomials in float32 code: what a score may be off by, one constant per order.

exp(-u) u^q is at most .4289, .3679, .4099, .5413 and .8209 for q = 1/2, 1, 3/2, 2 and 5/2, so that a term
of degree n in h is bounded however far the row is. h is off by one rounding, u by d + 4 of them, a dot
product by d + 2 (and one for its table), exp by 2e-7 and the result by a few more. A coordinate y is a dot
product, so all r of them together are off by (d + 3) sqrt(r) roundings of |h|.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

U = 2.0**-24  # unit roundoff of float32
OFFLINE = 1e-8  # of the norm of the sum: rounding of the tables' own computation in float64
SAFE = 1.01  # for products of roundings


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


def slack(d: int, rank: int) -> float:
    """What |h|^2 - |y|^2 may be off by, over |h|^2."""
    return SAFE * U * (d + 4 + 2 * (d + 3) * math.sqrt(rank) + rank + 4)


def order_margins(sizes: Sizes, d: int, rank: int, fixed: float) -> list[float]:
    """Bounds for orders 1, 2 and 3, `fixed` added; rank 0 if the coordinates are the features."""
    size = sizes.constant + 0.4289 * sizes.slope
    first = (d + 12) * size + (d + 5) * (0.3679 * sizes.constant + 0.4099 * sizes.slope)
    first += 2 * (abs(sizes.bias) + size)
    turn = (d + 3) * math.sqrt(rank) if rank else float(d)
    width = rank or d
    second = 0.3679 * ((2 * turn + 2 * width + 10) * sizes.form + 10 * sizes.largest)
    second += 0.5413 * (d + 5) * sizes.largest
    if rank:
        second += 0.3679 * (2 * slack(d, rank) / U + 12) * (sizes.middle + sizes.loose)
        second += 0.5413 * (d + 5) * sizes.middle
    third = (0.4099 * (3 * turn + 3 * width + 20) + 0.8209 * (d + 5)) * sizes.cubes
    return [SAFE * U * float(upto) + fixed for upto in np.cumsum([first, second, third])]
