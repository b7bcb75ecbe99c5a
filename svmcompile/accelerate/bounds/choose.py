"""Choice of a form: what it costs on sample rows, and what the user is told of it.

Costs: what parts of a bounded sum take, in units that can be compared with the exact sum.
Three tables. `flops` counts operations as the cost of programs does. `host` and `portable` are
nanoseconds of emitted float32 C, one row per call, on a processor with AVX-512. They are
constants, so that the same model gives the same program on every machine; only ratios matter.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.options import UNITS, AnytimeOptions
from svmcompile.accelerate.bounds.stages import Form, Readings
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import SPARSE_ZEROS
from svmcompile.ir.node import kernel_sum_flops
from svmcompile.model.svm import SVM

CHECK_FLOPS = 6
SPARSE_COST = 2.2  # a feature of a vector that is stored without its zeros, beside one of a dense table
BLOCKS = {"host": (16,)}  # what its code takes at once
ANY_BLOCK = (16, 8, 4, 1)
WORTH = 0.75  # of the exact sum's cost: predictions are not that sharp
NEAR = 1.05  # costs so close count as equal
COORDINATES = {"host": (0, 16, 32)}  # and all
ANY_COORDINATES = (0, 8, 32)
PROMISE = (
    "every label is that of the original in double, even where float32 cannot decide; there is no decision "
    "function"
)
ROUNDING = (
    "in float32, rounding is too large for these features, or unbounded after this preprocessing, so no "
    "bound is certain; scale the features, or leave out the preprocessing"
)


@dataclass(frozen=True, slots=True)
class Instead:
    """Why the exact sum is emitted, with figures for the report."""

    reason: str
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prices:
    """Of kernel values, of a multiply-add of coordinates, of a stage."""

    value: float  # a kernel value of the basis, in a block
    single: float  # the same by itself, as pairs of a vote ask for it
    term: float  # a kernel value of the direct sum behind it, multiply-add included
    exact: float  # the same of the exact method
    product: float  # a multiply-add of coordinates and estimates
    stage: float  # beside its products
    call: float = 0.0  # once per row
    exact_call: float = 0.0
    lanes: int = 1  # values and products come in groups of so many
    line: float = 0.0  # a coordinate, beside its products
    worth: float = WORTH
    blocks: tuple[int, ...] = ()  # between looks at the bound, where others are out of the question

    def values(self, count: int) -> float:
        """So many kernel values at once."""
        return self.value * float(self._whole(count))

    def row(self, length: int) -> float:
        """A row of so many products."""
        return self.product * float(self._whole(length))

    def triangle(self, first: int, last: int) -> float:
        """Rows of coordinates from one to another: row i has i + 1 products."""
        lengths = np.arange(first + 1, last + 1)
        return self.product * float(self._whole(lengths).sum()) + self.line * len(lengths)

    def exact_sum(self, vectors: int, sums: int = 1) -> float:
        """The exact method with so many vectors, each in so many sums."""
        return self.exact_call + vectors * (self.exact + self.product * (sums - 1))

    def _whole(self, count: Any) -> Any:
        return -(-count // self.lanes) * self.lanes


def prices(tune: str, svm: SVM) -> Prices:
    """The table of that name for a machine."""
    width = svm.kernel_width
    if svm.kernel.kind == "precomputed":
        return GIVEN
    if tune == "flops":
        value = kernel_sum_flops(svm.kernel, 1, width, 0)
        return Prices(value, value, value + 2, value + 2, 2.0, CHECK_FLOPS)
    by_width, rest = MEASURED[tune]
    widths = dict.fromkeys(by_width, float(width)) | {"exact": _exact_width(svm)}
    by_name: Any = {name: fixed + slope * widths[name] for name, (fixed, slope) in by_width.items()}
    return Prices(**by_name, **rest)


def _exact_width(svm: SVM) -> float:
    """How many features a vector of the exact sum costs: zeros need not be met, bounded sums meet them."""
    width, zeros = svm.kernel_width, float((svm.vectors == 0).mean())
    dense = svm.front.nodes or zeros < SPARSE_ZEROS
    return width if dense else min(width, SPARSE_COST * (1 - zeros) * width)


def stage_costs(price: Prices, ends: NDArray[np.int32], known: int) -> Array:
    """What a row has cost after each stage."""
    total, before, found = price.call, 0, []
    for end in ends.tolist():
        total += price.values(end - before) + price.stage
        total += price.triangle(before, min(end, known))
        total += price.row(end - before) if end <= known else price.row(end)
        before = end
        found.append(total)
    return np.array(found)


@dataclass(frozen=True, slots=True)
class Choice:
    """A form, and what the sample rows say of it."""

    form: Form
    cost: float  # mean per row
    exact: float  # the same of the exact sum
    steps: float  # mean number of kernel values
    undecided: float  # share of rows that go on to the direct sum

    def pays(self, price: Prices) -> bool:
        return self.cost < price.worth * self.exact

    def as_dict(self) -> dict[str, Any]:
        """For reports."""
        found = {key: round(value, 6) for key, value in asdict(self).items() if key != "form"}
        return asdict(self.form) | found


def choose_form(
    readings: Readings, picks: NDArray[np.int64], vectors: int, price: Prices, options: AnytimeOptions
) -> Choice:
    """The form that is best on sample rows, of those the options leave open.

    The sum has so many vectors, and `picks` says which of them are the points of the basis (-1: none).
    """
    most, tried = len(readings.basis), []
    blocks = (options.block,) if options.block else price.blocks or BLOCKS.get(options.tune, ANY_BLOCK)
    for known in _coordinates(options, most):
        decided = readings.decided(readings.gaps(known), options.tolerance)
        for block in blocks:
            for k_max in _limits(options, most, block):
                form = Form(block, k_max, min(known, k_max))
                met = int((picks[:k_max] >= 0).sum())
                tried.append(judge(form, decided[:, form.ends], vectors, met, price))
    return pick_cheapest(tried)


def pick_cheapest(tried: list[Choice]) -> Choice:
    """The cheapest; near ties go to large blocks, which suit vector registers."""
    least = min(one.cost for one in tried)
    near = [one for one in tried if one.cost <= NEAR * least]
    block = max(one.form.block for one in near)
    return min((one for one in near if one.form.block == block), key=lambda one: one.cost)


def judge(form: Form, decided: NDArray[np.bool_], vectors: int, met: int, price: Prices) -> Choice:
    """What a form costs for rows that these stages [rows, stages] decide.

    The direct sum meets every vector; the values of those that are met in the basis are known by then.
    """
    after = stage_costs(price, form.ends, form.r_coords)
    sure = decided.any(axis=1)
    stage = np.where(sure, decided.argmax(axis=1), len(after) - 1)
    cost = after[stage] + np.where(sure, 0.0, price.term * (vectors - met) + price.row(met))
    steps = np.where(sure, form.ends[stage], form.k_max + vectors - met)
    exact = price.exact_sum(vectors)
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


def remarks(choice: Choice, options: AnytimeOptions) -> tuple[str, ...]:
    """Notes for a program of bounded sums."""
    promise = (
        f"{PROMISE} (tolerance gives one)"
        if options.by_label
        else f"values are within {options.tolerance:g} of the original's, or as near as rounding of the "
        "whole sum allows"
    )
    form = choice.form
    return (
        promise,
        f"predicted on sample rows: {choice.steps:.1f} kernel values and {choice.cost / choice.exact:.0%} "
        f"of the exact sum's cost ({UNITS[options.tune]}), with block={form.block}, k_max={form.k_max}, "
        f"r_coords={form.r_coords}",
    )


def no_gain(what: str, ratio: float, tune: str, hint: str) -> str:
    """Why the exact sum is taken, and what would change that."""
    return (
        f"{what} are predicted to cost {ratio:.2f} times as much as the exact sum ({UNITS[tune]}), "
        f"too much to be worth it; {hint}"
    )


# A kernel value of the caller's own is what costs: as much as this many multiply-adds, whatever the tune.
GIVEN = Prices(1000.0, 1000.0, 1001.0, 1001.0, 1.0, 10.0, worth=0.95, blocks=(1,))

# (of a kernel value, and of each of its features), and the rest.
MEASURED: dict[str, tuple[dict[str, tuple[float, float]], dict[str, Any]]] = {
    "host": (
        {"value": (0.0, 0.055), "single": (18.0, 0.4), "term": (0.2, 0.025), "exact": (0.13, 0.0225)},
        {"product": 0.022, "stage": 12.0, "call": 12.0, "exact_call": 20.0, "lanes": 16},
    ),
    "portable": (
        {"value": (6.2, 0.125), "single": (6.2, 0.125), "term": (6.2, 0.125), "exact": (5.5, 0.1)},
        {"product": 0.155, "stage": 10.0, "call": 25.0, "line": 3.0},
    ),
}
