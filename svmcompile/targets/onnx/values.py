"""The tensors of a program's values in an ONNX graph, and their number types."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.nodes import Node, lazy_operands, operands
from svmcompile.ir.program import Program
from svmcompile.targets.onnx.columns import row_of_columns
from svmcompile.targets.onnx.graph import DOUBLE, INDEX, SAFE_SHIFT, SMALL, Array, Graph, Input, element_of
from svmcompile.targets.onnx.options import COLUMNS, INPUT, USUAL, OnnxOptions


class Values:
    """Tensor of every value of the program (`names`)."""

    def __init__(
        self, graph: Graph, program: Program, precision: str, options: OnnxOptions | None = None
    ) -> None:
        self.graph, self.options = graph, options or USUAL
        self.body = program.body
        self.tables = program.tables
        self.types = infer_types(program)
        self.number: np.dtype[Any] = np.dtype(np.float32) if precision == "f32" else DOUBLE
        in_columns = self.options.onnx_input == COLUMNS
        self.input: np.dtype[Any] = np.dtype(
            self.number if in_columns else self.options.onnx_input or self.number
        )
        self.floats: set[str] = set()  # tensors not held in double
        self.small: set[str] = set()  # those in a number type of `SMALL`
        self.narrowed: dict[str, str] = {}  # doubles that came from the number type, and what they were
        self.couplings: dict[str, Callable[[int], str]] = {}  # by pairs: an operator that couples them
        self.decided: dict[str, str] = {}  # the class of sums, where an operator gives both
        self.shifted: dict[str, tuple[str, Array]] = {}  # rows less a centre: the rows, and the centre
        self.summed: dict[str, tuple[Any, ...]] = {}  # by sums of an operator: what it was called with
        rows = row_of_columns(self, program) if in_columns else self.options.names[INPUT]
        if self.input != self.number:  # rows mean what they mean to a graph of the number type
            rows = self.cast(rows, self.number)
        self.names = {program.input.name: self._mark(rows)}

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
        return element_of(self.number)

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
        return self._mark(self.narrowed.get(name) or self.cast(name, self.number))

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
        return self.graph.op("Cast", name, to=element_of(dtype))

    def same(self, kind: str, name: str, *others: Input, **attributes: Any) -> str:
        """An operator whose result has the type of its first operand."""
        return self.marked_like(name, self.graph.op(kind, name, *others, **attributes))

    def type_of(self, name: str) -> np.dtype[Any]:
        """The number type of a tensor."""
        return np.dtype(np.float32) if name in self.floats else DOUBLE

    def marked_like(self, name: str, result: str) -> str:
        """`result`, known to have the number type of the tensor `name`."""
        if name in self.floats:
            self.floats.add(result)
        return result

    def like(self, name: str, array: Array | float) -> str:
        """A constant in the type of a tensor."""
        return self.graph.constant(np.asarray(array, self.type_of(name)))

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

    def products(self, matrices: str, rows: str) -> str:
        """[N, m] from matrices [N, m, d] and rows [N, d]; for several rows faster than `row_dots`."""
        last = self.integers(2)
        return self.same("Squeeze", self.same("MatMul", matrices, self.same("Unsqueeze", rows, last)), last)

    def centred(self, x: str, centre: Array) -> str:
        """x - centre in the number type, from the most digits x has."""
        return self.narrow(self.same("Sub", x, self.like(x, centre)) if centre.any() else x)

    def wide_centred(self, x: str, centre: Array) -> str:
        """x - centre in double."""
        wide = self.wide(x)
        return self.graph.op("Sub", wide, centre) if centre.any() else wide

    def integers(self, *numbers: int) -> str:
        """Whole numbers, as operators take axes and shapes."""
        return self.graph.constant(np.array(numbers, np.int64))

    def scalar(self, value: float) -> str:
        """A double."""
        return self.graph.constant(np.array(value, DOUBLE))

    def index(self, number: int) -> str:
        """A number of leaves and places."""
        return self.graph.constant(np.array(number, INDEX))

    def by(self, table: NDArray[Any], which: str) -> str:
        """The rows of a table that a tensor numbers."""
        return self.graph.op("Gather", table, which, axis=0)

    def true_of(self, truths: str) -> tuple[str, str]:
        """Places [1, some] of the rows where it is true, and the same as a list."""
        places = self.graph.op("NonZero", truths)
        return places, self.graph.op("Squeeze", places, self.integers(0))

    def put(self, result: str, places: str, some: str) -> str:
        """`result` with the rows at the places [1, some] replaced."""
        return self.graph.op("ScatterND", result, self.graph.op("Transpose", places), some)

    def any(self, truths: str) -> str:
        """Is any true? Not by a sum: ONNX Runtime 1.16 refuses to reduce what has no rows."""
        count = self.graph.op("Size", self.graph.op("NonZero", truths))
        return self.graph.op("Greater", count, np.array(0, np.int64))

    def clip(self, name: str, low: float, high: float) -> str:
        """A tensor held within bounds; what becomes of NaN is up to the run time."""
        return self.same("Clip", name, self.like(name, low), self.like(name, high))

    def with_nan_of(self, name: str, result: str) -> str:
        """`result`, with NaN where the tensor `name` has it."""
        kept = self.graph.op("Where", self.graph.op("IsNaN", name), name, result)
        return self.marked_like(name, kept)

    def product(self, rows: str, weights: Array, bias: Array) -> str:
        """A double tensor times each row of `weights`, plus `bias`."""
        return self.graph.op("Gemm", rows, weights, bias, transB=1)

    def poisoned(self, x: str, width: int, sums: str) -> str:
        """Sums with NaN in every row where the tensor `x` is not finite, since 0 * infinity is NaN."""
        zeros = self.like(x, np.zeros((width, 1)))
        return self.graph.op("Add", sums, self.wide(self.same("MatMul", x, zeros)))

    def _mark(self, name: str) -> str:
        if self.number != DOUBLE:
            self.floats.add(name)
        return name


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
