"""Values: the tensors of a program under construction, and which of them are float or double.

A graph, a program and a precision go in; helpers that keep number types straight come out.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.nodes import Node, lazy_operands, operands
from svmcompile.ir.program import Program
from svmcompile.targets.onnx.graph import Graph

Array = NDArray[np.float64]
DOUBLE = np.dtype(np.float64)
INDEX = np.dtype(np.int32)  # leaves and places in trees
SMALL = (np.dtype(np.int8), np.dtype(np.float16))  # number types of tables that are kept as they are
SAFE_SHIFT = 1e30  # shifts up to here cannot push a finite float to infinity


class Values:
    """Tensor of every value of the program (`names`).

    `floats` are the tensors not held in double, `small` those in a number type of `SMALL`.
    """

    def __init__(self, graph: Graph, program: Program, precision: str) -> None:
        self.graph = graph
        self.body = program.body
        self.tables = program.tables
        self.types = infer_types(program)
        self.number: np.dtype[Any] = np.dtype(np.float32) if precision == "f32" else DOUBLE
        self.names = {program.input.name: "x"}
        self.floats: set[str] = set() if self.number == DOUBLE else {"x"}
        self.small: set[str] = set()

    def of_rows(self, rows: str) -> Values:
        """The same values for some of the rows only, given as indices."""
        part = copy.copy(self)
        part.names = {name: self.gather(tensor, rows) for name, tensor in self.names.items()}
        return part

    def in_double(self) -> Values:
        """The same values, for nodes that compute in double whatever the precision."""
        wide = copy.copy(self)
        wide.number = DOUBLE
        return wide

    def within(self, graph: Graph) -> Values:
        """The same values, with operators added to another graph."""
        inside = copy.copy(self)
        inside.graph = graph
        return inside

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

    def number_table(self, table: NDArray[Any]) -> str:
        """A constant in the number type."""
        return self._mark(self.graph.constant(self.rounded(table)))

    def small_table(self, table: NDArray[Any]) -> str:
        """A constant that keeps a small number type, else is in the number type; see `in_number`."""
        if table.dtype not in SMALL:
            return self.number_table(table)
        name = self.graph.constant(table)
        self.small.add(name)
        return name

    def in_number(self, name: str) -> str:
        """A tensor that comes from a small table, in the number type."""
        return self._mark(self.cast(name, self.number)) if name in self.small else name

    def cast(self, name: str, dtype: np.dtype[Any]) -> str:
        return self.graph.op("Cast", name, to=_element(dtype))

    def same(self, kind: str, name: str, *others: str, **attributes: Any) -> str:
        """An operator whose result has the type of its first operand."""
        result = self.graph.op(kind, name, *others, **attributes)
        return self._typed_as(name, result)

    def type_of(self, name: str) -> np.dtype[Any]:
        """The number type of a tensor."""
        return np.dtype(np.float32) if name in self.floats else DOUBLE

    def marked_like(self, name: str, result: str) -> str:
        """`result`, known to have the number type of the tensor `name`."""
        return self._mark(result) if name in self.floats else result

    def like(self, name: str, array: Array | float) -> str:
        """A constant in the type of a tensor."""
        return self.graph.constant(np.asarray(array, np.float32 if name in self.floats else DOUBLE))

    def gather(self, name: str, rows: str) -> str:
        """Some rows of a tensor."""
        result = self.same("Gather", name, rows, axis=0)
        if name in self.small:
            self.small.add(result)
        return result

    def column(self, name: str) -> str:
        """[N, 1] as [N]."""
        return self.same("Squeeze", name, self.integers(1))

    def row_dots(self, left: str, right: str) -> str:
        """Dot products row by row, [N, 1]."""
        return self.same("ReduceSum", self.same("Mul", left, right), self.integers(1), keepdims=1)

    def centred(self, x: str, centre: Array) -> str:
        """x - centre in the number type, from the most digits x has."""
        return self.narrow(self.same("Sub", x, self.like(x, centre)) if centre.any() else x)

    def wide_centred(self, x: str, centre: Array) -> str:
        """x - centre in double."""
        wide = self.wide(x)
        return self.graph.op("Sub", wide, self.graph.constant(centre)) if centre.any() else wide

    def integers(self, *numbers: int) -> str:
        """Whole numbers, as operators take axes and shapes."""
        return self.graph.constant(np.array(numbers, np.int64))

    def scalar(self, value: float) -> str:
        """A double."""
        return self.graph.constant(np.array(value, DOUBLE))

    def clip(self, name: str, low: float, high: float) -> str:
        """A tensor held within bounds; what becomes of NaN is up to the run time."""
        return self.same("Clip", name, self.like(name, low), self.like(name, high))

    def with_nan_of(self, name: str, result: str) -> str:
        """`result`, with NaN where the tensor `name` has it."""
        kept = self.graph.op("Where", self.graph.op("IsNaN", name), name, result)
        return self._typed_as(name, kept)

    def product(self, rows: str, weights: Array, bias: Array) -> str:
        """A double tensor times each row of `weights`, plus `bias`."""
        return self.graph.op(
            "Gemm", rows, self.graph.constant(weights), self.graph.constant(bias), transB=1
        )

    def poisoned(self, x: str, width: int, sums: str) -> str:
        """Sums with NaN in every row where the tensor `x` is not finite, since 0 * infinity is NaN."""
        zeros = self.like(x, np.zeros((width, 1)))
        return self.graph.op("Add", sums, self.wide(self.same("MatMul", x, zeros)))

    def _typed_as(self, name: str, result: str) -> str:
        """A tensor marked as float if another is."""
        if name in self.floats:
            self.floats.add(result)
        return result

    def _mark(self, name: str) -> str:
        if self.number != DOUBLE:
            self.floats.add(name)
        return name


def _element(dtype: np.dtype[Any]) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(dtype))


@singledispatch
def build(node: Node, values: Values) -> str:
    """The tensor of one node's value: features, double sums, int32 leaves, or int64 indices of classes."""
    raise TypeError(f"no ONNX form of {type(node).__name__}")


def build_needed(values: Values, wanted: Iterable[str]) -> None:
    """Tensors for the wanted values and for what all rows need on the way there."""
    for node in _needed(values, set(wanted)):
        of_node = values.in_double() if in_double(node, values.types) else values
        values.names[node.out] = build(node, of_node)


def _needed(values: Values, wanted: set[str]) -> list[Node]:
    """Nodes to build, in their order; what is lazy is left to the node that wants it."""
    found: list[Node] = []
    for node in reversed(values.body):
        if node.out in wanted and node.out not in values.names:
            wanted.update(set(operands(node)) - set(lazy_operands(node)))
            found.append(node)
    return found[::-1]
