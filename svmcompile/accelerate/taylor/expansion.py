"""An RBF sum seen from one centre: exp(-u) times a power series, with proven bounds on what is left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from svmcompile.accelerate.taylor.about import NEARER, About
from svmcompile.accelerate.taylor.halves import roundings
from svmcompile.accelerate.taylor.limits import check_limits
from svmcompile.accelerate.taylor.remainder import remainders
from svmcompile.accelerate.taylor.rounding import Sizes, offline, order_margins, vanished
from svmcompile.accelerate.taylor.sparse import Apart, apart
from svmcompile.accelerate.taylor.spectra import Spectra, spectra
from svmcompile.accelerate.taylor.squares import FEW_PRODUCTS
from svmcompile.ir.kernel import Array


@dataclass(frozen=True, slots=True)
class RbfSum:
    """bias + sum_i weights_i exp(-gamma |x - vectors_i|^2), and its squared norm in the kernel's space."""

    vectors: Array  # [m, d]
    weights: Array  # [m]
    bias: float
    gamma: float
    norm: float
    input_error: tuple[float, float]  # the row is off by at most e0 + e1 |x|, before it gets here
    gone: float = 0.0  # absolute weights of the original that have cancelled here; its rounding has not

    @property
    def fades(self) -> bool:
        return True

    @property
    def most_order(self) -> int:
        return 3

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
        self.s = whole.vectors - self.centre
        self.a = whole.weights * np.exp(-whole.gamma * np.square(self.s).sum(axis=1))

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
        return np.asarray(2 * self.gamma**2 * (self.s.T @ (self.a[:, None] * self.s)))

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
        whole, gamma, (m, d) = self.whole, self.gamma, self.s.shape
        e0, e1 = whole.input_error
        farthest = float(np.linalg.norm(self.centre)) + math.sqrt(self.reach / gamma)
        moved = whole.length * math.sqrt(2 * gamma) * (e0 + e1 * farthest)
        fixed = moved + offline(m, d, rank) * whole.mass + vanished(d, rank, gamma, gap, self.reach)
        return order_margins(sizes, width, rank, fixed)
