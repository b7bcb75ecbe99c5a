"""Search for a front end: centres are added while that may pay, and the cheapest are kept.

Whether it may pay is seen after a few centres: of each sample row, how large its best score is beside what
that may be off by. The rows' mean of its logarithm grows with every doubling of the centres. Where twice
that growth, up to the most centres there may be, leaves too many rows undecided, there is no way to gain.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from svmcompile.accelerate.certified.choose import CELLS, Choice, TaylorPrices, forms, judge
from svmcompile.accelerate.certified.growth import Form, Grown, Growth
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.taylor.expansion import AnySum, expansion_bytes
from svmcompile.ir.arithmetic import Array
from svmcompile.progress import Advance, attempt, steps

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
FEW_LEAVES = 16  # that are tried even if polynomials of order 1 alone fit into the memory
STALE = 3  # sizes without a gain, after which the tree stops
CHEAPER = 0.35  # what jets or bounds may make of the rest's cost, with which there may be a gain as well
HARDLY = 0.98  # of the cost: less is no gain
LOOKS = (2, 4, 8, 16, 32, 64)  # sizes after which it is asked whether more can pay
HOPE = 2.0  # times the growth seen so far


class Goal(NamedTuple):
    """What must be reached: a cost, and a share of rows left."""

    cost: float
    left: float


class Search:
    """Front ends within the memory; `rest` is the cost of a row that stays undecided.

    Centres are made of `rows`; where `values` of the sum there are given, bounds are fitted to them.
    `filled` is how many features of a row are not zero, where code may look at those alone, else 0.
    Without a goal, it is not asked whether the search can reach one.
    """

    def __init__(
        self, whole: AnySum, price: TaylorPrices, rest: float, filled: float, options: CertifiedOptions,
        goal: Goal | None = None,
    ) -> None:  # fmt: skip
        self.whole, self.price, self.rest, self.options, self.goal = whole, price, rest, options, goal
        self.forms = forms(whole, filled, options)
        self.driving = _driving(self.forms)
        self.sizes = [options.leaves] if options.leaves else _sizes(whole, self.driving, options)
        self.rests = [rest, CHEAPER * rest] if options.takes_jets else [rest]
        self.found: list[Choice] = []
        self.first: Grown | None = None
        self.hopeless = False

    def run(self, rows: Array, values: Array | None, sample: Array) -> list[Choice]:
        """The front ends, the cheapest first; those found so far when the time is up."""
        with steps("Taylor centres", self.sizes[-1]) as advance:
            attempt(lambda: self._grow(rows, values, sample, advance))
        if self.found and not self.hopeless:
            attempt(self._try_fewer_cells)
        return sorted(self.found, key=lambda one: (one.cost, one.bytes))

    def _grow(self, rows: Array, values: Array | None, sample: Array, advance: Advance) -> None:
        growth = Growth(self.whole, rows, values, sample, self.driving)
        bests, stale, seen = [math.inf] * len(self.rests), 0, list[tuple[int, Array]]()
        advance(1)
        for size in self.sizes:
            while len(growth.leaves) < size and growth.split():
                advance(1)
            grown = growth.now()
            self.first = self.first or grown
            found = [one for form in self.forms for one in self._judge(grown, form)]
            self.found += found
            least = [min((one.with_rest(each) for one in found), default=math.inf) for each in self.rests]
            stale = 0 if any(a < HARDLY * b for a, b in zip(least, bests, strict=True)) else stale + 1
            bests = [min(both) for both in zip(least, bests, strict=True)]
            if not found or stale == STALE or len(grown.leaves) < size:
                break
            if self.goal and (size == 1 or size in LOOKS):
                seen.append((size, self._nearness(grown)))
                if self._sees_no_way(seen, self.goal):
                    self.hopeless = True
                    break

    def _sees_no_way(self, seen: list[tuple[int, Array]], goal: Goal) -> bool:
        """Whether even twice the growth so far would not do."""
        if len(seen) < 2 or min(one.cost for one in self.found) < goal.cost:
            return False
        (size, before), (last, now) = seen[-2:]
        growth = (now.mean() - before.mean()) / math.log2(last / size)
        beyond = HOPE * max(growth, 0.0) * math.log2(self.sizes[-1] / last)
        left = float((now + beyond < 0).mean())
        least = float(self.price.upto(Form(1, 0, CELLS[0]), self.whole.vectors.shape[1])[0])
        return left > goal.left or least + left * CHEAPER * self.rest > goal.cost

    def _try_fewer_cells(self) -> None:
        """Smaller tables that decide as many rows."""
        best = min(self.found, key=lambda one: one.cost)
        if not self.options.cells and not best.form.filled:
            few = Form(best.form.order, best.form.rank, CELLS[0])
            self.found += self._judge(best.grown, few)

    def _judge(self, grown: Grown, form: Form) -> list[Choice]:
        return list(judge(grown, form, self.price, self.rest, self.options))

    def _nearness(self, grown: Grown) -> Array:
        """Of each sample row, the logarithm of its best score beside what that may be off by."""
        last = [form for form in self.forms if not form.filled][-1]
        every = [[leaf.nearness(form) for leaf in grown.leaves] for form in (self.driving, last)]
        return np.asarray(np.maximum(*map(np.concatenate, every)))


def _sizes(whole: AnySum, form: Form, options: CertifiedOptions) -> list[int]:
    """Numbers of leaves to try: as many as the memory holds with order 2; order 1 alone decides little."""
    own = expansion_bytes(whole.vectors.shape[1], min(form.order, 2), form.rank, CELLS[0])
    most = max(FEW_LEAVES, options.max_bytes // own)
    return [size for size in SIZES if size <= most]


def _driving(tried: list[Form]) -> Form:
    """The form that says where the tree is split: all features if there is such a form."""
    dense = [form for form in tried if not form.filled]
    return next((form for form in reversed(dense) if not form.rank), dense[len(dense) // 2])
