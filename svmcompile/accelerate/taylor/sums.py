"""RBF and polynomial sums seen from one centre: their polynomials, and bounds on what these leave out.

A sum of polynomial kernels seen from one centre: a polynomial in h, with bounds on the orders left out.
With q_i = gamma v_i . c + coef0 and n the kernel's degree,

    f(c + h) = bias + sum_k B_k(h),   B_k(h) = C(n, k) gamma^k sum_i weights_i q_i^(n - k) (v_i . h)^k

and nothing comes after k = n: up to that order the polynomial is the sum itself. Orders that are left out
are forms of degree k, bounded by their spectra like those of an RBF sum. Nothing fades with the distance:
roundings are bounded by how far the cells reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from svmcompile.accelerate.taylor.expansion import NEARER, About, AnySum
from svmcompile.accelerate.taylor.forms import roundings
from svmcompile.accelerate.taylor.rounding import (
    Apart,
    Sizes,
    apart,
    bound_underflow,
    check_limits,
    check_reach,
    offline,
    order_margins,
)
from svmcompile.accelerate.taylor.spectra import (
    FEW_PRODUCTS,
    PARTS,
    Spectra,
    remainders,
    spectra,
    widen,
    window,
)
from svmcompile.ir.arithmetic import Array

MOST_DEGREE = 4  # whose orders have bounds that are sharp enough
MOST_ORDER = 3


@dataclass(frozen=True, slots=True)
class RbfSum(AnySum):
    """bias + sum_i weights_i exp(-gamma |x - vectors_i|^2), and its squared norm in the kernel's space."""

    fades: ClassVar = True
    norm: float
    input_error: tuple[float, float]  # the row is off by at most e0 + e1 |x|, before it gets here
    gone: float = 0.0  # absolute weights of the original that have cancelled here; its rounding has not

    @property
    def most_order(self) -> int:
        return MOST_ORDER

    @property
    def mass(self) -> float:
        """The sum of absolute weights, as the original adds them up."""
        return float(np.abs(self.weights).sum()) + self.gone

    @property
    def length(self) -> float:
        """A bound on the norm of the sum in the kernel's space, whatever the rounding of `norm`."""
        m, d = self.vectors.shape
        return math.sqrt(max(self.norm, 0.0) + roundings(m + 8 * d) * self.mass**2)

    def seen_from(self, rows: Array, blocks: int, sharpen: int = FEW_PRODUCTS) -> Local:
        return Local(self, rows, blocks, sharpen)


class Local(About):
    """An RBF sum seen from the mean of some rows."""

    whole: RbfSum

    def __init__(self, whole: RbfSum, rows: Array, blocks: int, sharpen: int = FEW_PRODUCTS) -> None:
        check_limits(whole.gamma, whole.mass + abs(whole.bias), whole.vectors.shape[1])
        super().__init__(whole.gamma, rows)
        self.whole, self.blocks, self.sharpen = whole, blocks, sharpen
        self.a = whole.weights * np.exp(-whole.gamma * np.square(self.s).sum(axis=1))

    @property
    def s(self) -> Array:
        return np.asarray(self.whole.vectors - self.centre)

    @cached_property
    def bounds(self) -> Spectra:
        whole = self.whole
        points = math.sqrt(2 * whole.gamma) * self.s
        return spectra(points, self.a, whole.norm, self.blocks, self.sharpen, mass=whole.mass)

    @property
    def constant(self) -> float:
        return float(self.a.sum())

    @cached_property
    def slope(self) -> Array:
        return np.asarray(2 * self.gamma * (self.a @ self.s))

    @cached_property
    def form(self) -> Array:
        s = self.s
        return np.asarray(2 * self.gamma**2 * (s.T @ (self.a[:, None] * s)))

    @property
    def cubic_weights(self) -> Array:
        return np.asarray((2 * self.gamma) ** 3 / 6 * self.a)

    def apart(self) -> Apart | None:
        off = apart(self.centre, self.gamma, self.reach * NEARER)
        return off if off.usable else None

    def gaps(self, order: int, cells: int, off: Apart | None) -> Array:
        moved = off.u if off else 0.0
        return remainders(self.bounds, order, self.reach_of(off), cells, len(self.centre), moved)

    def margins(self, sizes: Sizes, rank: int, gap: float, width: int) -> list[float]:
        """The row itself may be off before it gets here, which moves the sum by at most
        |W| sqrt(2 gamma) |dx|; rows farther away than the last cell do not get here.
        """
        whole, gamma, (m, d) = self.whole, self.gamma, self.whole.vectors.shape
        e0, e1 = whole.input_error
        farthest = float(np.linalg.norm(self.centre)) + math.sqrt(self.reach / gamma)
        moved = whole.length * math.sqrt(2 * gamma) * (e0 + e1 * farthest)
        fixed = moved + offline(m, d, rank) * whole.mass + bound_underflow(d, rank, gamma, gap, self.reach)
        return order_margins(sizes, width, rank, fixed)


