"""A sum seen from the mean of some rows, whatever its kernel: its polynomials as tables of `TaylorSum`.

Few directions for the higher orders of a Taylor polynomial: forms go in, axes come out.
With y the coordinates of h along r orthonormal axes and z the length of the rest, the quadratic form is
Q(y) + cross terms + R(rest): cross terms are at most 2 |T_yz| |y| z, and R lies in [lo, hi] z^2, of which
the middle is added to the value. The cubic form is C(y) plus at most
3 |T_yyz| |y|^2 z + 3 |T_yzz| |y| z^2 + |T_zzz| z^3, each norm the least of the ways to cut the form in two.

Odd powers are bounded by even ones, so that no root is taken: a b <= (t a^2 + b^2 / t) / 2 for every
t > 0, and equal where t = b / a. t is that of usual rows, but never far from 1 by chance: what rounding
leaves of a norm that is zero must stay small.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from svmcompile.accelerate.taylor.forms import extremes, largest, norm, roundings
from svmcompile.accelerate.taylor.rounding import Apart, Parts, Sizes, check_tables, check_width, extra
from svmcompile.accelerate.taylor.spectra import FEW_PRODUCTS
from svmcompile.ir.arithmetic import Array

LEAST = 1e-3  # of usual lengths
BEYOND = 1.3  # cells reach this much past the farthest row
NEARER = (1.05 / BEYOND) ** 2  # of that, for sparse rows: the farther cells reach, the more is rounded
CELLS = 16
LEAST_REACH, MOST_REACH = 1e-6, 1e6  # of the cells, whatever the rows


@dataclass(frozen=True, slots=True)
class Axes:
    """Orthonormal rows, the quadratic form in them, and what they leave of the two forms."""

    axes: Array  # [r, d]
    form: Array  # [r, r]
    middle: float
    loose: Array  # [2, 4], of order 2 and of both: bounds are loose . (|y|^2, z^2, |y|^2 z^2, z^4)


def quadratic_axes(spectrum: tuple[Array, Array], rank: int) -> Axes:
    """The directions whose loss leaves the narrowest window: eigenvectors from both ends."""
    values, vectors = spectrum
    inner = len(values) - rank
    first = int(np.argmin(values[inner - 1 :] - values[: rank + 1]))
    kept = np.r_[0:first, first + inner : len(values)]
    low, high = float(values[first]), float(values[first + inner - 1])
    half = 0.5 * (high - low) + roundings(len(values)) * float(np.abs(values).max())
    loose = np.array([0.0, half, 0.0, 0.0])
    return Axes(vectors[:, kept].T, np.diag(values[kept]), 0.5 * (low + high), np.stack([loose, loose]))


class CubicBasis:
    """Directions for the quadratic form and for sum_i weights_i (h . points_i)^3, good for rows h.

    Orthonormal columns, the most telling last; whatever the number of axes, they are the same.
    """

    def __init__(self, form: Array, points: Array, weights: Array, rows: Array) -> None:
        self.distance = _usual(rows, points)
        pulled = points * weights[:, None]
        # The cubic form with itself, but for one factor.
        crossed = pulled.T @ (np.square(points @ points.T) @ pulled)
        self.columns = np.linalg.eigh(form @ form + self.distance**2 * crossed)[1]
        self.form = self.columns.T @ form @ self.columns
        self.points, self.weights = points @ self.columns, weights
        self.slack = roundings(2 * len(form)) * float(np.linalg.norm(form))

    def axes(self, rank: int, rows: Array) -> Axes:
        """The last so many of them, with bounds that are least for rows like these."""
        axes, slack = self.columns[:, -rank:].T, self.slack
        low, high = extremes(self.form[:-rank, :-rank])
        cross = 2 * norm(self.form[-rank:, :-rank]) + slack
        once, twice, thrice = _cubic_norms(self.points[:, -rank:], self.points[:, :-rank], self.weights)
        inside = np.square(rows @ axes.T).sum(axis=1)
        outside = np.maximum(np.square(rows).sum(axis=1) - inside, 0.0)
        y, z = (max(math.sqrt(float(np.median(one))), LEAST * self.distance) for one in (inside, outside))
        loose = 0.5 * (high - low) + slack
        quadratic = np.array([cross * z / (2 * y), loose + cross * y / (2 * z), 0.0, 0.0])
        cubic = np.array([once * z, twice * y + thrice * z, once / z + twice / y, thrice / z]) / 2
        bounds = np.stack([quadratic, quadratic + cubic])
        return Axes(axes, self.form[-rank:, -rank:], 0.5 * (low + high), bounds)


def _usual(rows: Array, points: Array) -> float:
    """A usual length, never zero; where all rows are the same, a share of the distance to the vectors."""
    least = LEAST * float(np.linalg.norm(points, axis=1).max())
    return max(float(np.median(np.linalg.norm(rows, axis=1))), least, 1e-12)


def _cubic_norms(along: Array, beside: Array, weights: Array) -> Array:
    """Bounds on what the cubic form holds of the directions beside the axes: once, twice, three times."""
    y, z = along @ along.T, beside @ beside.T
    pulled = np.outer(weights, weights)
    lengths = np.sqrt(np.diag(y) + np.diag(z))
    size = float(np.abs(weights) @ lengths**3)
    slip = roundings(len(y) + 2 * (along.shape[1] + beside.shape[1])) * size**2

    def bound(side: Array, gram: Array) -> float:
        """Of the form cut in two: one factor, and two whose products are known."""
        square = side.T @ ((pulled * gram) @ side)
        return math.sqrt(max(largest(0.5 * (square + square.T)), 0.0) + slip)

    once = 3 * min(bound(beside, y * y), bound(along, y * z))
    twice = 3 * min(bound(along, z * z), bound(beside, y * z))
    return np.array([once, twice, bound(beside, z * z)])


@dataclass(frozen=True, slots=True)
class AnySum(ABC):
    """A kernel sum that has Taylor polynomials."""

    fades: ClassVar[bool]  # whether its polynomials are multiplied by exp(-u)
    vectors: Array  # [m, d]
    weights: Array  # [m]
    bias: float
    gamma: float  # u = gamma |h|^2

    @property
    @abstractmethod
    def most_order(self) -> int:
        """Beyond which there is nothing."""

    @abstractmethod
    def seen_from(self, rows: Array, blocks: int, sharpen: int = FEW_PRODUCTS) -> About:
        """The sum about the mean of rows."""


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


class About(ABC):
    """The sum about the mean of some rows; what costs much is computed when it is asked for."""

    whole: AnySum

    def __init__(self, gamma: float, rows: Array) -> None:
        self.gamma, self._rows = gamma, rows
        self.centre = rows.mean(axis=0).astype(np.float32).astype(np.float64)
        farthest = BEYOND * float(np.linalg.norm(self.rows, axis=1).max())
        self.reach = min(max(gamma * farthest**2, LEAST_REACH), MOST_REACH)
        self._axes: dict[tuple[int, int], Axes] = {}

    @property
    def rows(self) -> Array:
        """Those that are expected here, as differences; there may be many centres, so they are not kept."""
        return np.asarray(self._rows - self.centre)

    @property
    @abstractmethod
    def s(self) -> Array:
        """[m, d], whose products with h the forms are made of."""

    @property
    @abstractmethod
    def constant(self) -> float:
        """The part of order 0."""

    @property
    @abstractmethod
    def slope(self) -> Array:
        """h . slope is the part of order 1."""

    @property
    @abstractmethod
    def form(self) -> Array:
        """h' form h is the part of order 2."""

    @property
    @abstractmethod
    def cubic_weights(self) -> Array:
        """sum_i weights_i (h . s_i)^3 is the part of order 3."""

    @abstractmethod
    def gaps(self, order: int, cells: int, off: Apart | None) -> Array:
        """Bounds over u on what the polynomial of an order leaves out, [cells, 2]."""

    @abstractmethod
    def margins(self, sizes: Sizes, rank: int, gap: float, width: int) -> list[float]:
        """Rounding of the scores of orders 1 to 3, where no bound over u is above `gap`.

        `width`: features that dot products go over, 0 where what those are off by is added later.
        """

    def apart(self) -> Apart | None:
        """What code is off by that looks at features that are not zero alone; None if there is no such."""
        return None

    def axes(self, order: int, rank: int) -> Axes | None:
        """Directions for orders 2 and 3; none if the features are few enough to be their own."""
        if order < 2 or not 0 < rank < len(self.centre):
            return None
        if (order, rank) not in self._axes:
            found = quadratic_axes(self._turned, rank) if order == 2 else self._basis.axes(rank, self.rows)
            self._axes[order, rank] = found
        return self._axes[order, rank]

    @cached_property
    def _turned(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the form."""
        values, vectors = np.linalg.eigh(self.form)
        return values, vectors

    @cached_property
    def _basis(self) -> CubicBasis:
        return CubicBasis(self.form, self.s, self.cubic_weights, self.rows)

    @cached_property
    def form_size(self) -> float:
        """A bound on the eigenvalues of the form."""
        return max(map(abs, extremes(self.form)))

    def expansion(self, order: int, rank: int = 0, cells: int = CELLS, sparse: bool = False) -> Expansion:
        """What a program needs, with polynomials up to an order in so many directions (0: all).

        With `sparse`, bounds are for code that looks at features that are not zero alone, if that can be.
        """
        return self.along(self.axes(order, rank), order, cells, self.apart() if sparse else None)

    def along(self, axes: Axes | None, order: int, cells: int, off: Apart | None = None) -> Expansion:
        """The same along axes that are given, or along the features; `off` as `apart` gives it."""
        check_width(len(self.centre), len(axes.axes) if axes else 0)
        form = axes.form if axes else self.form
        second, first = np.tril_indices(len(form))
        squares = form[first, second] * np.where(first == second, 1.0, 2.0) if order > 1 else np.zeros(1)
        turned = self.s @ axes.axes.T if axes else self.s
        cubes = _cubes(turned, self.cubic_weights) if order > 2 else np.zeros(1)
        gaps = np.stack([self.gaps(p, cells, off) for p in range(1, order + 1)])
        margins = self._margins(self._sizes(axes, cubes, order), axes, order, float(gaps.max()), off)
        check_tables(self.slope, squares, cubes, loose_of(axes, order), gaps)
        return Expansion(
            centre=self.centre,
            constant=self.constant,
            slope=self.slope,
            axes=axes.axes if axes else None,
            squares=squares,
            cubes=cubes,
            middle=axes.middle if axes else 0.0,
            loose=loose_of(axes, order),
            step=cells / self.reach_of(off),
            gaps=gaps,
            margins=np.array(margins),
            sparse=off is not None,
        )

    def reach_of(self, off: Apart | None) -> float:
        """How far the cells reach."""
        return self.reach if off is None else self.reach * NEARER

    def _margins(
        self, sizes: Sizes, axes: Axes | None, order: int, gap: float, off: Apart | None
    ) -> list[float]:
        """Of the orders up to `order`."""
        rank = len(axes.axes) if axes else 0
        found = self.margins(sizes, rank, gap, len(self.centre) if off is None else 0)[:order]
        if off is None:
            return found
        more = extra(off, _parts(self.slope, sizes, self.gamma, axes, order), order, rank, gap)
        return [one + other for one, other in zip(found, more, strict=True)]

    def _sizes(self, axes: Axes | None, cubes: Array, order: int) -> Sizes:
        """How large the parts are, for their rounding."""
        gamma = self.gamma
        loose = axes.loose[-1] if axes else np.zeros(4)
        return Sizes(
            bias=self.whole.bias,
            constant=abs(self.constant),
            slope=float(np.linalg.norm(self.slope)) / math.sqrt(gamma),
            form=float(np.linalg.norm(axes.form if axes else self.form)) / gamma if order > 1 else 0.0,
            largest=self.form_size / gamma if order > 1 else 0.0,
            cubes=float(np.linalg.norm(cubes)) / gamma**1.5,  # at least the norm of the symmetric tensor
            middle=abs(axes.middle) / gamma if axes else 0.0,
            loose=float(loose[:2].sum()) / gamma,
            far_loose=float(loose[2:].sum()) / gamma**2,
        )


def _parts(slope: Array, sizes: Sizes, gamma: float, axes: Axes | None, order: int) -> Parts:
    return Parts(
        constant=sizes.constant,
        slope=float(np.linalg.norm(slope)),
        form=max(sizes.form, sizes.largest) * gamma,
        middle=sizes.middle * gamma,
        loose=loose_of(axes, order),
        cubes=sizes.cubes * gamma**1.5,
    )


def loose_of(axes: Axes | None, order: int) -> Array:
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
