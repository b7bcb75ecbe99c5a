"""Costs: what parts of a bounded sum take, in units that can be compared with the exact sum.

Three tables. `flops` counts operations as the cost of programs does. `host` and `portable` are
nanoseconds of the emitted C, one row per call; they are constants, so that the same model
always gives the same program, on every machine.
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
    """Of a kernel value and its parts, of a coordinate's multiply-add, of a stage."""

    value: float  # one kernel value of a basis
    term: float  # one kernel value of a direct sum, its multiply-add included
    product: float  # one multiply-add of coordinates and estimates
    stage: float  # beside its products
    call: float = 0.0  # once per row, beside an exact sum
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

    def direct(self, count: int) -> float:
        """The terms of so many vectors."""
        return self.term * count

    def _whole(self, count: Any) -> Any:
        return -(-count // self.lanes) * self.lanes


def prices(tune: str, kernel: Kernel, n_features: int) -> Prices:
    """The table of that name for a kernel."""
    if tune == "flops":
        value = kernel_sum_flops(kernel, 1, n_features, 0)
        return Prices(value, value + 2, 2.0, CHECK_FLOPS)
    fixed, per_feature, rest = TIMES[tune]
    term = fixed + per_feature * n_features
    return Prices(term, term, *rest)


# Nanoseconds: (kernel value, its feature, (product, stage, call, lanes)).
TIMES: dict[str, tuple[float, float, tuple[float, float, float, int]]] = {
    "host": (0.35, 0.02, (0.08, 8.0, 10.0, 8)),
    "portable": (8.0, 0.6, (0.6, 8.0, 2.0, 1)),
}
TUNES = ("flops", *TIMES)


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
