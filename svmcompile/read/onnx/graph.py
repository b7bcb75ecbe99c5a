"""The graph of an ONNX model: bytes in, nodes with checked constants and attributes out.

Files are untrusted: nothing outside the file is opened, no size is believed
before it is checked, and whatever is not known is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read.kernels import MAX_FEATURES

ML = "ai.onnx.ml"
MOST_NODES = 20_000  # scores per class of 50 classes take some 10,000
TENSORS = {1: np.float32, 11: np.float64, 6: np.int32, 7: np.int64}  # element types of constants
WAY_OUT = "pass the model it was made from"


@dataclass(frozen=True, slots=True)
class GraphInput:
    """A tensor [rows, width] that enters; the width is None where the file does not say."""

    name: str
    element: int
    width: int | None


class Graph:
    """Nodes in order, constants by name, and who makes and who reads each value."""

    def __init__(self, content: bytes, where: str) -> None:
        self.where = where
        self.proto = _parse(content, where)
        graph = self.proto.graph
        self._refuse_oddities()
        self.constants = {
            tensor.name: self._tensor(tensor, tensor.name, len(content)) for tensor in graph.initializer
        }
        self.nodes = [node for node in graph.node if not self._took_constant(node, len(content))]
        self.inputs = {
            value.name: self._input(value) for value in graph.input if value.name not in self.constants
        }
        self.outputs = [value.name for value in graph.output]
        self.maker: dict[str, Any] = {}
        known = {*self.constants, *self.inputs}
        for node in self.nodes:
            self._place(node, known)

    def refuse(self, text: str) -> UnsupportedError:
        """An error for what is valid ONNX but not read."""
        return UnsupportedError(f"{self.where}: {text}; {WAY_OUT}")

    def damaged(self, text: str) -> ReadError:
        return ReadError(f"{self.where}: {text}; the file is damaged")

    def known_constant(self, name: str) -> NDArray[Any] | None:
        """A constant, or the root of one, as skl2onnx writes a PCA that whitens."""
        maker = self.maker.get(name)
        if maker is None or maker.op_type != "Sqrt" or len(maker.input) != 1:
            return self.constants.get(name)
        inner = self.constants.get(maker.input[0])
        with np.errstate(invalid="ignore"):  # a NaN is found later
            return None if inner is None else np.asarray(np.sqrt(inner))

    def constant(self, name: str, node: Any) -> NDArray[Any]:
        """A constant that a node reads."""
        found = self.known_constant(name)
        if found is None:
            raise self.refuse(f"node {shown(node.op_type)} reads {shown(name)}, which is not a constant")
        return found

    def _refuse_oddities(self) -> None:
        proto, graph = self.proto, self.proto.graph
        producers = [entry.value for entry in proto.metadata_props if entry.key == "producer"]
        if any(producer.startswith("svmcompile") for producer in producers):
            raise ReadError(
                f"{self.where}: is an ONNX model that svmcompile made; the SVM in it is compiled already; "
                "pass the .svmc file beside it, or the original model"
            )
        if proto.functions or graph.sparse_initializer:
            raise self.refuse("the ONNX model holds functions or sparse constants, which are not supported")
        if len(graph.node) > MOST_NODES:
            raise self.refuse(f"the ONNX model has {len(graph.node)} nodes, more than {MOST_NODES}")
        for node in graph.node:
            if node.domain not in ("", ML):
                raise self.refuse(f"operator {shown(node.op_type)} of {shown(node.domain)} is not known")
            if any(attribute.ref_attr_name for attribute in node.attribute):
                raise self.damaged(f"{shown(node.op_type)} has an attribute that only a function can give")

    def _place(self, node: Any, known: set[str]) -> None:
        """Note who makes what; ONNX lists nodes in an order in which every input is made before."""
        for name in node.input:
            if name and name not in known:
                raise self.damaged(f"node {shown(node.op_type)} reads {shown(name)} before it is made")
        for name in filter(None, node.output):
            if name in known:
                raise self.damaged(f"the value {shown(name)} is made twice")
            known.add(name)
            self.maker[name] = node

    def _took_constant(self, node: Any, n_bytes: int) -> bool:
        """Constant nodes are as good as initialisers."""
        if node.op_type != "Constant" or node.domain:
            return False
        if len(node.attribute) != 1 or node.attribute[0].name != "value" or len(node.output) != 1:
            raise self.refuse("a Constant of an unusual form is not supported")
        self.constants[node.output[0]] = self._tensor(node.attribute[0].t, node.output[0], n_bytes)
        return True

    def _tensor(self, tensor: Any, name: str, n_bytes: int) -> NDArray[Any]:
        from onnx import numpy_helper

        if tensor.data_location or tensor.external_data:
            raise self.refuse(f"constant {shown(name)} is stored outside the file")
        if tensor.data_type == 8:  # text: the classes of other kinds of model
            return np.array([], dtype=object)
        dims = list(tensor.dims)
        if tensor.data_type not in TENSORS or min(dims, default=0) < 0 or prod(dims) > n_bytes:
            raise self.damaged(
                f"constant {shown(name)} has the shape {dims} or a type that is not supported"
            )
        try:
            return np.asarray(numpy_helper.to_array(tensor), TENSORS[tensor.data_type]).reshape(dims)
        except Exception as error:  # the contents may be anything
            raise self.damaged(f"constant {shown(name)} cannot be read ({error})") from None

    def _input(self, value: Any) -> GraphInput:
        tensor = value.type.tensor_type
        sizes = tensor.shape.dim
        if value.type.WhichOneof("value") != "tensor_type" or tensor.elem_type not in TENSORS:
            raise self.refuse(f"input {shown(value.name)} is not a tensor of numbers")
        if tensor.HasField("shape") and len(sizes) != 2:
            raise self.refuse(f"input {shown(value.name)} is not a matrix of rows")
        width = sizes[1].dim_value if tensor.HasField("shape") and sizes[1].HasField("dim_value") else None
        if width is not None and not 0 <= width <= MAX_FEATURES:
            raise self.damaged(f"input {shown(value.name)} has {width} columns")
        return GraphInput(value.name, tensor.elem_type, width or None)


class Attributes:
    """The attributes of one node, each asked for by name and type; unknown ones are refused."""

    def __init__(self, graph: Graph, node: Any, known: tuple[str, ...]) -> None:
        self.graph, self.node = graph, node
        self._found = {attribute.name: attribute for attribute in node.attribute}
        unknown = sorted(set(self._found) - set(known))
        if unknown:
            raise graph.refuse(f"{node.op_type} has the attribute {shown(unknown[0])}, which is not known")

    def error(self, text: str) -> ReadError:
        return self.graph.damaged(f"{self.node.op_type}: {text}")

    def __contains__(self, name: str) -> bool:
        return name in self._found

    def _get(self, name: str, kind: int, default: Any) -> Any:
        attribute = self._found.get(name)
        if attribute is None:
            return default
        if attribute.type != kind:
            raise self.error(f"attribute {name} has a wrong type")
        from onnx import helper

        return helper.get_attribute_value(attribute)

    def floats(self, name: str) -> NDArray[np.float64]:
        return np.array(self._get(name, 6, ()), dtype=np.float64)

    def integers(self, name: str) -> list[int]:
        return list(self._get(name, 7, ()))

    def integer(self, name: str, default: int) -> int:
        return int(self._get(name, 2, default))

    def number(self, name: str, default: float) -> float:
        return float(self._get(name, 1, default))

    def word(self, name: str, default: str) -> str:
        return _text(self._get(name, 3, default.encode()), self.graph)

    def words(self, name: str) -> list[str]:
        return [_text(value, self.graph) for value in self._get(name, 8, ())]

    def expect(self, name: str, found: Any, count: int) -> None:
        """Refuse a list of another length than the others call for."""
        if len(found) != count:
            raise self.error(f"{name} has {len(found)} values, expected {count}")


def _text(value: bytes, graph: Graph) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise graph.damaged(f"the text {value[:40]!r} is not UTF-8") from None


def shown(name: str) -> str:
    """A name from the file, cut to a size that fits a message."""
    return json.dumps(name[:40] + ("..." if len(name) > 40 else ""))


def _parse(content: bytes, where: str) -> Any:
    import onnx

    try:
        proto = onnx.load_from_string(content)
    except Exception as error:  # protobuf has several kinds
        raise ReadError(f"{where}: is not a readable ONNX model ({type(error).__name__})") from None
    if not proto.graph.node:
        raise ReadError(f"{where}: is not an ONNX model, or one without nodes")
    if not all(isinstance(name, str) for name in _names(proto)):
        raise ReadError(f"{where}: a name in the ONNX model is not UTF-8; the file is damaged")
    return proto


def _names(proto: Any) -> Iterator[Any]:
    """Every name that is looked at; protobuf gives bytes where the file holds no valid text."""
    graph = proto.graph
    for value in (*graph.initializer, *graph.input, *graph.output):
        yield value.name
    for entry in (*proto.metadata_props, *proto.opset_import):
        yield from (entry.key, entry.value) if hasattr(entry, "key") else (entry.domain,)
    for node in graph.node:
        yield from (node.op_type, node.domain, *node.input, *node.output)
        yield from (attribute.name for attribute in node.attribute)
