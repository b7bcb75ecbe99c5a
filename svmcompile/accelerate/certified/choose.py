"""Front ends that can be chosen: what orders, gates and a small front end before it cost on sample rows.

Gates between orders: whether a row is worth the next one is known before it is computed.
What the next order may be off by depends on the row's distance alone; a score that is small beside it
will hardly be decided. How small is chosen by the cost of sample rows.

Early: for rows that are mostly zeros, a small front end before the chosen one.
What features bring there is read from a table with a line for each; few directions make it short, and most
rows need no more. Rows that are left begin anew with all directions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.certified.growth import Form, Grown, Leaf
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.taylor.expansion import AnySum, Expansion, expansion_bytes
from svmcompile.accelerate.taylor.front import Gates, taylor_node
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import Orders, taylor_orders

# Trees up to this size have all their planes looked at together, in groups.
MOST_LEAVES, MOST_PRODUCTS, PLANES = 32, 1024, 8
CUBIC_FEATURES, SQUARE_FEATURES = 30, 128  # the most with polynomials in all features
CELLS = (6, 16)  # that bounds are stored in; the fewer where more do not fit, or do not decide more
RANKS, CUBIC_RANKS = (2, 4, 8, 16, 32), (8, 16)
SPARSE_RANKS, SPARSE_CELLS = (6, 14, 30, 46), 64  # with centre and slope whole vectors, or halves
MANY_FEATURES = 24  # from here on fewer directions may pay
CUBIC_VECTORS = 1500  # the most for cubic forms in few directions, whose bounds cost their cube
HARDLY = 0.98  # of the cost: less is no gain
GATES = (0.0, 0.5, 0.7, 0.85, 1.0)
EARLY_RANK = 14  # with centre and slope one vector
EARLY = "few"  # of its nodes and tables


@dataclass(frozen=True, slots=True)
class TaylorPrices:
    """(for each, and once): nanoseconds of emitted float32 C, one row per call, or flops."""

    plane: tuple[float, float]  # a test on the way to a leaf: per feature, and each
    first: tuple[float, float]  # order 1: per feature, and once
    second: tuple[float, float]  # order 2: per product of two coordinates, and once
    third: tuple[float, float]  # order 3: per product of three, and once
    axis: tuple[float, float]  # a coordinate: per feature, and each
    lanes: int = 1  # features and products come in groups of so many
    beside: tuple[float, float] = (0.0, 0.0)  # all planes of a small tree at once: per product, and once
    # All products of the features that are not zero: per feature, per product, and once.
    picked: tuple[float, float, float] = (1.0, 2.0, 24.0)

    def _of(self, price: tuple[float, float], count: int) -> float:
        return price[0] * (-(-count // self.lanes) * self.lanes) + price[1]

    def form(self, products: int) -> float:
        """A quadratic form of so many products."""
        return self._of(self.second, products)

    def route(self, depth: Array, d: int, leaves: int) -> Array:
        """So many tests on the way in a tree of so many leaves."""
        products = -(-(leaves - 1) // PLANES) * PLANES * d
        if 1 < leaves <= MOST_LEAVES and products <= MOST_PRODUCTS and self.beside[1]:
            return np.full(len(depth), self.beside[0] * products + self.beside[1])
        return depth * self._of(self.plane, d)

    def upto(self, form: Form, d: int) -> Array:
        """What a row has cost after each order, [order]."""
        order, r = form.order, form.rank or d
        found = [self._picked(form, d) if form.filled else self._of(self.first, d)]
        if order > 1:
            turned = r * self._of(self.axis, d) if form.rank and not form.filled else 0.0
            found.append(turned + self._of(self.second, r * (r + 1) // 2))
        if order > 2:
            found.append(self._of(self.third, r * (r + 1) * (r + 2) // 6))
        return np.cumsum(found)

    def once(self, d: int) -> float:
        """What all jets of a row share: its difference from the centre, and an exponential."""
        return self._of(self.first, d)

    def jet(self, d: int) -> float:
        """A jet: a dot product and a quadratic form."""
        return self._of(self.axis, d) + self._of(self.second, d * (d + 1) // 2)

    def _picked(self, form: Form, d: int) -> float:
        """All coordinates at once, from the features that are not zero; centre and slope are two more."""
        width = 2 + (form.rank if form.order > 1 else 0)
        feature, product, once = self.picked
        return feature * d + product * form.filled * (-(-width // self.lanes) * self.lanes) + once


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
        rows = [leaf.sample for leaf in self.leaves]
        return np.concatenate(rows), np.repeat(np.arange(len(rows)), list(map(len, rows)))

    def orders(self, gates: Gates) -> Orders:
        """What each order says of the sample rows."""
        node, tables = taylor_node(self.whole, self.expansions, gates=gates)
        return taylor_orders(At(node, tables), *self.sample)

    def row_costs(self, gates: Gates, price: TaylorPrices, rest: float) -> Array:
        """Of each sample row in the front end, and behind it where a row that is left costs so much."""
        found, upto = self.orders(gates), price.upto(self.form, self.whole.vectors.shape[1])
        return np.asarray(upto[found.last] + rest * (found.settled == len(upto)))

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
    dense = [Form(order, rank, options.cells or CELLS[-1]) for order, rank in found or [(1, 0)]]
    sparse = _sparse_forms(d, m, most, options.rank) if filled else []
    return dense + [Form(*one, options.cells or SPARSE_CELLS, filled) for one in sparse]


def _sparse_forms(d: int, m: int, most: int, rank: int) -> list[tuple[int, int]]:
    """Orders and ranks for rows that are mostly zeros."""
    ranks = [rank] if rank > 0 else SPARSE_RANKS if rank else ()
    order = most if m <= CUBIC_VECTORS else min(most, 2)
    return [(order, one) for one in ranks if 2 * one < d and order > 1]


def judge(
    grown: Grown, form: Form, price: TaylorPrices, rest: float, options: CertifiedOptions
) -> Iterator[Choice]:
    """What a form and its lower orders cost on the sample rows, of those within the memory."""
    d = len(grown.leaves[0].local.centre)
    most = grown.leaves[0].local.whole.most_order
    wanted = [min(options.order, most)] if options.order else range(1, form.order + 1)
    fewer = form if options.cells or form.filled else replace(form, cells=CELLS[0])

    def size_of(own: Form) -> int:
        planes = len(grown.tree.planes) * (4 * d + 8)
        return len(grown.leaves) * expansion_bytes(d, own.order, own.rank, own.cells) + planes

    for order in wanted:
        own = replace(form, order=order, rank=form.rank if order > 1 else 0)
        seen = form if size_of(own) <= options.max_bytes else fewer
        own = replace(own, cells=seen.cells)
        size = size_of(own)
        if order > form.order or size > options.max_bytes or (own.filled and len(grown.leaves) > 1):
            continue
        settled = np.concatenate([np.minimum(leaf.settled(seen), order) for leaf in grown.leaves])
        depth = np.concatenate([np.full(len(leaf.sample), leaf.depth) for leaf in grown.leaves])
        spent = price.upto(own, d)[np.minimum(settled, order - 1)]
        front = float((price.route(depth, d, len(grown.leaves)) + spent).mean())
        shares = [float((settled == at).mean()) for at in range(order + 1)]
        yield Choice(grown, own, front, rest, size, shares, settled == order)


def choose_gates(choice: Choice, price: TaylorPrices, rest: float) -> Gates:
    """The gates that make the sample rows cheapest; `rest` is the cost of a row that stays undecided."""
    every = product(GATES, repeat=choice.form.order - 1)
    return min(every, key=lambda gates: float(choice.row_costs(gates, price, rest).mean()))


class Early(NamedTuple):
    """Its form, the sample rows that come past it, and its mean cost."""

    form: Form
    past: NDArray[np.bool_]
    cost: float
    bytes: int


def early_front(choice: Choice, gates: Gates, price: TaylorPrices, rest: float, room: int) -> Early | None:
    """The small front end if it is predicted to save cost and fits into so many bytes more."""
    if not choice.form.filled or choice.form.rank <= EARLY_RANK:
        return None
    leaf, d = choice.leaves[0], choice.sample[0].shape[1]
    form = replace(choice.form, order=2, rank=EARLY_RANK)
    size = expansion_bytes(d, 2, EARLY_RANK, form.cells)
    settled = leaf.settled(form)
    spent = price.upto(form, d)[np.minimum(settled, 1)]
    past = settled == form.order
    behind = choice.row_costs(gates, price, rest)
    with_it = float((spent + behind * past).mean())
    if size > room or with_it >= HARDLY * float(behind.mean()):
        return None
    return Early(form, past, float(spent.mean()), size)


PRICES = {
    "flops": TaylorPrices(
        plane=(2.0, 2.0), first=(5.0, 24.0), second=(2.0, 6.0), third=(2.0, 6.0), axis=(2.0, 2.0)
    ),
    "host": TaylorPrices(
        plane=(0.03, 6.0), first=(0.12, 8.0), second=(0.05, 6.0), third=(0.05, 8.0),
        axis=(0.04, 1.0), lanes=16, beside=(0.02, 3.5), picked=(0.09, 0.028, 60.0),
    ),
    "portable": TaylorPrices(
        plane=(0.36, 1.0), first=(0.22, 11.0), second=(0.4, 6.0), third=(0.47, 20.0), axis=(0.1, 1.5),
        picked=(0.5, 0.15, 20.0),
    ),
}  # fmt: skip
