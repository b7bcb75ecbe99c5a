"""The Taylor expansion of an RBF sum about one centre, and the tables that say where it is sure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from svmcompile.accelerate.taylor.halves import roundings
from svmcompile.accelerate.taylor.limits import check_limits, check_tables, check_width
from svmcompile.accelerate.taylor.low_rank import Axes, cubic_axes, quadratic_axes
from svmcompile.accelerate.taylor.remainder import remainders
from svmcompile.accelerate.taylor.rounding import Sizes, offline, order_margins, vanished
from svmcompile.accelerate.taylor.sparse import Apart, Parts, apart, extra
from svmcompile.accelerate.taylor.spectra import Spectra, spectra
from svmcompile.accelerate.taylor.squares import FEW_PRODUCTS
from svmcompile.kernel import Array

BEYOND = 1.3  # cells reach this much past the farthest row
NEARER = (1.05 / BEYOND) ** 2  # of that, for sparse rows: the farther cells reach, the more is rounded
CELLS = 16
LEAST_REACH, MOST_REACH = 1e-6, 1e6  # of the cells, whatever the rows


@dataclass(frozen=True, slots=True)
class RbfSum:
    """bias + sum_i weights_i exp(-gamma |x - vectors_i|^2), and its squared norm in the kernel's space."""

    vectors: Array  # [m, d]
    weights: Array  # [m]
    bias: float
    gamma: float
    norm: float
    input_error: tuple[float, float]  # the row is off by at most e0 + e1 |x|, before it gets here

    @property
    def mass(self) -> float:
        """The sum of absolute weights."""
        return float(np.abs(self.weights).sum())

    @property
    def length(self) -> float:
        """A bound on the norm of the sum in the kernel's space, whatever the rounding of `norm`."""
        m, d = self.vectors.shape
        return math.sqrt(max(self.norm, 0.0) + roundings(m + 8 * d) * self.mass**2)


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
    sparse: bool = False  # so wide that code may look at features that are not zero alone


def expansion_bytes(d: int, order: int, rank: int, cells: int) -> int:
    """Of the float32 tables of one expansion."""
    r = rank or d
    forms = r * (r + 1) // 2 * (order > 1) + r * (r + 1) * (r + 2) // 6 * (order > 2)
    axes = r * d + 4 * (order - 1) + 1 if rank and order > 1 else 0
    return 4 * (2 * d + 2 + axes + forms + order * (2 * cells + 1))


class Local:
    """An RBF sum seen from the mean of some rows; what costs much is computed when it is asked for."""

    def __init__(self, whole: RbfSum, rows: Array, blocks: int, sharpen: int = FEW_PRODUCTS) -> None:
        check_limits(whole.gamma, whole.mass + abs(whole.bias), whole.vectors.shape[1])
        self.whole, self.blocks, self.sharpen = whole, blocks, sharpen
        self.centre = rows.mean(axis=0).astype(np.float32).astype(np.float64)
        self.rows = rows - self.centre  # that are expected here
        farthest = BEYOND * float(np.linalg.norm(self.rows, axis=1).max())
        self.reach = min(max(whole.gamma * farthest**2, LEAST_REACH), MOST_REACH)
        self.s = whole.vectors - self.centre
        self.a = whole.weights * np.exp(-whole.gamma * np.square(self.s).sum(axis=1))

    @cached_property
    def bounds(self) -> Spectra:
        whole = self.whole
        points = math.sqrt(2 * whole.gamma) * self.s
        return spectra(points, self.a, whole.norm, self.blocks, self.sharpen, mass=whole.mass)

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

    def expansion(self, order: int, rank: int = 0, cells: int = CELLS, sparse: bool = False) -> Expansion:
        """What a program needs, with polynomials up to an order in so many directions (0: all).

        With `sparse`, bounds are for code that looks at features that are not zero alone, if that can be.
        """
        off = apart(self.centre, self.whole.gamma, self.reach * NEARER) if sparse else None
        off = off if off and off.usable else None
        reach = self.reach * NEARER if off else self.reach
        check_width(len(self.centre), rank)
        axes = self.axes(order, rank)
        form = axes.form if axes else self.form
        second, first = np.tril_indices(len(form))
        squares = form[first, second] * np.where(first == second, 1.0, 2.0) if order > 1 else np.zeros(1)
        along = self.s @ axes.axes.T if axes else self.s
        cubes = _cubes(along, self.cubic_weights) if order > 2 else np.zeros(1)
        slope = 2 * self.whole.gamma * (self.a @ self.s)
        d = len(self.centre)
        orders, moved = range(1, order + 1), off.u if off else 0.0
        gaps = np.stack([remainders(self.bounds, p, reach, cells, d, moved) for p in orders])
        found = Expansion(
            centre=self.centre,
            constant=float(self.a.sum()),
            slope=slope,
            axes=axes.axes if axes else None,
            squares=squares,
            cubes=cubes,
            middle=axes.middle if axes else 0.0,
            loose=_loose(axes, order),
            step=cells / reach,
            gaps=gaps,
            margins=np.array(self._margins(slope, axes, cubes, order, float(gaps.max()), off)),
            sparse=off is not None,
        )
        check_tables(slope, squares, cubes, found.loose, gaps)
        return found

    def _margins(
        self, slope: Array, axes: Axes | None, cubes: Array, order: int, gap: float, off: Apart | None
    ) -> list[float]:
        """Rounding of each order's score, where no bound over u is above `gap`.

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
            loose=float(loose[:2].sum()) / gamma,
            far_loose=float(loose[2:].sum()) / gamma**2,
        )
        (e0, e1), (m, d) = whole.input_error, self.s.shape
        farthest = float(np.linalg.norm(self.centre)) + math.sqrt(self.reach / gamma)
        moved = whole.length * math.sqrt(2 * gamma) * (e0 + e1 * farthest)
        rank = len(axes.axes) if axes else 0
        fixed = moved + offline(m, d, rank) * whole.mass + vanished(d, rank, gamma, gap, self.reach)
        if off is None:
            return order_margins(sizes, d, rank, fixed)[:order]
        found = order_margins(sizes, 0, rank, fixed)[:order]
        more = extra(off, _parts(slope, sizes, gamma, axes, order), order, rank, gap)
        return [one + other for one, other in zip(found, more, strict=True)]


def _parts(slope: Array, sizes: Sizes, gamma: float, axes: Axes | None, order: int) -> Parts:
    return Parts(
        constant=sizes.constant,
        slope=float(np.linalg.norm(slope)),
        form=max(sizes.form, sizes.largest) * gamma,
        middle=sizes.middle * gamma,
        loose=_loose(axes, order),
        cubes=sizes.cubes * gamma**1.5,
    )


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