@dataclass(frozen=True, slots=True)
class PolySum(AnySum):
    """bias + sum_i weights_i (gamma x . vectors_i + coef0)^degree."""

    fades: ClassVar = False
    coef0: float
    degree: int
    input_error: tuple[float, float]  # the row is off by at most e0 + e1 |x|, before it gets here

    @property
    def most_order(self) -> int:
        return min(self.degree, MOST_ORDER)

    def mass(self, farthest: float) -> float:
        """What the absolute terms add up to, at most, for rows up to a length."""
        sizes = self.gamma * np.linalg.norm(self.vectors, axis=1) * farthest + abs(self.coef0)
        return float(np.abs(self.weights) @ sizes**self.degree)

    def seen_from(self, rows: Array, blocks: int, sharpen: int = FEW_PRODUCTS) -> PolyLocal:
        return PolyLocal(self, rows, sharpen)


class PolyLocal(About):
    """A sum of polynomial kernels seen from the mean of some rows."""

    whole: PolySum

    def __init__(self, whole: PolySum, rows: Array, sharpen: int = FEW_PRODUCTS) -> None:
        super().__init__(whole.gamma, rows)
        self.whole, self.sharpen = whole, sharpen
        self.radius = math.sqrt(widen(self.reach, len(self.centre)) / self.gamma)  # of the cells
        self.farthest = float(np.linalg.norm(self.centre)) + self.radius
        check_limits(self.gamma, whole.mass(self.farthest) + abs(whole.bias), len(self.centre))
        check_reach(self.radius)
        self.q = self.gamma * (self.s @ self.centre) + whole.coef0

    @property
    def s(self) -> Array:
        return self.whole.vectors

    def _weights(self, k: int) -> Array:
        """sum_i weights_i (h . s_i)^k is the part of order k."""
        n = self.whole.degree
        if k > n:
            return np.zeros(len(self.s))
        return np.asarray(math.comb(n, k) * self.gamma**k * self.whole.weights * self.q ** (n - k))

    @cached_property
    def constant(self) -> float:
        return float(self._weights(0).sum())

    @cached_property
    def slope(self) -> Array:
        return np.asarray(self._weights(1) @ self.s)

    @cached_property
    def form(self) -> Array:
        return np.asarray(self.s.T @ (self._weights(2)[:, None] * self.s))

    @property
    def cubic_weights(self) -> Array:
        return self._weights(3)

    @cached_property
    def windows(self) -> dict[int, tuple[float, float]]:
        """Of the orders from 2 on, [low, high] with B_k in u^(k / 2) [low, high]."""
        points, found = math.sqrt(self.gamma) * self.s, {}
        for k in range(2, self.whole.degree + 1):
            weights = math.factorial(k) * self._weights(k) / self.gamma**k
            found[k] = window(points, weights, k, self.sharpen)
        return found

    def gaps(self, order: int, cells: int, off: Apart | None) -> Array:
        """u^(k / 2) / u does not fall with u, so it is largest where a part of a cell ends."""
        d = len(self.centre)
        stop = widen(np.linspace(0.0, self.reach, cells * PARTS + 1)[1:], d)
        found = np.zeros((len(stop), 2))
        for k in range(order + 1, self.whole.degree + 1):
            low, high = self.windows[k]
            found += stop[:, None] ** (k / 2 - 1) * np.array([-low, high])
        return np.asarray(widen(found.reshape(cells, PARTS, 2).max(axis=1), d))

    def margins(self, sizes: Sizes, rank: int, gap: float, width: int) -> list[float]:
        """A row that is off by |dx| before it gets here moves the sum by at most |dx| times its gradient:
        that of a form of degree k is at most k times its bound on the unit sphere (Banach)."""
        whole, (m, d) = self.whole, self.s.shape
        e0, e1 = whole.input_error
        gradient = float(np.linalg.norm(self.slope))
        for k, ends in self.windows.items():
            gradient += k * max(-ends[0], ends[1]) * self.gamma ** (k / 2) * self.radius ** (k - 1)
        moved = gradient * (e0 + e1 * self.farthest)
        reach = widen(self.reach, d)
        fixed = moved + offline(m, d, rank) * whole.mass(self.farthest)
        fixed += bound_underflow(d, rank, self.gamma, gap, reach, fades=False)
        return order_margins(sizes, width, rank, fixed, reach)
