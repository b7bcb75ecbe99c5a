"""Nodes in front of an ONNX SVM: the value it reads goes in, preprocessing steps and features come out.

Nodes are met from the SVM backwards. Each reader is told the width of what its
node makes, and tells the steps, the value the node reads, and that one's width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmcompile.kernel import Array
from svmcompile.read.onnx_graph import Attributes, Graph, GraphInput, shown
from svmcompile.svm import ClipStep, ScaleStep

Steps = tuple[ScaleStep | ClipStep, ...]
Found = tuple[Steps, str, int]
FLOATS = (1, 11)
JOINS = {"Concat": ("axis",), "FeatureVectorizer": ("inputdimensions",)}  # with their attributes


def read_steps(graph: Graph, value: str, width: int) -> tuple[Steps, tuple[GraphInput, ...], int]:
    """The steps that lead to a value of that width, and the inputs they start from, with their width."""
    steps: Steps = ()
    while value not in graph.inputs:
        node = graph.maker.get(value)
        if node is None:
            raise graph.damaged(f"the SVM reads {shown(value)}, which is a constant or not there")
        if node.op_type in JOINS:
            return steps, _joined(graph, node, width), width
        if node.op_type not in ONNX_STEPS:
            raise graph.refuse(f"operator {shown(node.op_type)} in front of the SVM is not read")
        before, value, width = ONNX_STEPS[node.op_type](graph, node, width)
        steps = before + steps
    return steps, _checked(graph, (graph.inputs[value],), width), width


def _joined(graph: Graph, node: Any, width: int) -> tuple[GraphInput, ...]:
    """The inputs that are put side by side, one for each column of a frame."""
    own = Attributes(graph, node, JOINS[node.op_type])
    if node.op_type == "Concat" and own.integer("axis", 0) != 1:
        raise graph.refuse("a Concat that does not join columns is not read")
    names = [_through_casts(graph, name) for name in node.input]
    if len(set(names)) != len(names) or not set(names) <= set(graph.inputs):
        raise graph.refuse(f"a {node.op_type} of other things than the model's inputs is not read")
    inputs = _checked(graph, tuple(graph.inputs[name] for name in names), width)
    if "inputdimensions" in own and own.integers("inputdimensions") != [one.width or 1 for one in inputs]:
        raise graph.damaged("the widths of a FeatureVectorizer are not those of the inputs")
    return inputs


def _through_casts(graph: Graph, name: str) -> str:
    while name in graph.maker and graph.maker[name].op_type in ("Cast", "Identity"):
        _, name, _ = ONNX_STEPS[graph.maker[name].op_type](graph, graph.maker[name], 1)
    return name


def _checked(graph: Graph, inputs: tuple[GraphInput, ...], width: int) -> tuple[GraphInput, ...]:
    widths = [one.width or (width if len(inputs) == 1 else 1) for one in inputs]
    if sum(widths) != width:
        raise graph.damaged(f"the inputs have {sum(widths)} columns, the model has {width} features")
    if len(inputs) != len(graph.inputs):
        raise graph.refuse("the ONNX model has inputs that do not reach the SVM")
    return inputs


def _scaler(graph: Graph, node: Any, width: int) -> Found:
    """(x - offset) * scale."""
    own = Attributes(graph, node, ("offset", "scale"))
    shift, factor = (_row(graph, node, own.floats(name), width) for name in ("offset", "scale"))
    return (ScaleStep(shift, factor),), _one_input(graph, node), width


def _arithmetic(graph: Graph, node: Any, width: int) -> Found:
    """A sum, difference, product or quotient with a constant."""
    Attributes(graph, node, ())
    if len(node.input) != 2:
        raise graph.damaged(f"{node.op_type} has {len(node.input)} inputs")
    constant_first = node.input[0] in graph.constants
    name, value = node.input[::1] if constant_first else node.input[::-1]
    row = _row(graph, node, graph.constant(name, node), width)
    return (_affine(graph, node.op_type, row, constant_first),), value, width


def _affine(graph: Graph, kind: str, row: Array, constant_first: bool) -> ScaleStep:
    zeros, ones = np.zeros_like(row), np.ones_like(row)
    if kind == "Add":
        return ScaleStep(-row, ones)
    if kind == "Sub":
        return ScaleStep(row, -ones if constant_first else ones)
    if kind == "Mul":
        return ScaleStep(zeros, row)
    if constant_first or not row.all():
        raise graph.refuse("a division by a feature, or by zero, is not read")
    return ScaleStep(zeros, 1.0 / row)


def _clip(graph: Graph, node: Any, width: int) -> Found:
    """Bounds as attributes before opset 11, as inputs since."""
    own = Attributes(graph, node, ("min", "max"))
    bounds = [own.number("min", -np.inf), own.number("max", np.inf)]
    for place, name in enumerate(node.input[1:3]):
        if name:
            constant = graph.constant(name, node)
            if constant.size != 1:
                raise graph.damaged("Clip has a bound that is not one number")
            bounds[place] = float(constant.item())
    if not np.isfinite(bounds).all() or bounds[0] > bounds[1]:
        raise graph.refuse(f"Clip between {bounds[0]} and {bounds[1]} is not read")
    return (ClipStep(bounds[0], bounds[1]),), node.input[0], width


def _cast(graph: Graph, node: Any, width: int) -> Found:
    if Attributes(graph, node, ("to", "saturate")).integer("to", 1) not in FLOATS:
        raise graph.refuse("a Cast of features to another type than float or double is not read")
    return (), _one_input(graph, node), width


def _identity(graph: Graph, node: Any, width: int) -> Found:
    Attributes(graph, node, ())
    return (), _one_input(graph, node), width


def _one_input(graph: Graph, node: Any) -> str:
    if len(node.input) != 1:
        raise graph.damaged(f"{node.op_type} has {len(node.input)} inputs, expected 1")
    return str(node.input[0])


def _row(graph: Graph, node: Any, values: Any, width: int) -> Array:
    """A constant as one number for each feature."""
    if (
        values.size not in (1, width)
        or values.shape[:-1] not in ((), (1,))
        or values.dtype.kind not in "fiu"
    ):
        raise graph.refuse(f"{node.op_type} has a constant of shape {values.shape} for {width} features")
    return np.array(np.broadcast_to(values.ravel(), (width,)), dtype=np.float64)


ONNX_STEPS: dict[str, Callable[[Graph, Any, int], Found]] = {
    "Scaler": _scaler,
    "Add": _arithmetic,
    "Sub": _arithmetic,
    "Mul": _arithmetic,
    "Div": _arithmetic,
    "Clip": _clip,
    "Cast": _cast,
    "Identity": _identity,
}
