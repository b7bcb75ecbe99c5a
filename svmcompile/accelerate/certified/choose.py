"""Choice of a front end: a tree that grows and prices go in, the cheapest form and size leave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.certified.costs import TaylorPrices
from svmcompile.accelerate.certified.growth import Form, Grown, Growth, Leaf
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.taylor.expansion import Expansion, RbfSum, expansion_bytes
from svmcompile.kernel import Array
from svmcompile.progress import steps

CUBIC_FEATURES, SQUARE_FEATURES = 30, 128  # the most with polynomials in all features
RANKS, CUBIC_RANKS = (2, 4, 8, 16, 32), (8, 16)
MANY_FEATURES = 24  # from here on fewer directions may pay
CUBIC_VECTORS = 1500  # the most for cubic forms in few directions, whose bounds cost their cube
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
STALE = 4  # sizes without a gain, after which the tree stops
HARDLY = 0.98  # of the cost: less is no gain


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """A front end, and what the sample rows say of it."""

    grown: Grown
    form: Form
    cost: float  # mean per row, with the rest
    bytes: int
    shares: list[float]  # of rows, by the order that decides them, and of those left

    @property
    def leaves(self) -> list[Leaf]:
        return self.grown.leaves

    @property
    def whole(self) -> RbfSum:
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
            "bytes": self.bytes,
            "cost": round(self.cost, 3),
            "shares": [round(share, 5) for share in self.shares],
        }


def forms(d: int, m: int, options: CertifiedOptions) -> list[Form]:
    """Forms worth a try; a form of order 3 is tried with fewer orders too."""
    most = options.order or 3
    if options.rank >= 0:
        found = [Form(most, 0 if options.rank >= d else options.rank)]
        return [form for form in found if form.rank or d <= SQUARE_FEATURES] or [Form(1, 0)]
    found = [Form(most, 0)] if d <= CUBIC_FEATURES else []
    if CUBIC_FEATURES < d <= SQUARE_FEATURES:
        found = [Form(min(most, 2), 0)]
    if d >= MANY_FEATURES and most > 1:
        found += [Form(2, rank) for rank in RANKS if 2 * rank < d]
        if most > 2 and m <= CUBIC_VECTORS:
            found += [Form(3, rank) for rank in CUBIC_RANKS if 2 * rank < d]
    return found or [Form(1, 0)]


def chosen(
    whole: RbfSum,
    rows: Array,
    sample: Array,
    price: TaylorPrices,
    rest: float,
    options: CertifiedOptions,
) -> Choice | None:
    """The cheapest front end within the memory; `rest` is the cost of a row that stays undecided."""
    tried = forms(whole.vectors.shape[1], len(whole.vectors), options)
    growth = Growth(whole, rows, sample, _driving(tried), options.cells)
    best: Choice | None = None
    stale = 0
    sizes = [options.leaves] if options.leaves else SIZES
    with steps("Taylor centres", sizes[-1]) as advance:
        for size in sizes:
            while len(growth.leaves) < size and growth.split():
                advance(1)
            grown = growth.now()
            found = [one for form in tried for one in judged(grown, form, price, rest, options)]
            least = min(found, key=lambda one: one.cost, default=None)
            gains = best is None or (least is not None and least.cost < HARDLY * best.cost)
            stale = 0 if gains else stale + 1
            best = _better(best, least)
            if least is None or stale == STALE or len(grown.leaves) < size:
                break
    return best


def _better(one: Choice | None, other: Choice | None) -> Choice | None:
    found = [choice for choice in (one, other) if choice]
    return min(found, key=lambda choice: choice.cost, default=None)


def _driving(tried: list[Form]) -> Form:
    """The form that says where the tree is split: all features if there is such a form."""
    return next((form for form in tried if not form.rank), tried[len(tried) // 2])


def judged(
    grown: Grown, form: Form, price: TaylorPrices, rest: float, options: CertifiedOptions
) -> Iterator[Choice]:
    """What a form and its lower orders cost on the sample rows, of those within the memory."""
    d = len(grown.leaves[0].local.centre)
    wanted = [options.order] if options.order else range(1, form.order + 1)
    for order in wanted:
        own = Form(order, form.rank if order > 1 else 0)
        size = len(grown.leaves) * expansion_bytes(d, order, own.rank, options.cells)
        size += len(grown.tree.planes) * (4 * d + 8)
        if order > form.order or size > options.max_bytes:
            continue
        settled = np.concatenate([np.minimum(leaf.settled(form), order) for leaf in grown.leaves])
        depth = np.repeat(
            [leaf.depth for leaf in grown.leaves], [len(leaf.sample) for leaf in grown.leaves]
        )
        upto = price.upto(order, d, own.rank)
        cost = price.route(depth, d) + upto[np.minimum(settled, order - 1)] + (settled == order) * rest
        shares = [float((settled == at).mean()) for at in range(order + 1)]
        yield Choice(grown, own, float(cost.mean()), size, shares)
