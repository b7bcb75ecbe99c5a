"""propagate: what rounding does to the value of one node.

The cases are in `bounds.py` and `tree_bounds.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import run
from svmcompile.ir.kernel import Array
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Number

Tables = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Rounding of one number type: unit roundoff and the errors of exp2 (relative), tanh and cos."""

    u: float
    exp_error: float
    tanh_error: float
    smallest: float  # kernel values below are flushed to zero
    cos_error: float

    @property
    def tiny(self) -> float:
        """The rounding error of numbers below `smallest`."""
        return self.u * self.smallest


ARITHMETIC: dict[Number, Arithmetic] = {
    "f32": Arithmetic(2.0**-24, 2e-7, 3e-7, 2.0**-126, 3e-7),
    "f64": Arithmetic(2.0**-53, 4e-16, 6e-16, 2.0**-1022, 6e-16),
}


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value, a bound on its error, and the rows whose label rounding could change."""

    value: NDArray[Any]
    error: Array
    unstable: NDArray[np.bool_]

    @property
    def near_zero(self) -> NDArray[np.bool_]:
        """Where the error may change the sign; a value without error is what it is, zero too."""
        return np.asarray((np.abs(self.value) <= self.error) & (self.error > 0))


Env = Mapping[str, Bounded]
Result = tuple[NDArray[Any], Array, Any]  # value, error, rows made unstable


@singledispatch
def propagate(node: Node, env: Env, tables: Tables, a: Arithmetic) -> Result:
    """A node's value, its error, and the rows it makes unstable."""
    raise TypeError(f"no error bound for {type(node).__name__}")


def value_of(node: Node, env: Env, tables: Tables) -> NDArray[Any]:
    """A node's value from the values beside the errors."""
    return run(node, {name: env[name].value for name in ir.operands(node)}, tables)
