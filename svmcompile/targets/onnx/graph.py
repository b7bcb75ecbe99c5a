"""ONNX graphs under construction: operators and constants.

Names are counted, equal constants and equal operators are shared, and what no output needs is left out, so
the same calls always give the same small graph.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError, OptionError
from svmcompile.targets.onnx.options import IR_VERSIONS, OPSET

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


def element_of(dtype: np.dtype[Any]) -> int:
    """ONNX's code for a number type."""
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(dtype))
