"""The Taylor expansion of an RBF sum about one centre, and the tables that say where it is sure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from svmcompile.accelerate.taylor.low_rank import Axes, cubic_axes, quadratic_axes
from svmcompile.accelerate.taylor.remainder import remainders
from svmcompile.accelerate.taylor.rounding import OFFLINE, Sizes, order_margins
from svmcompile.accelerate.taylor.spectra import Spectra, spectra
from svmcompile.kernel import Array

BEYOND = 1.3  # cells reach this much past the farthest row
CELLS = 16


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
    axes: Array | None  # [r, d]
    squares: Array  # [r (r + 1) / 2]; below order 2 a zero, as the next
    cubes: Array  # [r (r + 1) (r + 2) / 6]
    middle: float
    loose: Array  # [order - 1, 4]
    step: float
    gaps: Array  # [order, cells, 2]
    margins: Array  # [order]

    @property
    def bytes(self) -> int:
        """Of its float32 tables."""
        axes = self.axes.size + self.loose.size + 1 if self.axes is not None else 0
        return 4 * (2 * len(self.centre) + 2 + axes + self.forms + self.gaps.size + self.margins.size)

    @property
    def forms(self) -> int:
        orders = len(self.margins)
        return (self.squares.size if orders > 1 else 0) + (self.cubes.size if orders > 2 else 0)


class Local:
    """An RBF sum seen from the mean of some rows; what costs much is computed when it is asked for."""

    def __init__(self, whole: RbfSum, rows: Array, blocks: int) -> None:
        self.whole, self.blocks = whole, blocks
        self.centre = rows.mean(axis=0).astype(np.float32).astype(np.float64)
        self.rows = rows - self.centre  # that are expected here
        self.farthest = BEYOND * max(float(np.linalg.norm(self.rows, axis=1).max()), 1e-30)
        self.s = whole.vectors - self.centre
        self.a = whole.weights * np.exp(-whole.gamma * np.square(self.s).sum(axis=1))

    @cached_property
    def bounds(self) -> Spectra:
        return spectra(math.sqrt(2 * self.whole.gamma) * self.s, self.a, self.whole.norm, self.blocks)

    @cached_property
    def form(self) -> Array:
        """h' form h is the part of order 2."""
        return np.asarray(2 * self.whole.gamma**2 * (self.s.T @ (self.a[:, None] * self.s)))

    @property
    def cubic_weights(self) -> Array:
        """sum_i weights_i (h . s_i)^3 is the part of order 3."""
        return np.asarray((2 * self.whole.gamma) ** 3 / 6 * self.a)

    def axes(self, order: int, rank: int) -> Axes | None:
        """Directions for orders 2 and 3; none if the features are few enough to be their own."""
        if order < 2 or not 0 < rank < self.s.shape[1]:
            return None
        if order == 2:
            return quadratic_axes(self.form, rank)
        return cubic_axes(self.form, self.s, self.cubic_weights, rank, self.rows)

    def expansion(self, order: int, rank: int = 0, cells: int = CELLS) -> Expansion:
        """What a program needs, with polynomials up to an order in so many directions (0: all)."""
        axes = self.axes(order, rank)
        form = axes.form if axes else self.form
        second, first = np.tril_indices(len(form))
        squares = form[first, second] * np.where(first == second, 1.0, 2.0) if order > 1 else np.zeros(1)
        along = self.s @ axes.axes.T if axes else self.s
        cubes = _cubes(along, self.cubic_weights) if order > 2 else np.zeros(1)
        slope = 2 * self.whole.gamma * (self.a @ self.s)
        reach = self.whole.gamma * self.farthest**2
        return Expansion(
            centre=self.centre,
            constant=float(self.a.sum()),
            slope=slope,
            axes=axes.axes if axes else None,
            squares=squares,
            cubes=cubes,
            middle=axes.middle if axes else 0.0,
            loose=_loose(axes, order),
            step=cells / reach,
            gaps=np.stack([remainders(self.bounds, p, reach, cells) for p in range(1, order + 1)]),
            margins=np.array(self._margins(slope, axes, cubes, order)),
        )

    def _margins(self, slope: Array, axes: Axes | None, cubes: Array, order: int) -> list[float]:
        """Rounding of each order's score.

        The row itself may be off before it gets here, which moves the sum by at most
        |W| sqrt(2 gamma) |dx|; rows farther away than the last cell do not get here.
        """
        whole, gamma = self.whole, self.whole.gamma
        loose = axes.loose[-1] if axes else np.zeros(4)
        sizes = Sizes(
            bias=whole.bias,
            constant=abs(float(self.a.sum())),
            slope=float(np.linalg.norm(slope)) / math.sqrt(gamma),
            form=float(np.linalg.norm(axes.form if axes else self.form)) / gamma if order > 1 else 0.0,
            largest=float(np.linalg.norm(self.form, 2)) / gamma if order > 1 else 0.0,
            cubes=float(np.linalg.norm(cubes)) / gamma**1.5,  # at least the norm of the symmetric tensor
            middle=abs(axes.middle) / gamma if axes else 0.0,
            loose=float(loose[:2].sum() / gamma + loose[2:].sum() / gamma**2),
        )
        norm, (e0, e1) = math.sqrt(max(whole.norm, 0.0)), whole.input_error
        moved = (
            norm * math.sqrt(2 * gamma) * (e0 + e1 * (float(np.linalg.norm(self.centre)) + self.farthest))
        )
        rank = len(axes.axes) if axes else 0
        return order_margins(sizes, len(self.centre), rank, moved + OFFLINE * norm)[:order]


def _loose(axes: Axes | None, order: int) -> Array:
    """Bounds on what axes leave, order by order."""
    return np.zeros((max(order - 1, 0), 4)) if axes is None else axes.loose[: order - 1]


def _cubes(s: Array, weights: Array) -> Array:
    """Coefficients of h_a h_b h_c, a <= b <= c, of a sum of cubes: for each c a lower triangle up to it."""
    parts = []
    for c in range(s.shape[1]):
        form = s[:, : c + 1].T @ ((weights * s[:, c])[:, None] * s[:, : c + 1])
        second, first = np.tril_indices(c + 1)
        orders = np.where(first == second, 3.0, 6.0)  # in how many ways the three factors can stand
        orders = np.where(second == c, np.where(first == c, 1.0, 3.0), orders)
        parts.append(form[first, second] * orders)
    return np.concatenate(parts)
