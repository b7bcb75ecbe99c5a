"""Values: the tensors of a program under construction, and which of them are float or double.

A graph, a program and a precision go in; helpers that keep number types straight come out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.emit.onnx_graph import Graph
from svmcompile.errors import EmitError
from svmcompile.ir.program import Program

Array = NDArray[np.float64]

DOUBLE = np.dtype(np.float64)
SAFE_SHIFT = 1e30  # shifts up to here cannot push a finite float to infinity


class Values:
    """Tensor of every value of the program (`names`); `floats` are the tensors not held in double."""

    def __init__(self, graph: Graph, program: Program, precision: str) -> None:
        self.graph = graph
        self.tables = program.tables
        self.n_features = program.n_features
        self.number: np.dtype[Any] = np.dtype(np.float32) if precision == "f32" else DOUBLE
        self.names = {program.input.name: "x"}
        self.floats: set[str] = set() if self.number == DOUBLE else {"x"}

    @property
    def element(self) -> int:
        """ONNX's code for the number type."""
        return _element(self.number)

    def rounded(self, array: Array) -> NDArray[Any]:
        """A table in the number type."""
        with np.errstate(over="ignore"):
            result = array.astype(self.number)
        if not np.isfinite(result).all():
            raise EmitError("the model holds numbers beyond float's range; use precision f64")
        return result

    def keeps(self, array: Array) -> bool:
        """Can the number type hold these numbers exactly, and far from its limits?"""
        with np.errstate(over="ignore"):
            same = array.astype(self.number) == array
        return bool((same & (np.abs(array) < SAFE_SHIFT)).all())

    def wide(self, name: str) -> str:
        """A tensor in double."""
        return self.cast(name, DOUBLE) if name in self.floats else name

    def narrow(self, name: str) -> str:
        """A tensor in the number type."""
        if name in self.floats or self.number == DOUBLE:
            return name
        return self._mark(self.cast(name, self.number))

    def cast(self, name: str, dtype: np.dtype[Any]) -> str:
        return self.graph.op("Cast", name, to=_element(dtype))

    def same(self, kind: str, name: str, *others: str, **attributes: Any) -> str:
        """An operator whose result has the type of its first operand."""
        result = self.graph.op(kind, name, *others, **attributes)
        return self._mark(result) if name in self.floats else result

    def like(self, name: str, array: Array | float) -> str:
        """A constant in the type of a tensor."""
        return self.graph.constant(np.asarray(array, self.number if name in self.floats else DOUBLE))

    def scalar(self, value: float) -> str:
        """A double."""
        return self.graph.constant(np.array(value, DOUBLE))

    def clip(self, name: str, low: float, high: float) -> str:
        """A tensor held within bounds; what becomes of NaN is up to the run time."""
        return self.same("Clip", name, self.like(name, low), self.like(name, high))

    def with_nan_of(self, name: str, result: str) -> str:
        """`result`, with NaN where the tensor `name` has it."""
        kept = self.graph.op("Where", self.graph.op("IsNaN", name), name, result)
        return self._mark(kept) if name in self.floats else kept

    def product(self, rows: str, weights: Array, bias: Array) -> str:
        """A double tensor times each row of `weights`, plus `bias`."""
        return self.graph.op(
            "Gemm", rows, self.graph.constant(weights), self.graph.constant(bias), transB=1
        )

    def poisoned(self, x: str, sums: str, width: int | None = None) -> str:
        """Sums with NaN in every row where the tensor `x` is not finite, since 0 * infinity is NaN."""
        zeros = self.like(x, np.zeros((width or self.n_features, 1)))
        return self.graph.op("Add", sums, self.wide(self.same("MatMul", x, zeros)))

    def _mark(self, name: str) -> str:
        if self.number != DOUBLE:
            self.floats.add(name)
        return name


def _element(dtype: np.dtype[Any]) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(dtype))
