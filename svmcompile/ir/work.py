"""work: what one node costs per row; nodes give it by their method `work`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from svmcompile.ir.kernel import Kernel

Values = Mapping[str, NDArray[Any]]

# Flops of one kernel value beside its dot product: a polynomial of degree 5 and
# the scaling for exp2, the same and a division for tanh.
KERNEL_SHAPES = {
    "rbf": "exp2", "sigmoid": "tanh", "linear": "identity", "poly": "power", "precomputed": "given",
}  # fmt: skip
SHAPE_FLOPS = {"exp2": 14, "tanh": 18, "identity": 1, "given": 0}


@dataclass(frozen=True, slots=True)
class Work:
    """What a row costs in one node, on average over the rows given or at most."""

    kernel_evaluations: float
    flops: float

    def __rmul__(self, share: float) -> Work:
        return Work(share * self.kernel_evaluations, share * self.flops)

    def __add__(self, other: Work) -> Work:
        return Work(self.kernel_evaluations + other.kernel_evaluations, self.flops + other.flops)


def kernel_sum_flops(kernel: Kernel, n: int, d: int, weights_per_vector: int) -> int:
    """Flops of n kernel values in d dimensions, each entering some sums."""
    if kernel.kind == "precomputed":  # what the caller's own kernel costs is not known
        return n * 2 * weights_per_vector
    return n * (2 * d + shape_flops(KERNEL_SHAPES[kernel.kind], kernel.degree) + 2 * weights_per_vector)


def shape_flops(shape: str, degree: int) -> int:
    return 1 + 2 * degree.bit_length() if shape == "power" else SHAPE_FLOPS[shape]


def mean_or_most(per_leaf: NDArray[Any], rows: Any, field: str) -> float:
    """Of the leaves that rows fall into, on average; without rows, of the worst leaf."""
    return float(per_leaf.max() if rows is None else per_leaf[getattr(rows, field)].mean())
