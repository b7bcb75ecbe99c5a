"""A small builder of ONNX graphs: operators and constants go in, a ModelProto comes out.

Names are counted, equal constants and equal operators are shared, and what no
output needs is left out, so the same calls always give the same small graph.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError

OPSET = 17
TREES = ("ai.onnx.ml", 3)  # the domain of the tree operator, imported where it is used
IR_VERSION = 8
BATCH = "N"  # the symbolic number of rows
MAX_BYTES = 2**31 - 2**20  # protobuf's limit on one message, with room for the nodes


class Graph:
    """Collects nodes in the order they are asked for; every method returns the name of a tensor."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._known: dict[object, list[str]] = {}
        self._outputs: list[Any] = []

    def constant(self, array: NDArray[Any]) -> str:
        """An initialiser; arrays of objects hold strings."""
        from onnx import numpy_helper

        tensor = numpy_helper.from_array(np.ascontiguousarray(array) if array.ndim else array)
        key = hashlib.sha256(tensor.SerializeToString(deterministic=True)).hexdigest()
        if key not in self._known:
            tensor.name = f"constant_{len(self._constants)}"
            self._constants[tensor.name] = tensor
            self._known[key] = [tensor.name]
        return self._known[key][0]

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One operator with one output."""
        return self.ops(kind, *inputs, outputs=1, **attributes)[0]

    def ops(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """One operator with several outputs."""
        key = (kind, inputs, outputs, tuple(sorted(attributes.items())))
        if key not in self._known:
            stem = f"{self._prefix}{kind.lower()}_{len(self._nodes)}"
            names = [stem] if outputs == 1 else [f"{stem}_{index}" for index in range(outputs)]
            self._add(kind, inputs, names, attributes)
            self._known[key] = names
        return self._known[key]

    def nested(self) -> Body:
        """The body of a loop, which may read any tensor of this graph."""
        return Body(self, f"{self._prefix}body_{len(self._nodes)}_")

    def loop(
        self,
        most: str,
        start: str,
        body: Body,
        goes_on: str,
        after: str,
        dtype: np.dtype[Any],
        width: int = 0,
    ) -> str:
        """The state after the body has run at most so often, while it goes on.

        The state is one number per row or, with a width, so many.
        """
        true = self.constant(np.array(True))
        name = f"{self._prefix}loop_{len(self._nodes)}"
        proto = body.proto(goes_on, after, dtype, width)
        self._add("Loop", (most, true, start), [name], {"body": proto})
        return name

    def output(self, name: str, value: str, element: int, width: int | None) -> None:
        """Give a tensor a public name; `width` is None for one value per row."""
        from onnx import helper

        self._add("Identity", (value,), [name], {})
        shape = [BATCH] if width is None else [BATCH, width]
        self._outputs.append(helper.make_tensor_value_info(name, element, shape))

    def _add(
        self, kind: str, inputs: tuple[str, ...], outputs: list[str], attributes: Mapping[str, Any]
    ) -> None:
        from onnx import helper

        self._nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[0], **attributes))

    def model(self, name: str, element: int, n_features: int, metadata: Mapping[str, str]) -> Any:
        """The finished model with the one input `x`."""
        from onnx import helper

        from svmcompile import __version__

        nodes, constants = self._needed()
        if sum(tensor.ByteSize() for tensor in constants) > MAX_BYTES:
            raise EmitError(f"{name}.onnx would exceed 2 GB; use precision f32 or the C target")
        rows = helper.make_tensor_value_info("x", element, [BATCH, n_features])
        graph = helper.make_graph(nodes, name, [rows], self._outputs, constants)
        model = helper.make_model(
            graph,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid(*domain) for domain in _domains(nodes)],
            producer_name="svmcompile",
            producer_version=__version__,
        )
        helper.set_model_props(model, dict(metadata))
        return model

    def _needed(self) -> tuple[list[Any], list[Any]]:
        """Nodes and constants that lead to an output, in their order."""
        wanted = {output.name for output in self._outputs}
        nodes = []
        for node in reversed(self._nodes):
            if wanted.intersection(node.output):
                wanted.update(_reads(node))
                nodes.append(node)
        return nodes[::-1], [tensor for name, tensor in self._constants.items() if name in wanted]


class Body(Graph):
    """The inside of a loop with one state, `argument`; `count` numbers its runs; constants are outside."""

    def __init__(self, outer: Graph, prefix: str) -> None:
        super().__init__(prefix)
        self._outer = outer
        self.argument = f"{prefix}state"
        self.count = f"{prefix}count"

    def constant(self, array: NDArray[Any]) -> str:
        return self._outer.constant(array)

    def proto(self, goes_on: str, after: str, dtype: np.dtype[Any], width: int) -> Any:
        """The body as ONNX wants it: counter, condition and state in, condition and state out."""
        from onnx import TensorProto, helper

        state, shape = helper.np_dtype_to_tensor_dtype(dtype), [None, width] if width else [None]
        entries: list[tuple[str, int, list[int]]] = [
            ("count", TensorProto.INT64, []),
            ("go", TensorProto.BOOL, []),
        ]
        inputs = [
            *(
                helper.make_tensor_value_info(self._prefix + name, kind, sizes)
                for name, kind, sizes in entries
            ),
            helper.make_tensor_value_info(self.argument, state, shape),
        ]
        outputs = [
            helper.make_tensor_value_info(goes_on, TensorProto.BOOL, []),
            helper.make_tensor_value_info(after, state, shape),
        ]
        return helper.make_graph(self._nodes, f"{self._prefix}graph", inputs, outputs)


def _reads(node: Any) -> set[str]:
    """Tensors a node reads, itself or in its body."""
    inside = (inner for attribute in node.attribute for inner in attribute.g.node)
    return set(node.input).union(*map(_reads, inside))


def _domains(nodes: list[Any]) -> list[tuple[str, int]]:
    return [("", OPSET)] + [TREES] * any(node.domain == TREES[0] for node in nodes)
