"""A sum of polynomial kernels seen from one centre: a polynomial in h, with bounds on the orders left out.

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

import numpy as np

from svmcompile.accelerate.taylor.about import About
from svmcompile.accelerate.taylor.limits import check_limits, check_reach
from svmcompile.accelerate.taylor.remainder import PARTS, widened
from svmcompile.accelerate.taylor.rounding import Sizes, offline, order_margins, vanished
from svmcompile.accelerate.taylor.sparse import Apart
from svmcompile.accelerate.taylor.spectra import window
from svmcompile.accelerate.taylor.squares import FEW_PRODUCTS
from svmcompile.ir.kernel import Array

MOST_DEGREE = 4  # whose orders have bounds that are sharp enough
MOST_ORDER = 3


@dataclass(frozen=True, slots=True)
class PolySum:
    """bias + sum_i weights_i (gamma x . vectors_i + coef0)^degree."""

    vectors: Array  # [m, d]
    weights: Array  # [m]
    bias: float
    gamma: float
    coef0: float
    degree: int
    input_error: tuple[float, float]  # the row is off by at most e0 + e1 |x|, before it gets here

    @property
    def fades(self) -> bool:
        return False

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
        self.whole, self.sharpen, self.s = whole, sharpen, whole.vectors
        self.radius = math.sqrt(widened(self.reach, len(self.centre)) / self.gamma)  # of the cells
        self.farthest = float(np.linalg.norm(self.centre)) + self.radius
        check_limits(self.gamma, whole.mass(self.farthest) + abs(whole.bias), len(self.centre))
        check_reach(self.radius)
        self.q = self.gamma * (self.s @ self.centre) + whole.coef0

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
        stop = widened(np.linspace(0.0, self.reach, cells * PARTS + 1)[1:], d)
        found = np.zeros((len(stop), 2))
        for k in range(order + 1, self.whole.degree + 1):
            low, high = self.windows[k]
            found += stop[:, None] ** (k / 2 - 1) * np.array([-low, high])
        return np.asarray(widened(found.reshape(cells, PARTS, 2).max(axis=1), d))

    def margins(self, sizes: Sizes, rank: int, gap: float, width: int) -> list[float]:
        """A row that is off by |dx| before it gets here moves the sum by at most |dx| times its gradient:
        that of a form of degree k is at most k times its bound on the unit sphere (Banach)."""
        whole, (m, d) = self.whole, self.s.shape
        e0, e1 = whole.input_error
        gradient = float(np.linalg.norm(self.slope))
        for k, ends in self.windows.items():
            gradient += k * max(-ends[0], ends[1]) * self.gamma ** (k / 2) * self.radius ** (k - 1)
        moved = gradient * (e0 + e1 * self.farthest)
        reach = widened(self.reach, d)
        fixed = moved + offline(m, d, rank) * whole.mass(self.farthest)
        fixed += vanished(d, rank, self.gamma, gap, reach, fades=False)
        return order_margins(sizes, width, rank, fixed, reach)
