"""Choice of a form: readings of sample rows and prices enter, the cheapest form leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.costs import Prices, staged_costs
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.stages import Form, Readings

BLOCKS = {"host": (16,)}  # what its code takes at once
ANY_BLOCK = (16, 8, 4, 1)
WORTH = 0.75  # of the exact sum's cost: predictions are not that sharp
NEAR = 1.05  # costs so close count as equal
COORDINATES = {"host": (0, 16, 32)}  # and all
ANY_COORDINATES = (0, 8, 32)


@dataclass(frozen=True, eq=False)
class Members:
    """How many vectors the sum has, and how many of them are among the first points of the basis."""

    vectors: int
    in_basis: NDArray[np.int64]  # [K + 1]

    @classmethod
    def of(cls, vectors: int, picks: NDArray[np.int64]) -> Members:
        return cls(vectors, np.concatenate([[0], np.cumsum(picks >= 0)]))


@dataclass(frozen=True, slots=True)
class Choice:
    """A form, and what the sample rows say of it."""

    form: Form
    cost: float  # mean per row
    exact: float  # the same of the exact sum
    steps: float  # mean number of kernel values
    undecided: float  # share of rows that go on to the direct sum

    @property
    def pays(self) -> bool:
        return self.cost < WORTH * self.exact

    def as_dict(self) -> dict[str, Any]:
        """For reports."""
        found = {key: round(value, 6) for key, value in asdict(self).items() if key != "form"}
        return asdict(self.form) | found


def chosen(readings: Readings, members: Members, price: Prices, options: AnytimeOptions) -> Choice:
    """The form that is best on sample rows, of those the options leave open."""
    return preferred(list(_tried(readings, members, price, options)))


def preferred(tried: list[Choice]) -> Choice:
    """The cheapest; near ties go to large blocks, which suit vector registers."""
    least = min(one.cost for one in tried)
    near = [one for one in tried if one.cost <= NEAR * least]
    block = max(one.form.block for one in near)
    return min((one for one in near if one.form.block == block), key=lambda one: one.cost)


def _blocks(options: AnytimeOptions) -> tuple[int, ...]:
    return (options.block,) if options.block else BLOCKS.get(options.tune, ANY_BLOCK)


def _tried(
    readings: Readings, members: Members, price: Prices, options: AnytimeOptions
) -> Iterator[Choice]:
    most = len(readings.basis)
    for known in _coordinates(options, most):
        decided = readings.decided(readings.gaps(known), options.tolerance)
        for block in _blocks(options):
            for k_max in _limits(options, most, block):
                form = Form(block, k_max, min(known, k_max))
                yield judged(form, decided[:, form.ends], members, price)


def judged(form: Form, decided: NDArray[np.bool_], members: Members, price: Prices) -> Choice:
    """What a form costs for rows that these stages [rows, stages] decide.

    The direct sum meets every vector; values of the basis are known by then.
    """
    after = staged_costs(price, form.ends, form.r_coords)
    sure = decided.any(axis=1)
    stage = np.where(sure, decided.argmax(axis=1), len(after) - 1)
    met = int(members.in_basis[form.k_max])
    rest = price.term * (members.vectors - met) + price.row(met)
    cost = after[stage] + np.where(sure, 0.0, rest)
    steps = np.where(sure, form.ends[stage], form.k_max + members.vectors - met)
    exact = price.exact_sum(members.vectors)
    return Choice(form, float(cost.mean()), exact, float(steps.mean()), float(1 - sure.mean()))


def _coordinates(options: AnytimeOptions, most: int) -> list[int]:
    if options.r_coords != "auto":
        return [most if options.r_coords == "all" else min(int(options.r_coords), most)]
    tried = COORDINATES.get(options.tune, ANY_COORDINATES)
    return [*(count for count in tried if count < most), most]


def _limits(options: AnytimeOptions, most: int, block: int) -> list[int]:
    """Numbers of basis points: 8, 12, 16, 24, ... and all."""
    if options.k_max:
        return [min(options.k_max, most)]
    found = [size for power in range(3, 12) for size in (2**power, 3 * 2 ** (power - 1)) if size < most]
    return [*(size for size in found if size >= block), most]
