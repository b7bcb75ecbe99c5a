"""Choice of a front end: a tree that grows and prices go in, the cheapest form and size leave."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.certified.costs import TaylorPrices
from svmcompile.accelerate.certified.growth import Form, Grown, Growth, Leaf
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.taylor.about import AnySum, Expansion, expansion_bytes
from svmcompile.ir.kernel import Array
from svmcompile.progress import steps

CUBIC_FEATURES, SQUARE_FEATURES = 30, 128  # the most with polynomials in all features
CELLS = (6, 16)  # that bounds are stored in
RANKS, CUBIC_RANKS = (2, 4, 8, 16, 32), (8, 16)
SPARSE_RANKS, SPARSE_CELLS = (6, 14, 30, 46), 64  # with centre and slope whole vectors, or halves
MANY_FEATURES = 24  # from here on fewer directions may pay
CUBIC_VECTORS = 1500  # the most for cubic forms in few directions, whose bounds cost their cube
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
FEW_LEAVES = 16  # that are tried even if polynomials of order 1 alone fit into the memory
STALE = 3  # sizes without a gain, after which the tree stops
CHEAPER = 0.35  # what jets may make of the rest's cost, with which there may be a gain as well
HARDLY = 0.98  # of the cost: less is no gain


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """A front end, and what the sample rows say of it."""

    grown: Grown
    form: Form
    front: float  # mean cost of a row, but for the rest
    rest: float  # cost of a row that is left
    bytes: int
    shares: list[float]  # of rows, by the order that decides them, and of those left
    left: NDArray[np.bool_]  # sample rows that stay undecided, leaf by leaf

    @property
    def cost(self) -> float:
        """Mean per row, with the rest."""
        return self.with_rest(self.rest)

    def with_rest(self, rest: float) -> float:
        """The same, if a row that is left costs so much."""
        return self.front + self.shares[-1] * rest

    @property
    def leaves(self) -> list[Leaf]:
        return self.grown.leaves

    @property
    def whole(self) -> AnySum:
        return self.leaves[0].local.whole

    @property
    def expansions(self) -> list[Expansion]:
        return [leaf.expansion(self.form) for leaf in self.leaves]

    @property
    def sample(self) -> tuple[Array, NDArray[np.intp]]:
        """The sample rows, and the leaf of each."""
        counts = [len(leaf.sample) for leaf in self.leaves]
        return np.concatenate([leaf.sample for leaf in self.leaves]), np.repeat(
            np.arange(len(counts)), counts
        )

    def as_dict(self) -> dict[str, Any]:
        """For reports."""
        return {
            "leaves": len(self.leaves),
            "order": self.form.order,
            "rank": self.form.rank,
            "sparse": self.form.filled > 0,
            "cells": self.form.cells,
            "bytes": self.bytes,
            "cost": round(self.cost, 3),
            "shares": [round(share, 5) for share in self.shares],
        }


def forms(whole: AnySum, filled: float, options: CertifiedOptions) -> list[Form]:
    """Forms worth a try; a form of order 3 is tried with fewer orders too."""
    m, d = whole.vectors.shape
    most, found = min(options.order or 3, whole.most_order), list[tuple[int, int]]()
    if options.rank >= 0:
        rank = 0 if options.rank >= d else options.rank
        found = [(most, rank)] if rank or d <= SQUARE_FEATURES else []
    else:
        if d <= SQUARE_FEATURES:
            found = [(most if d <= CUBIC_FEATURES else min(most, 2), 0)]
        if d >= MANY_FEATURES and most > 1:
            found += [(2, rank) for rank in RANKS if 2 * rank < d]
        if d >= MANY_FEATURES and most > 2 and m <= CUBIC_VECTORS:
            found += [(3, rank) for rank in CUBIC_RANKS if 2 * rank < d]
    cells = (options.cells,) if options.cells else CELLS
    dense = [Form(order, rank, count) for order, rank in found or [(1, 0)] for count in cells]
    sparse = _sparse_forms(d, m, most, options.rank) if filled else []
    return dense + [Form(*one, options.cells or SPARSE_CELLS, filled) for one in sparse]


def _sparse_forms(d: int, m: int, most: int, rank: int) -> list[tuple[int, int]]:
    """Orders and ranks for rows that are mostly zeros."""
    ranks = [rank] if rank > 0 else SPARSE_RANKS if rank else ()
    order = most if m <= CUBIC_VECTORS else min(most, 2)
    return [(order, one) for one in ranks if 2 * one < d and order > 1]


def chosen(
    whole: AnySum,
    rows: Array,
    values: Array | None,
    sample: Array,
    price: TaylorPrices,
    rest: float,
    filled: float,
    options: CertifiedOptions,
) -> list[Choice]:
    """Front ends within the memory, the cheapest first; `rest` is the cost of a row that stays undecided.

    Centres are made of `rows`; where `values` of the sum there are given, bounds are fitted to them.
    `filled` is how many features of a row are not zero, where code may look at those alone, else 0.
    """
    tried = forms(whole, filled, options)
    growth = Growth(whole, rows, values, sample, _driving(tried))
    rests = [rest, CHEAPER * rest] if options.takes_jets else [rest]
    best, stale, every = [math.inf] * len(rests), 0, list[Choice]()
    sizes = [options.leaves] if options.leaves else _sizes(whole, growth.form, options)
    with steps("Taylor centres", sizes[-1]) as advance:
        for size in sizes:
            while len(growth.leaves) < size and growth.split():
                advance(1)
            grown = growth.now()
            found = [one for form in tried for one in judged(grown, form, price, rest, options)]
            every += found
            least = [min((one.with_rest(each) for one in found), default=math.inf) for each in rests]
            stale = 0 if any(a < HARDLY * b for a, b in zip(least, best, strict=True)) else stale + 1
            best = [min(both) for both in zip(least, best, strict=True)]
            if not found or stale == STALE or len(grown.leaves) < size:
                break
    return sorted(every, key=lambda one: one.cost)


def _sizes(whole: AnySum, form: Form, options: CertifiedOptions) -> list[int]:
    """Numbers of leaves to try: as many as the memory holds with order 2; order 1 alone decides little."""
    own = expansion_bytes(whole.vectors.shape[1], min(form.order, 2), form.rank, CELLS[0])
    most = max(FEW_LEAVES, options.max_bytes // own)
    return [size for size in SIZES if size <= most]


def _driving(tried: list[Form]) -> Form:
    """The form that says where the tree is split: all features if there is such a form."""
    dense = [form for form in tried if not form.filled]
    return next((form for form in reversed(dense) if not form.rank), dense[len(dense) // 2])


def judged(
    grown: Grown, form: Form, price: TaylorPrices, rest: float, options: CertifiedOptions
) -> Iterator[Choice]:
    """What a form and its lower orders cost on the sample rows, of those within the memory."""
    d = len(grown.leaves[0].local.centre)
    most = grown.leaves[0].local.whole.most_order
    wanted = [min(options.order, most)] if options.order else range(1, form.order + 1)
    for order in wanted:
        own = replace(form, order=order, rank=form.rank if order > 1 else 0)
        size = len(grown.leaves) * expansion_bytes(d, order, own.rank, own.cells)
        size += len(grown.tree.planes) * (4 * d + 8)
        if order > form.order or size > options.max_bytes or (own.filled and len(grown.leaves) > 1):
            continue
        settled = np.concatenate([np.minimum(leaf.settled(form), order) for leaf in grown.leaves])
        depth = np.repeat(
            [leaf.depth for leaf in grown.leaves], [len(leaf.sample) for leaf in grown.leaves]
        )
        upto = price.upto(own, d)
        way = price.route(depth, d, len(grown.leaves))
        front = float((way + upto[np.minimum(settled, order - 1)]).mean())
        shares = [float((settled == at).mean()) for at in range(order + 1)]
        yield Choice(grown, own, front, rest, size, shares, settled == order)
