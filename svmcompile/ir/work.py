"""work: what one node costs per row. Cases are in `cost.py` and `chances_cost.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from numpy.typing import NDArray

from svmcompile.ir.nodes import Node
from svmcompile.ir.rules import Types

Tables = Mapping[str, NDArray[Any]]
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


@singledispatch
def work(node: Node, types: Types, tables: Tables, values: Values | None) -> Work:
    """Kernel evaluations and flops of one node: on average over rows with these values, or at most."""
    raise TypeError(f"no cost for {type(node).__name__}")
