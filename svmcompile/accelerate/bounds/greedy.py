"""Pivoted Cholesky over candidates, one at a time; candidates enter, their order leaves.

For every candidate i stand d_i, what is left of |Phi(i)|^2, and c_i, what is left of
<Phi(i), W>. Taking candidate i is one row g = (K[i] - G' G[i]) / sqrt(d_i), w = c_i / sqrt(d_i),
and then d -= g^2, c -= g w: a step costs O(k n), a candidate's score O(1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array, Kernel


@dataclass(frozen=True, eq=False)
class Candidates:
    """Points a basis may be made of."""

    kernel: Kernel
    points: Array  # [n, d]
    products: Array  # [n]: <Phi(i), W>
    diagonal: Array  # [n]: k(i, i)
    square: float  # |W|^2


@dataclass(frozen=True, eq=False)
class Step:
    """What taking a candidate changed."""

    chosen: int
    row: Array  # [n]: every candidate's coordinate along the new direction
    weight: float  # W's


class Factor:
    """The factorisation so far."""

    def __init__(self, candidates: Candidates, limit: int, pivot_tol: float) -> None:
        self.candidates = candidates
        self.left = candidates.diagonal.copy()  # d
        self.products = candidates.products.copy()  # c
        self.order: list[int] = []
        self.residual = candidates.square
        self.least = pivot_tol * float(np.median(candidates.diagonal)) if len(self.left) else 0.0
        self._rows = np.zeros((min(limit, len(self.left)), len(self.left)))

    @property
    def full(self) -> bool:
        return len(self.order) == len(self._rows)

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Candidates that are not nearly dependent on those taken."""
        return np.asarray((self.left > self.least) & (self.left > 0))

    @property
    def gains(self) -> Array:
        """How much less of |W|^2 each candidate would leave; 0 for those that are not usable."""
        with np.errstate(all="ignore"):
            return np.where(self.usable, np.square(self.products) / self.left, 0.0)

    def take(self, chosen: int) -> Step:
        """Make a candidate the next point of the basis."""
        assert self.left[chosen] > 0
        count, known = len(self.order), self.candidates
        values = known.kernel.values(known.points, known.points[chosen : chosen + 1])[:, 0]
        root = float(np.sqrt(self.left[chosen]))
        row = (values - self._rows[:count].T @ self._rows[:count, chosen]) / root
        weight = float(self.products[chosen]) / root
        self._rows[count] = row
        self.order.append(chosen)
        self.left = np.maximum(self.left - np.square(row), 0.0)
        self.left[chosen] = 0.0
        self.products = self.products - row * weight
        self.residual = max(0.0, self.residual - weight * weight)
        return Step(chosen, row, weight)
