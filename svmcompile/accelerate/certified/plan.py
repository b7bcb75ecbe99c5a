"""Plan: a front end and what comes behind it; front ends that were tried go in, the cheapest pair leaves.

The sum behind it, with or without the bounds of `anytime`, goes with the front end that is the cheapest
before that sum. Where jets make undecided rows cheap, a smaller front end may do: the costs of sample rows
in jets say which, and that one gets jets of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from svmcompile.accelerate.bounds.choose import ROUNDING, Instead, prices
from svmcompile.accelerate.certified import fallback
from svmcompile.accelerate.certified.choose import HARDLY, PRICES, SQUARE_FEATURES, Choice
from svmcompile.accelerate.certified.fallback import Costs, Fallback
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.taylor.jets import Jets
from svmcompile.accelerate.taylor.spectra import FEW_PRODUCTS, MANY_PRODUCTS
from svmcompile.accelerate.taylor.sums import RbfSum
from svmcompile.ir.arithmetic import Array
from svmcompile.model.svm import SVM
from svmcompile.progress import attempt

LEAST_ROWS = 20  # undecided ones, to judge by
MOST_VECTORS = 4000  # bounds of more vectors cost more time to make than rows are likely to save
MOST_JET_VECTORS = 1200  # likewise for jets, each of which takes the cube of their number
PARTS, FEW_PARTS = 10, 6  # of the vectors, between which jets are tried; where each costs much time


class Plan(NamedTuple):
    """A front end and its fallback."""

    choice: Choice
    behind: Fallback

    @property
    def cost(self) -> float:
        return self.choice.front + self.choice.shares[-1] * self.behind.cost


def make_plan(
    svm: SVM,
    own: SVM,
    rows: Array,
    tried: list[Choice],
    guarded: Fallback | None,
    options: CertifiedOptions,
) -> Plan | Instead:
    """The cheapest pair of what the options leave open; the front ends are sorted by cost.

    `guarded` is another fallback to compare with, where there is one.
    """
    first, kind, tune = tried[0], options.fallback, options.tune
    if fallback.is_quadratic(svm):
        return Plan(first, fallback.quadratic(svm, PRICES[tune]))
    left = fallback.undecided_rows(first)
    plain = fallback.direct(svm, own, rows, left, tune)
    if isinstance(plain, Instead):
        return plain
    found: list[Fallback | Instead] = [plain]
    if kind == "anytime" or (kind == "auto" and len(left) >= LEAST_ROWS and own.n_vectors <= MOST_VECTORS):
        attempt(lambda: found.append(fallback.bounds(svm, own, rows, left, tune)))
    plans = [Plan(first, one) for one in found if isinstance(one, Fallback)]
    if kind == "anytime":
        return plans[-1]
    plans += [Plan(first, guarded)] if guarded else []
    best = min(plans, key=lambda one: one.cost)
    if not options.takes_jets or (kind == "auto" and own.n_vectors > MOST_JET_VECTORS):
        return best
    redone = (fallback.REDONE - 1) / fallback.REDONE * plain.cost * first.shares[-1]
    jets = list[Plan | Instead]()
    attempt(lambda: jets.append(Tails(svm, own, options, redone).plan(tried)))
    if kind == "jets" and jets:
        return jets[0]
    plans = [one for one in jets if isinstance(one, Plan) and one.cost < HARDLY * best.cost]
    return plans[0] if plans else best


class Tails:
    """Front ends with jets behind them.

    `redone` is what rows that are left cost beside all that in double, over all rows; those are rows so
    close to zero that no front end and no jet is sure of them.
    """

    def __init__(self, svm: SVM, own: SVM, options: CertifiedOptions, redone: float) -> None:
        self.svm, self.own, self.options, self.redone = svm, own, options, redone
        self.costs = Costs(prices(options.tune, svm), PRICES[options.tune], own.kernel_width)

    def plan(self, tried: list[Choice]) -> Plan | Instead:
        """Jets behind the first, or behind the one that they make cheapest."""
        if not isinstance(tried[0].whole, RbfSum):
            return Instead("jets are for RBF kernels")
        d, room = self.own.kernel_width, self.options.max_bytes
        least = max(1, min(self.options.blocks, self.own.n_vectors) - 1)
        fitting = [one for one in tried if fallback.most_jets(d, room - one.bytes) >= least]
        if self.own.n_vectors < 2 or d > SQUARE_FEATURES:
            return Instead(f"jets need two support vectors or more and at most {SQUARE_FEATURES} features")
        if not fitting:
            return Instead(f"no front end leaves room for a jet in {room} bytes; raise max_bytes")
        if self.options.fallback == "auto" and len(_left(fitting[0])) < LEAST_ROWS:
            return Instead("too few rows are left undecided to judge jets by")
        tail = self._tail(fitting[0])
        if tail is None:
            return Instead(ROUNDING)
        plans = [self._plan(fitting[0], tail)]
        other = self._cheapest([one for one in fitting if one.bytes + tail.bytes <= room], tail)
        if other is not fitting[0]:
            tail = self._tail(other)
            plans += [self._plan(other, tail)] if tail else []
        return min(plans, key=lambda one: one.cost)

    def _tail(self, choice: Choice) -> Jets | None:
        """The best jets for the rows that a front end leaves."""
        rows = _coming(choice)
        if len(rows) < LEAST_ROWS:
            rows = np.concatenate([leaf.rows for leaf in choice.leaves])
        d, wanted = self.own.kernel_width, self.options.blocks
        many = d * (d + 1) // 2 > FEW_PRODUCTS
        sharpen = MANY_PRODUCTS if len(choice.leaves) == 1 else FEW_PRODUCTS
        parts = wanted or (FEW_PARTS if many else PARTS)
        assert isinstance(choice.whole, RbfSum)
        found = fallback.make_jets(self.own, choice.whole, rows, parts, sharpen)
        if found is None:
            return None
        most = fallback.most_jets(d, self.options.max_bytes - choice.bytes)
        return fallback.best_jets(found, _judges(choice), self.costs, most, bool(wanted))

    def _cheapest(self, tried: list[Choice], tail: Jets) -> Choice:
        """The front end before jets, by the cost of each sample row in them."""
        known: dict[int, Array] = {}

        def cost(choice: Choice) -> float:
            if id(choice.grown) not in known:
                known[id(choice.grown)] = self.costs.of_rows(tail.blocks(choice.sample[0]), tail.all_ends)
            return choice.front + float((known[id(choice.grown)] * choice.left).mean())

        return min(tried, key=cost)

    def _plan(self, choice: Choice, tail: Jets) -> Plan:
        redone = self.redone / max(choice.shares[-1], 1.0 / len(choice.left))
        parts = self.costs.by_block(tail, _judges(choice))
        parts[-1] = parts[-1]._replace(cost=parts[-1].cost + redone)
        program = fallback.jet_program(self.svm, self.own, tail)
        return Plan(choice, Fallback(program, tuple(parts), tail.bytes))


def _coming(choice: Choice) -> Array:
    """Rows that no order decides, of those that centres are made of."""
    left = [leaf.rows[leaf.settles(choice.form, leaf.rows) == choice.form.order] for leaf in choice.leaves]
    return np.concatenate(left)


def _left(choice: Choice) -> Array:
    """Undecided rows that jets are judged by: of the sample, or where those are few of other rows."""
    left = choice.sample[0][choice.left]
    return left if len(left) >= LEAST_ROWS else max(left, _coming(choice), key=len)


def _judges(choice: Choice) -> Array:
    """The same; without any, the sample has to do, for jets that are asked for."""
    left = _left(choice)
    return left if len(left) else choice.sample[0]
