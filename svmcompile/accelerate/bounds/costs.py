"""Costs: what parts of a bounded sum take, in units that can be compared with the exact sum.

Three tables. `flops` counts operations as the cost of programs does. `host` and `portable` are
nanoseconds of emitted float32 C, one row per call, on a processor with AVX-512. They are
constants, so that the same model gives the same program on every machine; only ratios matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import SPARSE_ZEROS, Array
from svmcompile.ir.node import kernel_sum_flops
from svmcompile.model.svm import SVM

CHECK_FLOPS = 6
SPARSE_COST = 2.2  # a feature of a vector that is stored without its zeros, beside one of a dense table


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


@dataclass(frozen=True, slots=True)
class Measured:
    """Prices of a profile: (for a kernel value, and for each of its features), and the rest."""

    block: tuple[float, float]
    single: tuple[float, float]
    rest: tuple[float, float]  # of the direct sum
    exact: tuple[float, float]
    product: float
    stage: float
    call: float
    exact_call: float
    lanes: int
    line: float


MEASURED = {
    "host": Measured(
        block=(0.0, 0.055), single=(18.0, 0.4), rest=(0.2, 0.025), exact=(0.13, 0.0225),
        product=0.022, stage=12.0, call=12.0, exact_call=20.0, lanes=16, line=0.0,
    ),
    "portable": Measured(
        block=(6.2, 0.125), single=(6.2, 0.125), rest=(6.2, 0.125), exact=(5.5, 0.1),
        product=0.155, stage=10.0, call=25.0, exact_call=0.0, lanes=1, line=3.0,
    ),
}  # fmt: skip
TUNES = ("flops", *MEASURED)


def prices(tune: str, svm: SVM) -> Prices:
    """The table of that name for a machine."""
    width = svm.kernel_width
    if tune == "flops":
        value = kernel_sum_flops(svm.kernel, 1, width, 0)
        return Prices(value, value, value + 2, value + 2, 2.0, CHECK_FLOPS)
    found = MEASURED[tune]
    kinds = (found.block, found.single, found.rest)
    block, single, term = (fixed + slope * width for fixed, slope in kinds)
    exact = found.exact[0] + found.exact[1] * _exact_width(svm)
    rest = (found.product, found.stage, found.call, found.exact_call, found.lanes, found.line)
    return Prices(block, single, term, exact, *rest)


def _exact_width(svm: SVM) -> float:
    """How many features a vector of the exact sum costs: zeros need not be met, bounded sums meet them."""
    width = svm.kernel_width
    zeros = float((svm.vectors == 0).mean())
    return (
        width if svm.front.nodes or zeros < SPARSE_ZEROS else min(width, SPARSE_COST * (1 - zeros) * width)
    )


def staged_costs(price: Prices, ends: NDArray[np.int32], known: int) -> Array:
    """What a row has cost after each stage."""
    total, before, found = price.call, 0, []
    for end in ends.tolist():
        total += price.values(end - before) + price.stage
        total += price.triangle(before, min(end, known))
        total += price.row(end - before) if end <= known else price.row(end)
        before = end
        found.append(total)
    return np.array(found)
