"""Pairs of a machine of several classes, one-vs-one or one-vs-rest, and places that they are seen from.

One-vs-rest machines as pairs: an SVM whose largest sum wins goes in, the same as one-vs-one comes out.
The class with the largest sum is the one whose differences to all other sums are above zero, and the
difference of two sums of one kernel is a sum over the vectors of both. So a one-vs-rest machine is a vote
of pairs f_i - f_j. Each class keeps the vectors of its own sum, and one that two sums share stands in both
classes: a pair then meets the vectors of its two sums and no others.

Directions that the pairs of a centre share: quadratic forms go in, axes and what they leave come out.
With y the coordinates of h along r orthonormal axes and z the length of the rest, a form is
Q(y) + cross terms + R(rest). Cross terms are at most 2 |T_yz| |y| z <= |T_yz| (t |y|^2 + z^2 / t) for
every t > 0, t that of usual rows; R lies in [low, high] z^2, of which the middle is added to the value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.margins import (
    KernelError,
    RowError,
    direct_rounding,
    error_from_products,
    kernel_error,
)
from svmcompile.accelerate.bounds.sums import mostly_zeros
from svmcompile.accelerate.fitting.rows import kernel_sums, labels_of
from svmcompile.accelerate.taylor.expansion import Axes, Expansion, loose_of
from svmcompile.accelerate.taylor.forms import extremes, norm, roundings
from svmcompile.accelerate.taylor.rounding import SAFE, Apart, Parts, Sizes, U, apart, extra
from svmcompile.accelerate.taylor.spectra import FEW_PRODUCTS
from svmcompile.accelerate.taylor.sums import Local, RbfSum
from svmcompile.ir.arithmetic import Array, in_segments
from svmcompile.ir.copies import merge_copies
from svmcompile.ir.pairs import class_slices, pair_indices
from svmcompile.ir.stages import longest_chain
from svmcompile.model.svm import SVM, LabelRule

LEAST = 1e-9  # of a usual length: none is taken for zero
ALWAYS = 0.02  # weight of a pair that order 1 settles everywhere
TINIEST = 1e-290  # squared size of a form: a smaller one says nothing, and its inverse may overflow
CHAINS = 4  # sums of products that do not wait for each other, at least


def as_pairs(svm: SVM) -> SVM:
    """The pairs f_i - f_j of a one-vs-rest machine, as LIBSVM lays them out."""
    kept = [np.flatnonzero(row) for row in svm.coefficients]
    counts = tuple(map(len, kept))
    weights = np.concatenate([row[own] for row, own in zip(svm.coefficients, kept, strict=True)])
    # Row r of a class's weights is for the pair with class r, or with r + 1 from its own place on: there
    # its sum is the first one, else it is taken off.
    owner = np.repeat(np.arange(len(counts)), counts)
    signs = np.where(np.arange(len(counts) - 1)[:, None] >= owner, 1.0, -1.0)
    biases = [svm.intercepts[i] - svm.intercepts[j] for i, j in pair_indices(len(counts))]
    return replace(
        svm,
        vectors=svm.vectors[np.concatenate(kept)],
        coefficients=signs * weights,
        intercepts=np.array(biases),
        counts=counts,
        label_rule=LabelRule.VOTE,
    )


def bias_sizes(svm: SVM, pairs: SVM) -> Array:
    """Of each pair, how large the biases are that the original adds up, for their rounding."""
    sizes = np.abs(svm.intercepts)
    if svm.counts:
        return np.asarray(sizes)
    return np.array([sizes[i] + sizes[j] for i, j in pair_indices(len(pairs.counts))])


@dataclass(frozen=True, eq=False)
class Pairs:
    """The sums of a one-vs-one machine, by pair in LIBSVM's order."""

    own: SVM
    sums: tuple[RbfSum, ...]
    weights: tuple[Array, ...]  # as direct sums meet them: vectors that both classes have, twice
    sizes: Array  # of what the original adds up to a pair's bias

    @classmethod
    def of(cls, own: SVM, row: RowError, sizes: Array | None = None) -> Pairs:
        """`sizes`: of the biases, where a pair's bias is a difference of two."""
        groups, found, met = class_slices(own.counts), [], []
        sizes = np.abs(own.intercepts) if sizes is None else sizes
        for index, (i, j) in enumerate(pair_indices(len(own.counts))):
            both = np.concatenate([own.vectors[groups[i]], own.vectors[groups[j]]])
            weights = np.concatenate([own.coefficients[j - 1, groups[i]], own.coefficients[i, groups[j]]])
            vectors, (added,) = merge_copies(both, weights[None])
            left = added != 0 if added.any() else slice(None)
            vectors, added = vectors[left], added[left]
            norm = float(added @ own.kernel.values(vectors, vectors) @ added)
            bias = float(own.intercepts[index])
            gone = float(np.abs(weights).sum() - np.abs(added).sum() + sizes[index] - abs(bias))
            error = (row.constant, row.relative)
            one = RbfSum(vectors, added, bias, own.kernel.gamma, norm, error, max(gone, 0.0))
            found.append(one)
            met.append(weights)
        return cls(own, tuple(found), tuple(met), sizes)

    @property
    def sparse(self) -> bool:
        """Whether code may pass over zeros of a row: vectors are mostly zeros, and rows as they are."""
        return mostly_zeros(self.own) and self._products_error.usable

    @property
    def _products_error(self) -> KernelError:
        vectors = self.own.vectors
        return error_from_products(self.own.kernel, vectors, in_segments(vectors.shape[1]) + 1)

    @property
    def classes(self) -> int:
        return len(self.own.counts)

    def against(self, champion: int) -> list[RbfSum]:
        """The champion's pairs with the other classes, in their order."""
        pairs = dict(zip(pair_indices(self.classes), self.sums, strict=True))
        pairs |= {
            (j, i): replace(one, weights=-one.weights, bias=-one.bias) for (i, j), one in pairs.items()
        }
        return [pairs[champion, rival] for rival in range(self.classes) if rival != champion]

    def rounding(self, row: RowError) -> tuple[Array, Array]:
        """What direct sums may be off by, [pairs, 2], in float32 and in double from tables of float32."""
        kernel, vectors = self.own.kernel, self.own.vectors
        error = kernel_error(kernel, vectors, row, longest_chain(kernel, vectors.shape[1]))
        if self.sparse:
            error = error.or_larger(self._products_error)
        closer = kernel_error(kernel, vectors, row, number="f64")
        pairs = list(zip(self.weights, self.sizes.tolist(), strict=True))
        return (
            np.array([direct_rounding(weights, size, error) for weights, size in pairs]),
            np.array([direct_rounding(weights, size, closer, 0) for weights, size in pairs]),
        )

    def labels(self, rows: Array) -> NDArray[np.int64]:
        return labels_of(self.own, kernel_sums(self.own, rows))


