"""Places: all pairs of a class seen from one of its centres, along axes that they share.

Directions that the pairs of a centre share: quadratic forms go in, axes and what they leave come out.
With y the coordinates of h along r orthonormal axes and z the length of the rest, a form is
Q(y) + cross terms + R(rest). Cross terms are at most 2 |T_yz| |y| z <= |T_yz| (t |y|^2 + z^2 / t) for
every t > 0, t that of usual rows; R lies in [low, high] z^2, of which the middle is added to the value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from svmcompile.accelerate.taylor.expansion import Axes, Expansion, loose_of
from svmcompile.accelerate.taylor.rounding import SAFE, Apart, Parts, Sizes, U, apart, extra
from svmcompile.accelerate.taylor.spectra import FEW_PRODUCTS, roundings
from svmcompile.accelerate.taylor.sums import Local, RbfSum
from svmcompile.ir.arithmetic import Array

LEAST = 1e-9  # of a usual length: none is taken for zero
ALWAYS = 0.02  # weight of a pair that order 1 settles everywhere
CHAINS = 4  # sums of products that do not wait for each other, at least


def directions(forms: list[Array], weights: Array) -> Array:
    """Orthonormal columns, the most telling last; forms count by their weights, whatever their size."""
    total = np.zeros_like(forms[0])
    for form, weight in zip(forms, weights, strict=True):
        size = float(np.square(form).sum())
        if size > 0:
            total += weight / size * (form @ form)
    return np.asarray(np.linalg.eigh(total)[1])


def shared_axes(forms: list[Array], basis: Array, rank: int, rows: Array) -> list[Axes]:
    """The last `rank` columns of the basis as axes for rows h, with what they leave of each form."""
    axes, rest = basis[:, -rank:].T, basis[:, :-rank].T
    along, beside = (float(np.median(np.linalg.norm(rows @ part.T, axis=1))) for part in (axes, rest))
    usual = LEAST * (along + beside) + 1e-30
    ratio = (beside + usual) / (along + usual)
    found = []
    for form in forms:
        slack = roundings(2 * len(form)) * float(np.linalg.norm(form))
        ends = np.linalg.eigvalsh(rest @ form @ rest.T)
        cross = float(np.linalg.norm(axes @ form @ rest.T, 2)) + slack
        low, high = float(ends[0]), float(ends[-1])
        loose = np.array([[cross * ratio, 0.5 * (high - low) + slack + cross / ratio, 0.0, 0.0]])
        found.append(Axes(axes, axes @ form @ axes.T, 0.5 * (low + high), loose))
    return found


@dataclass(frozen=True, slots=True)
class Form:
    """How far polynomials go: an order, and how many axes the second one has (0: the features)."""

    order: int
    rank: int = 0


class PairLocal(Local):
    """A pair of a champion; with `sparse`, code may pass over zeros of a row."""

    form_norm: ClassVar = None  # not the sharpest, but cheap: there are many pairs

    def __init__(self, whole: RbfSum, rows: Array, blocks: int, sharpen: int, sparse: bool) -> None:
        super().__init__(whole, rows, blocks, sharpen)
        self.sparse = sparse

    def _margins(
        self, sizes: Sizes, axes: Axes | None, order: int, gap: float, off: Apart | None
    ) -> list[float]:
        gamma, rank = self.gamma, len(axes.axes) if axes else 0
        found, width = super()._margins(sizes, axes, order, gap, off), rank or len(self.centre)
        # One long sum of products, where `order_margins` counts on sums of sums.
        longer = width * (width + 1) / 2 / CHAINS + CHAINS + 4 - 2 * width
        found[1:] = [one + SAFE * U * 0.3679 * max(longer, 0.0) * sizes.form for one in found[1:]]
        if not self.sparse:
            return found
        slope, form, middle = sizes.slope * math.sqrt(gamma), sizes.form * gamma, sizes.middle * gamma
        parts = Parts(sizes.constant, slope, form, middle, loose_of(axes, order), 0.0)
        # Distances are taken from differences.
        away = replace(apart(self.centre, gamma, self.reach), distance=0.0)
        return [one + more for one, more in zip(found, extra(away, parts, order, rank, 0.0), strict=True)]


class Place:
    """The pairs of a champion seen from the mean of some rows; holds a matrix for each pair."""

    def __init__(
        self, sums: list[RbfSum], rows: Array, blocks: int, cells: int, sharpen: bool, sparse: bool
    ) -> None:
        products = FEW_PRODUCTS if sharpen else 0
        self.pairs = [PairLocal(one, rows, blocks, products, sparse) for one in sums]
        self.rows, self.cells = self.pairs[0].rows, cells

    @cached_property
    def basis(self) -> Array:
        """Directions that serve the pairs which order 1 leaves open at the centre's own rows."""
        first, pairs = self.pairs[0], self.pairs
        u = first.gamma * np.square(self.rows).sum(axis=1)
        cell = np.minimum(u * (self.cells / first.reach), self.cells - 1).astype(np.intp)
        gaps = np.stack([one.gaps(1, self.cells, None)[cell, 0] for one in pairs], axis=1)
        biases, constants = np.array([(one.whole.bias, one.constant) for one in pairs]).T
        slopes = np.stack([one.slope for one in pairs])
        scores = biases + np.exp(-u)[:, None] * (constants + self.rows @ slopes.T)
        still_open = ~(scores > u[:, None] * gaps)
        return directions([one.form for one in pairs], ALWAYS + still_open.mean(axis=0))

    def expansions(self, form: Form) -> list[Expansion]:
        """Of each pair."""
        axes: list[Axes] | list[None] = [None] * len(self.pairs)
        if form.order > 1 and form.rank:
            axes = shared_axes([one.form for one in self.pairs], self.basis, form.rank, self.rows)
        return [pair.along(own, form.order, self.cells) for pair, own in zip(self.pairs, axes, strict=True)]
