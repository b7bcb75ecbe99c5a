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

from svmcompile.ir.cost import kernel_sum_flops
from svmcompile.kernel import Array, Kernel

CHECK_FLOPS = 6


@dataclass(frozen=True, slots=True)
class Prices:
    """Of kernel values, of a multiply-add of coordinates, of a stage."""

    value: float  # a kernel value of the basis
    term: float  # a kernel value of the direct sum behind it, multiply-add included
    exact: float  # the same of the exact method
    product: float  # a multiply-add of coordinates and estimates
    stage: float  # beside its products
    call: float = 0.0  # once per row
    exact_call: float = 0.0
    lanes: int = 1  # values and products come in groups of so many

    def values(self, count: int) -> float:
        """So many kernel values at once."""
        return self.value * float(self._whole(count))

    def row(self, length: int) -> float:
        """A row of so many products."""
        return self.product * float(self._whole(length))

    def triangle(self, first: int, last: int) -> float:
        """Rows of coordinates from one to another: row i has i + 1 products."""
        return self.product * float(self._whole(np.arange(first + 1, last + 1)).sum())

    def exact_sum(self, vectors: int, sums: int = 1) -> float:
        """The exact method with so many vectors, each in so many sums."""
        return self.exact_call + vectors * (self.exact + self.product * (sums - 1))

    def _whole(self, count: Any) -> Any:
        return -(-count // self.lanes) * self.lanes


@dataclass(frozen=True, slots=True)
class Measured:
    """Prices of a profile: (for a kernel value, and for each of its features), and the rest."""

    bounded: tuple[float, float]
    exact: tuple[float, float]
    product: float
    stage: float
    call: float
    exact_call: float
    lanes: int


MEASURED = {
    "host": Measured((0.2, 0.025), (0.13, 0.0225), 0.022, 8.0, 5.0, 20.0, 16),
    "portable": Measured((6.2, 0.125), (5.5, 0.1), 0.155, 5.0, 5.0, 0.0, 1),
}
TUNES = ("flops", *MEASURED)


def prices(tune: str, kernel: Kernel, n_features: int) -> Prices:
    """The table of that name for a kernel."""
    if tune == "flops":
        value = kernel_sum_flops(kernel, 1, n_features, 0)
        return Prices(value, value + 2, value + 2, 2.0, CHECK_FLOPS)
    found = MEASURED[tune]
    bounded, exact = (fixed + slope * n_features for fixed, slope in (found.bounded, found.exact))
    rest = (found.product, found.stage, found.call, found.exact_call, found.lanes)
    return Prices(bounded, bounded, exact, *rest)


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