def directions(forms: list[Array], weights: Array) -> Array:
    """Orthonormal columns, the most telling last; forms count by their weights, whatever their size."""
    total = np.zeros_like(forms[0])
    for form, weight in zip(forms, weights, strict=True):
        size = float(np.square(form).sum())
        if size > TINIEST:
            total += weight / size * (form @ form)
    return np.asarray(np.linalg.eigh(total)[1])


def shared_axes(turned: list[Array], basis: Array, rank: int, rows: Array) -> list[Axes]:
    """The last `rank` columns of the basis as axes for rows h, with what they leave of each form.

    The forms are given in the basis.
    """
    axes = basis[:, -rank:].T
    inside = np.square(rows @ axes.T).sum(axis=1)
    outside = np.maximum(np.square(rows).sum(axis=1) - inside, 0.0)
    along, beside = (math.sqrt(float(np.median(one))) for one in (inside, outside))
    usual = LEAST * (along + beside) + 1e-30
    ratio = (beside + usual) / (along + usual)
    found = []
    for form in turned:
        slack = roundings(2 * len(form)) * float(np.linalg.norm(form))
        low, high = extremes(form[:-rank, :-rank])
        cross = norm(form[-rank:, :-rank]) + slack
        loose = np.array([[cross * ratio, 0.5 * (high - low) + slack + cross / ratio, 0.0, 0.0]])
        found.append(Axes(axes, form[-rank:, -rank:], 0.5 * (low + high), loose))
    return found


@dataclass(frozen=True, slots=True)
class Form:
    """How far polynomials go: an order, and how many axes the second one has (0: the features)."""

    order: int
    rank: int = 0


class PairLocal(Local):
    """A pair of a champion; with `sparse`, code may pass over zeros of a row."""

    def __init__(self, whole: RbfSum, rows: Array, blocks: int, sharpen: int, sparse: bool) -> None:
        super().__init__(whole, rows, blocks, sharpen)
        self.sparse = sparse

    @cached_property
    def form_size(self) -> float:
        """Not the sharpest, but cheap: there are many pairs."""
        return float(np.linalg.norm(self.form))

    def turned(self, basis: Array) -> Array:
        """The form in a basis."""
        if len(self.a) >= len(basis):
            return np.asarray(basis.T @ self.form @ basis)
        s = self.s @ basis
        return np.asarray(2 * self.gamma**2 * (s.T @ (self.a[:, None] * s)))

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

    @cached_property
    def turned(self) -> list[Array]:
        return [one.turned(self.basis) for one in self.pairs]

    def expansions(self, form: Form) -> list[Expansion]:
        """Of each pair."""
        axes: list[Axes] | list[None] = [None] * len(self.pairs)
        if form.order > 1 and form.rank:
            axes = shared_axes(self.turned, self.basis, form.rank, self.rows)
        return [pair.along(own, form.order, self.cells) for pair, own in zip(self.pairs, axes, strict=True)]
