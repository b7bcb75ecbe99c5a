"""Places: all pairs of a class seen from one of its centres, along axes that they share.

Directions that the pairs of a centre share: quadratic forms go in, axes and what they leave come out.
With y the coordinates of h along r orthonormal axes and z the length of the rest, a form is
Q(y) + cross terms + R(rest). Cross terms are at most 2 |T_yz| |y| z <= |T_yz| (t |y|^2 + z^2 / t) for
every t > 0, t that of usual rows; R lies in [low, high] z^2, of which the middle is added to the value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from svmcompile.accelerate.taylor.rounding import (
    SAFE,
    Parts,
    Sizes,
    U,
    apart,
    check_tables,
    check_width,
    extra,
    offline,
    order_margins,
    slack,
    vanished,
)
from svmcompile.accelerate.taylor.spectra import FEW_PRODUCTS, remainders, roundings
from svmcompile.accelerate.taylor.sums import Local, RbfSum
from svmcompile.ir.arithmetic import Array

LEAST = 1e-9  # of a usual length: none is taken for zero
ALWAYS = 0.02  # weight of a pair that order 1 settles everywhere
CHAINS = 4  # sums of products that do not wait for each other, at least


@dataclass(frozen=True, slots=True)
class SharedAxes:
    """Orthonormal rows; of each form its part along them, its middle and what is loose."""

    axes: Array  # [r, d]
    forms: Array  # [q, r, r]
    middles: Array  # [q]
    loose: Array  # [2, q], of |y|^2 and z^2


def directions(forms: list[Array], weights: Array) -> Array:
    """Orthonormal columns, the most telling last; forms count by their weights, whatever their size."""
    total = np.zeros_like(forms[0])
    for form, weight in zip(forms, weights, strict=True):
        size = float(np.square(form).sum())
        if size > 0:
            total += weight / size * (form @ form)
    return np.asarray(np.linalg.eigh(total)[1])


def shared_axes(forms: list[Array], basis: Array, rank: int, rows: Array) -> SharedAxes:
    """The last `rank` columns of the basis as axes for rows h."""
    axes, rest = basis[:, -rank:].T, basis[:, :-rank].T
    along, beside = (float(np.median(np.linalg.norm(rows @ part.T, axis=1))) for part in (axes, rest))
    usual = LEAST * (along + beside) + 1e-30
    ratio = (beside + usual) / (along + usual)
    inner, middles, loose = [], [], []
    for form in forms:
        slack = roundings(2 * len(form)) * float(np.linalg.norm(form))
        ends = np.linalg.eigvalsh(rest @ form @ rest.T)
        cross = float(np.linalg.norm(axes @ form @ rest.T, 2)) + slack
        inner.append(axes @ form @ axes.T)
        middles.append(0.5 * float(ends[0] + ends[-1]))
        loose.append((cross * ratio, 0.5 * float(ends[-1] - ends[0]) + slack + cross / ratio))
    return SharedAxes(axes, np.array(inner), np.array(middles), np.array(loose).T)


@dataclass(frozen=True, slots=True)
class Form:
    """How far polynomials go: an order, and how many axes the second one has (0: the features)."""

    order: int
    rank: int = 0


@dataclass(frozen=True, eq=False)
class Expanded:
    """What `TaylorVote` holds of one centre; what an order below 2 or no axes leave out is empty."""

    axes: Array  # [r, d]
    squares: Array  # [q, r (r + 1) / 2]
    middles: Array  # [q]
    loose: Array  # [2, q]
    gaps: Array  # [order, cells, 2, q]
    margins: Array  # [order, q]

    @property
    def numbers(self) -> int:
        """How many its tables hold."""
        parts = (self.axes, self.squares, self.middles, self.loose, self.gaps, self.margins)
        return sum(part.size for part in parts)


@dataclass(frozen=True, eq=False)
class Placed:
    """What remains of a place, with its tables for some forms."""

    centre: Array  # [d]
    step: float
    constants: Array  # [q]
    slopes: Array  # [q, d]
    expanded: dict[Form, Expanded]


class Place:
    """The pairs of a champion seen from the mean of some rows; holds a matrix for each pair."""

    def __init__(
        self,
        sums: list[RbfSum],
        rows: Array,
        blocks: int,
        cells: int,
        sharpen: bool = False,
        sparse: bool = False,
    ) -> None:
        self.sparse = sparse  # code may pass over zeros
        self.locals = [Local(one, rows, blocks, FEW_PRODUCTS if sharpen else 0) for one in sums]
        self.gamma, self.cells = sums[0].gamma, cells
        first = self.locals[0]
        self.centre, self.rows = first.centre, first.rows
        self.reach = first.reach
        self.step = cells / self.reach
        self.constants = np.array([one.a.sum() for one in self.locals])
        self.slopes = np.stack([2 * self.gamma * (one.a @ one.s) for one in self.locals])

    def placed(self, forms: Iterable[Form]) -> Placed:
        """Its tables for the forms, and no more."""
        found = {form: self.expanded(form) for form in forms}
        return Placed(self.centre, self.step, self.constants, self.slopes, found)

    @cached_property
    def firsts(self) -> Array:
        """Gaps of order 1, [cells, 2, q]."""
        return self._gaps(1)

    @cached_property
    def basis(self) -> Array:
        """Directions that serve the pairs which order 1 leaves open at the centre's own rows."""
        u = self.gamma * np.square(self.rows).sum(axis=1)
        cell = np.minimum(u * self.step, self.cells - 1).astype(np.intp)
        bias = np.array([one.whole.bias for one in self.locals])
        scores = bias + np.exp(-u)[:, None] * (self.constants + self.rows @ self.slopes.T)
        still_open = ~(scores > u[:, None] * self.firsts[cell, 0])
        return directions([one.form for one in self.locals], ALWAYS + still_open.mean(axis=0))

    def expanded(self, form: Form) -> Expanded:
        """The tables of a form."""
        pairs, d = self.slopes.shape
        axes, middles, loose = np.zeros((0, d)), np.zeros(0), np.zeros((2, 0))
        forms = [one.form for one in self.locals] if form.order > 1 else []
        if form.order > 1 and form.rank:
            found = shared_axes(forms, self.basis, form.rank, self.rows)
            axes, forms, middles, loose = found.axes, list(found.forms), found.middles, found.loose
        gaps = [self.firsts] if form.order == 1 else [self.firsts, self._gaps(2)]
        margins = [self._margins(q, form, forms, middles, loose) for q in range(pairs)]
        squares = np.stack([_triangle(one) for one in forms]) if forms else np.zeros((pairs, 0))
        check_width(d, form.rank)
        check_tables(self.slopes, squares, loose, *gaps)
        return Expanded(axes, squares, middles, loose, np.stack(gaps), np.array(margins).T)

    def _gaps(self, order: int) -> Array:
        found = [
            remainders(one.bounds, order, self.reach, self.cells, len(self.centre)) for one in self.locals
        ]
        return np.stack(found, axis=-1)

    def _margins(self, q: int, form: Form, forms: list[Array], middles: Array, loose: Array) -> list[float]:
        """Rounding of a pair's scores, order by order; the row itself may be off before it gets here."""
        local, gamma = self.locals[q], self.gamma
        whole, width = local.whole, form.rank or len(self.centre)
        size = float(np.linalg.norm(forms[q])) / gamma if forms else 0.0
        sizes = Sizes(
            bias=whole.bias,
            constant=abs(float(self.constants[q])),
            slope=float(np.linalg.norm(self.slopes[q])) / math.sqrt(gamma),
            form=size,
            largest=float(np.linalg.norm(local.form)) / gamma if forms else 0.0,
            cubes=0.0,
            middle=abs(float(middles[q])) / gamma if form.rank else 0.0,
            loose=float(loose[:, q].sum()) / gamma if form.rank else 0.0,
        )
        (e0, e1), (m, d) = whole.input_error, local.s.shape
        far = float(np.linalg.norm(self.centre)) + math.sqrt(self.reach / gamma)
        moved = whole.length * math.sqrt(2 * gamma) * (e0 + e1 * far)
        fixed = moved + offline(m, d, form.rank) * whole.mass
        fixed += vanished(d, form.rank, gamma, float(self.firsts.max()), self.reach)
        found = order_margins(sizes, d, form.rank, fixed)[: form.order]
        # One long sum of products, where `order_margins` counts on sums of sums.
        longer = width * (width + 1) / 2 / CHAINS + CHAINS + 4 - 2 * width
        found[1:] = [one + SAFE * U * 0.3679 * max(longer, 0.0) * size for one in found[1:]]
        if not self.sparse:
            return found
        bounds = loose[:, q] if form.rank else np.zeros(2)
        parts = Parts(
            constant=sizes.constant,
            slope=sizes.slope * math.sqrt(gamma),
            form=sizes.form * gamma,
            middle=sizes.middle * gamma,
            loose=np.concatenate([bounds, np.zeros(2)])[None],
            cubes=0.0,
        )
        # Distances are taken from differences.
        off = replace(apart(self.centre, gamma, self.reach), distance=0.0)
        more = extra(off, parts, form.order, form.rank, 0.0)
        return [one + other for one, other in zip(found, more, strict=True)]


def slack_of(d: int, rank: int) -> float:
    return slack(d, rank) if rank else 0.0


def _triangle(form: Array) -> Array:
    """The coefficients of y_a y_b, a <= b, row by row of a lower triangle."""
    second, first = np.tril_indices(len(form))
    return np.asarray(form[first, second] * np.where(first == second, 1.0, 2.0))
