"""ONNX graphs under construction: operators and constants; the tensors of a program and their number types.

Names are counted, equal constants and equal operators are shared, and what no output needs is left out, so
the same calls always give the same small graph. `Values` keeps number types straight.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError, OptionError
from svmcompile.ir.check import in_double, infer_types
from svmcompile.ir.nodes import Node, lazy_operands, operands
from svmcompile.ir.program import Program
from svmcompile.targets.onnx.columns import row_of_columns
from svmcompile.targets.onnx.options import COLUMNS, INPUT, IR_VERSIONS, OPSET, USUAL, OnnxOptions

if TYPE_CHECKING:
    from svmcompile.targets.onnx.bodies import Body

ML, ML_VERSION = "ai.onnx.ml", 3  # the domain of trees and SVMs, imported where it is used
AXES_AS_INPUT = 18  # from this opset on, operators that reduce take axes as an input
BATCH = "N"  # the symbolic number of rows
MAX_BYTES = 2**31 - 2**20  # protobuf's limit on one message, with room for the nodes
Array = NDArray[np.float64]
Input = str | float | NDArray[Any]  # of an operator: a tensor, or the constant to make
DOUBLE = np.dtype(np.float64)
INDEX = np.dtype(np.int32)  # leaves and places in trees
SMALL = (np.dtype(np.int8), np.dtype(np.float16))  # number types of tables that are kept as they are
SAFE_SHIFT = 1e30  # shifts up to here cannot push a finite float to infinity


class Graph:
    """Collects nodes in the order they are asked for; every method returns the name of a tensor."""

    def __init__(self, prefix: str = "", opset: int = OPSET) -> None:
        self._prefix = prefix
        self.opset = opset
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._known: dict[object, list[str]] = {}
        self._outputs: list[Any] = []

    def constant(self, value: NDArray[Any] | float) -> str:
        """An initialiser; single numbers are doubles, arrays of objects hold strings."""
        from onnx import numpy_helper

        array = value if isinstance(value, np.ndarray) else np.array(value, DOUBLE)
        tensor = numpy_helper.from_array(np.ascontiguousarray(array) if array.ndim else array)
        key = hashlib.sha256(tensor.SerializeToString(deterministic=True)).hexdigest()
        if key not in self._known:
            tensor.name = f"constant_{len(self._constants)}"
            self._constants[tensor.name] = tensor
            self._known[key] = [tensor.name]
        return self._known[key][0]

    def op(self, kind: str, *inputs: Input, **attributes: Any) -> str:
        """One operator with one output."""
        return self.ops(kind, *inputs, outputs=1, **attributes)[0]

    def ops(self, kind: str, *operands: Input, outputs: int, **attributes: Any) -> list[str]:
        """One operator with several outputs."""
        if "axes" in attributes and self.opset >= AXES_AS_INPUT:
            operands = (*operands, np.array(attributes.pop("axes"), np.int64))
        inputs = tuple(one if isinstance(one, str) else self.constant(one) for one in operands)
        key = (kind, inputs, outputs, tuple(sorted(attributes.items())))
        if key not in self._known:
            stem = f"{self._prefix}{kind.lower()}_{len(self._nodes)}"
            names = [stem] if outputs == 1 else [f"{stem}_{index}" for index in range(outputs)]
            self._add(kind, inputs, names, attributes)
            self._known[key] = names
        return self._known[key]

    def nested(self, dtype: np.dtype[Any], width: int = 0) -> Body:
        """The body of a loop, which may read any tensor of this graph.

        Its state is one number per row or, with a width, so many.
        """
        from svmcompile.targets.onnx.bodies import Body

        return Body(self, f"{self._prefix}body_{len(self._nodes)}_", dtype, width)

    def loop(self, most: str, start: str, body: Body, goes_on: str, after: str) -> str:
        """The state after the body has run at most so often, while it goes on."""
        true = self.constant(np.array(True))
        name = f"{self._prefix}loop_{len(self._nodes)}"
        self._add("Loop", (most, true, start), [name], {"body": body.proto(goes_on, after)})
        return name

    def each_row(self, rows: str, body: Body, result: str, width: int) -> str:
        """The results [width] of a body for each row of a tensor, `body.row_of` it, one below the other.

        Rows go one by one, which bounds memory. Not by Scan: ONNX Runtime wants at least one of them.
        """
        shape, true = self.op("Shape", rows), self.constant(np.array(True))
        count = self.op("Gather", shape, np.array(0, np.int64), axis=0)
        name = f"{self._prefix}loop_{len(self._nodes)}"
        self._add("Loop", (count, true), [name], {"body": body.row_proto(result, width)})
        return name

    def output(self, name: str, value: str, element: int, width: int | None, rows: Any = BATCH) -> None:
        """Give a tensor a public name; `width` is None for one value per row."""
        from onnx import helper

        self._add("Identity", (value,), [name], {})
        shape = [rows] if width is None else [rows, width]
        self._outputs.append(helper.make_tensor_value_info(name, element, shape))

    def split_output(self, name: str, value: str, element: int, widths: Sequence[int]) -> None:
        """Some columns of a tensor after others, as a sequence of tensors."""
        from onnx import helper

        inputs = value, self.constant(np.array(widths, np.int64))
        self._add("SplitToSequence", inputs, [name], {"axis": 1, "keepdims": 1})
        one = helper.make_tensor_type_proto(element, None)
        self._outputs.append(helper.make_value_info(name, helper.make_sequence_type_proto(one)))

    def zipped_output(self, name: str, value: str, keys: dict[str, Any]) -> None:
        """A sequence of maps from labels to the row's floats, which has no fixed length."""
        from onnx import TensorProto, helper

        kind = TensorProto.STRING if "classlabels_strings" in keys else TensorProto.INT64
        self._add("ZipMap", (value,), [name], {"domain": ML, **keys})
        one = helper.make_map_type_proto(kind, helper.make_tensor_type_proto(TensorProto.FLOAT, None))
        self._outputs.append(helper.make_value_info(name, helper.make_sequence_type_proto(one)))

    def _add(
        self, kind: str, inputs: tuple[str, ...], outputs: list[str], attributes: Mapping[str, Any]
    ) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[0], **attributes))

    def model(
        self, name: str, rows: list[Any], metadata: Mapping[str, str], told: Mapping[str, Any]
    ) -> Any:
        """The finished model, which is given `rows`; `told` are fields of the model itself."""
        from onnx import helper

        from svmcompile import __version__

        nodes, constants = self._needed()
        domains = [("", self.opset)] + [(ML, ML_VERSION)] * any(node.domain == ML for node in nodes)
        if sum(tensor.ByteSize() for tensor in constants) > MAX_BYTES:
            raise EmitError(f"{name}.onnx would exceed 2 GB; use precision f32 or the C target")
        made = [
            *(one.name for one in rows),
            *self._constants,
            *(output for node in self._nodes for output in node.output),
        ]
        if len(set(made)) < len(made):
            raise OptionError("onnx_names: a tensor inside the graph has one of the names; take another")
        graph = helper.make_graph(nodes, name, rows, self._outputs, constants)
        model = helper.make_model(
            graph,
            ir_version=IR_VERSIONS[self.opset],
            opset_imports=[helper.make_opsetid(*domain) for domain in domains],
            producer_name="svmcompile",
            producer_version=__version__,
            **told,
        )
        helper.set_model_props(model, dict(metadata))
        return model

    def _needed(self) -> tuple[list[Any], list[Any]]:
        """Nodes and constants that lead to an output, in their order."""
        from svmcompile.targets.onnx.bodies import reads

        wanted = {output.name for output in self._outputs}
        nodes = []
        for node in reversed(self._nodes):
            if wanted.intersection(node.output):
                wanted.update(reads(node))
                nodes.append(node)
        return nodes[::-1], [tensor for name, tensor in self._constants.items() if name in wanted]


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


def element_of(dtype: np.dtype[Any]) -> int:
    """ONNX's code for a number type."""
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
