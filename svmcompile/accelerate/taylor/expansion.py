"""The Taylor expansion of an RBF sum about one centre, and the tables that say where it is sure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.taylor.remainder import remainders
from svmcompile.accelerate.taylor.spectra import spectra
from svmcompile.kernel import Array

U = 2.0**-24  # unit roundoff of float32
OFFLINE = 1e-8  # of the norm of the sum: rounding of the tables' own computation in float64
BEYOND = 1.3  # cells reach this much past the farthest row


@dataclass(frozen=True, slots=True)
class RbfSum:
    """bias + sum_i weights_i exp(-gamma |x - vectors_i|^2), and its squared norm in the kernel's space."""

    vectors: Array  # [m, d]
    weights: Array  # [m]
    bias: float
    gamma: float
    norm: float
    input_error: tuple[float, float]  # the row is off by at most e0 + e1 |x|, before it gets here


@dataclass(frozen=True, slots=True)
class Expansion:
    """What `TaylorSum` holds of one centre."""

    centre: Array  # [d], float32 numbers
    constant: float
    slope: Array  # [d]
    squares: Array  # [d (d + 1) / 2]
    cubes: Array  # [d (d + 1) (d + 2) / 6], or one zero below order 3
    step: float
    lows: Array  # [order, cells]
    highs: Array  # [order, cells]


def expand(
    whole: RbfSum, centre: Array, farthest: float, order: int, cells: int = 64, blocks: int = 8
) -> Expansion:
    """The expansion about a centre, for rows at most `farthest` away from it."""
    centre = centre.astype(np.float32).astype(np.float64)
    s = whole.vectors - centre
    a = whole.weights * np.exp(-whole.gamma * np.square(s).sum(axis=1))
    slope = 2 * whole.gamma * (a @ s)
    form = 2 * whole.gamma**2 * (s.T @ (a[:, None] * s))
    bounds = spectra(math.sqrt(2 * whole.gamma) * s, a, whole.norm, max(blocks, order))
    reach = whole.gamma * (BEYOND * max(farthest, 1e-30)) ** 2
    edges = np.linspace(0.0, reach, cells + 1)
    second, first = np.tril_indices(len(centre))
    cubes = _cubes(s, whole.gamma, a) if order > 2 else np.zeros(1)
    margins = _margins(whole, centre, float(a.sum()), slope, form, cubes, BEYOND * farthest)
    tables = [remainders(bounds, p, edges) for p in range(1, order + 1)]
    return Expansion(
        centre=centre,
        constant=float(a.sum()),
        slope=slope,
        squares=form[first, second] * np.where(first == second, 1.0, 2.0),
        cubes=cubes,
        step=cells / reach,
        lows=np.stack([low - margin for (low, _), margin in zip(tables, margins, strict=False)]),
        highs=np.stack([high + margin for (_, high), margin in zip(tables, margins, strict=False)]),
    )


def _cubes(s: Array, gamma: float, a: Array) -> Array:
    """Coefficients of h_a h_b h_c, a <= b <= c: for each c the lower triangle up to it."""
    parts = []
    for c in range(s.shape[1]):
        form = (4 / 3) * gamma**3 * (s[:, : c + 1].T @ ((a * s[:, c])[:, None] * s[:, : c + 1]))
        second, first = np.tril_indices(c + 1)
        orders = np.where(first == second, 3.0, 6.0)  # in how many ways the three factors can stand
        orders = np.where(second == c, np.where(first == c, 1.0, 3.0), orders)
        parts.append(form[first, second] * orders)
    return np.concatenate(parts)


def _margins(
    whole: RbfSum,
    centre: Array,
    constant: float,
    slope: Array,
    form: Array,
    cubes: Array,
    farthest: float,
) -> tuple[float, float, float]:
    """Rounding of float32 code in the scores of order 1, 2 and 3.

    exp(-u) u^q is at most .4289, .3679, .4099, .5413 and .8209 for q = 1/2, 1, 3/2, 2 and 5/2. h is off
    by one rounding, u by d + 4 of them, a dot product by d + 2, exp by 2e-7 and the result by a few more.
    The row itself may be off before it gets here, which moves the sum by at most
    |W| sqrt(2 gamma) |dx|; rows farther away than the last cell do not get here.
    """
    d, gamma, t0 = len(centre), whole.gamma, abs(constant)
    t1, t2 = float(np.linalg.norm(slope)) / math.sqrt(gamma), float(np.linalg.norm(form)) / gamma
    largest = float(np.linalg.norm(form, 2)) / gamma
    size = t0 + 0.4289 * t1
    first = (d + 12) * size + (d + 5) * (0.3679 * t0 + 0.4099 * t1) + 2 * (abs(whole.bias) + size)
    t3 = float(np.linalg.norm(cubes)) / gamma**1.5  # at least the norm of the symmetric tensor
    second = 0.3679 * ((2 * d + 10) * t2 + 10 * largest) + 0.5413 * (d + 5) * largest
    norm = math.sqrt(max(whole.norm, 0.0))
    e0, e1 = whole.input_error
    moved = norm * math.sqrt(2 * gamma) * (e0 + e1 * (float(np.linalg.norm(centre)) + farthest))
    fixed = moved + OFFLINE * norm
    third = 0.4099 * (3 * d + 20) * t3 + 0.8209 * (d + 5) * t3
    upto = np.cumsum([first, second, third])
    return tuple(1.01 * U * float(size) + fixed for size in upto)  # type: ignore[return-value]
