"""Nodes in front of an ONNX SVM: the value it reads goes in, preprocessing steps come out.

The row is all inputs of the graph side by side. Each reader is given a node and makes of it
what was done to the row: the steps of the value the node reads, and one of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile.ir.kernel import Array
from svmcompile.model.front import (
    ClipStep,
    FillStep,
    JoinStep,
    NormalizeStep,
    PickStep,
    ProjectStep,
    ScaleStep,
    Step,
    Steps,
)
from svmcompile.read.limits import check_dense_size
from svmcompile.read.onnx.graph import Attributes, Graph, shown

FLOATS = (1, 11)
MOST_STEPS = 200  # of all branches together, counted as often as they are run
MOST_JOINED = 1 << 18  # columns that values side by side may have
TINY = float(np.finfo(np.float32).tiny)  # a smaller norm is zero


@dataclass(frozen=True, slots=True)
class Made:
    """What was done to the row, how wide it is then, and how many steps that takes."""

    steps: Steps
    width: int
    size: int = 0

    def then(self, step: Step) -> Made:
        return Made((*self.steps, step), step.gives(self.width), self.size + 1)


def read_steps(graph: Graph, value: str, width: int) -> Steps:
    """The steps that make a value of the row; `width` is that of the value, if the file does not say."""
    made = _Walk(graph, width).made(value)
    if made.width != width:
        raise graph.damaged(f"the SVM is given {made.width} columns, it has {width} features")
    return made.steps


class _Walk:
    """Looks at each value once."""

    def __init__(self, graph: Graph, width: int) -> None:
        self.graph = graph
        inputs = list(graph.inputs.values())
        # A single input that does not tell its width has that of the SVM, if no node changes it.
        self.widths = [one.width or (width if len(inputs) == 1 else 1) for one in inputs]
        self.known: dict[str, Made] = {}

    def made(self, name: str, depth: int = 0) -> Made:
        if name not in self.known and depth <= MOST_STEPS:
            self.known[name] = self._input(name) if name in self.graph.inputs else self._made(name, depth)
        if name not in self.known or self.known[name].size > MOST_STEPS:
            raise self.graph.refuse(f"there are more than {MOST_STEPS} steps in front of the SVM")
        return self.known[name]

    def _input(self, name: str) -> Made:
        """Some columns of the row."""
        place = list(self.graph.inputs).index(name)
        start, width, total = sum(self.widths[:place]), self.widths[place], sum(self.widths)
        check_dense_size(1, total, self.graph.where)
        return _picked(np.arange(start, start + width), total)

    def _made(self, name: str, depth: int) -> Made:
        node = self.graph.maker.get(name)
        if node is None:
            raise self.graph.damaged(f"the SVM reads {shown(name)}, which is a constant or not there")
        if node.op_type in JOINS:
            return self._joined(node, depth)
        if node.op_type not in ONNX_STEPS:
            raise self.graph.refuse(f"operator {shown(node.op_type)} in front of the SVM is not read")
        value = _data_input(self.graph, node)
        return ONNX_STEPS[node.op_type](self.graph, node, self.made(value, depth + 1))

    def _joined(self, node: Any, depth: int) -> Made:
        """Values side by side: columns of the row, or branches of their own."""
        own = Attributes(self.graph, node, JOINS[node.op_type])
        if node.op_type == "Concat" and own.integer("axis", 0) != 1:
            raise self.graph.refuse("a Concat that does not join columns is not read")
        parts = [self.made(name, depth + 1) for name in node.input]
        widths = [part.width for part in parts]
        if "inputdimensions" in own and own.integers("inputdimensions") != widths:
            raise self.graph.damaged("the widths of a FeatureVectorizer are not those of its inputs")
        if sum(widths) > MOST_JOINED:
            raise self.graph.refuse(f"{node.op_type} makes {sum(widths)} features, more than {MOST_JOINED}")
        total = sum(self.widths)
        columns = [_columns_of(part.steps, total) for part in parts]
        if all(one is not None for one in columns):
            return _picked(np.concatenate([one for one in columns if one is not None]), total)
        size = 1 + sum(part.size for part in parts)
        return Made((JoinStep(tuple(part.steps for part in parts), total),), sum(widths), size)


def _picked(columns: Any, total: int) -> Made:
    if np.array_equal(columns, np.arange(total)):
        return Made((), total)
    return Made((PickStep(columns, total),), len(columns), 1)


def _columns_of(steps: Steps, total: int) -> Any:
    """The columns of the row that steps pick, None if they do more than that."""
    if not steps:
        return np.arange(total)
    return steps[0].columns if len(steps) == 1 and isinstance(steps[0], PickStep) else None


def _data_input(graph: Graph, node: Any) -> str:
    """The input of a node that is no constant."""
    if not node.input:
        raise graph.damaged(f"{node.op_type} has no inputs")
    first_is_constant = node.op_type in ARITHMETIC and graph.known_constant(node.input[0]) is not None
    return str(node.input[1 if first_is_constant and len(node.input) > 1 else 0])


def _scaler(graph: Graph, node: Any, row: Made) -> Made:
    """(x - offset) * scale."""
    own = Attributes(graph, node, ("offset", "scale"))
    shift, factor = (_row(graph, node, own.floats(name), row.width) for name in ("offset", "scale"))
    return row.then(ScaleStep(shift, factor))


def _arithmetic(graph: Graph, node: Any, row: Made) -> Made:
    """A sum, difference, product or quotient with a constant, or a quotient by a norm."""
    Attributes(graph, node, ())
    if len(node.input) != 2:
        raise graph.damaged(f"{node.op_type} has {len(node.input)} inputs")
    constant_first = graph.known_constant(node.input[0]) is not None
    name = node.input[0 if constant_first else 1]
    if node.op_type == "Div" and graph.known_constant(name) is None:
        return row.then(_quotient_by_norm(graph, node))
    values = _row(graph, node, graph.constant(name, node), row.width)
    return row.then(_affine(graph, node.op_type, values, constant_first))


def _affine(graph: Graph, kind: str, values: Array, constant_first: bool) -> ScaleStep:
    zeros, ones = np.zeros_like(values), np.ones_like(values)
    if kind == "Add":
        return ScaleStep(-values, ones)
    if kind == "Sub":
        return ScaleStep(values, -ones if constant_first else ones)
    if kind == "Mul":
        return ScaleStep(zeros, values)
    if constant_first or not values.all():
        raise graph.refuse("a division by a feature, or by zero, is not read")
    return ScaleStep(zeros, 1.0 / values)


def _quotient_by_norm(graph: Graph, node: Any) -> NormalizeStep:
    """x / sqrt(sum of squares), or x / sum of sizes, as skl2onnx writes a Normalizer in double."""
    chain: list[str] = []
    name = node.input[1]
    while name != node.input[0] and name in graph.maker and len(chain) < 3:
        maker = graph.maker[name]
        axes = [graph.constants.get(other) for other in maker.input[1:]]
        if any(axis is None or axis.tolist() != [1] for axis in axes):
            break
        chain.append(maker.op_type)
        name = maker.input[0]
    if name != node.input[0] or chain not in (["Sqrt", "ReduceSumSquare"], ["ReduceSum", "Abs"]):
        raise graph.refuse("a division by what is neither a constant nor a norm is not read")
    return NormalizeStep("l2" if chain[0] == "Sqrt" else "l1", TINY)


def _normalizer(graph: Graph, node: Any, row: Made) -> Made:
    norm = Attributes(graph, node, ("norm",)).word("norm", "MAX")
    if norm not in ("L1", "L2"):
        raise graph.refuse(
            "a Normalizer by the largest value is not read, for ONNX ignores the sign of values"
        )
    return row.then(NormalizeStep("l1" if norm == "L1" else "l2", TINY))


def _product(graph: Graph, node: Any, row: Made) -> Made:
    """A matrix applied to the row."""
    Attributes(graph, node, ())
    matrix = graph.constant(node.input[1] if len(node.input) == 2 else "", node)
    if matrix.ndim != 2 or matrix.shape[0] != row.width or matrix.dtype.kind != "f":
        raise graph.refuse(
            f"a product of {row.width} features with a constant of shape {matrix.shape} is not read"
        )
    weights = np.array(matrix.T, dtype=np.float64, order="C")
    return row.then(ProjectStep(weights, np.zeros(row.width), np.zeros(len(weights))))


def _pick(graph: Graph, node: Any, row: Made) -> Made:
    """Some columns, by their numbers."""
    own = Attributes(graph, node, ("axis",))
    columns = graph.constant(node.input[1] if len(node.input) == 2 else "", node).ravel()
    if node.op_type == "Gather" and own.integer("axis", 0) != 1:
        raise graph.refuse("a Gather that does not pick columns is not read")
    if columns.dtype.kind != "i" or not columns.size or not ((columns >= 0) & (columns < row.width)).all():
        raise graph.damaged(f"{node.op_type} picks columns that are not there")
    return row.then(PickStep(columns.astype(np.int64), row.width))


def _imputer(graph: Graph, node: Any, row: Made) -> Made:
    """Values for features that are missing."""
    own = Attributes(graph, node, ("imputed_value_floats", "replaced_value_float"))
    marker = own.number("replaced_value_float", 0.0)
    if np.isinf(marker):
        raise graph.refuse("an Imputer that replaces infinities is not read")
    values = _row(graph, node, own.floats("imputed_value_floats"), row.width)
    return row.then(FillStep(values, bool(np.isnan(marker)), 0.0 if np.isnan(marker) else marker))


def _clip(graph: Graph, node: Any, row: Made) -> Made:
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
    return row.then(ClipStep(bounds[0], bounds[1]))


def _cast(graph: Graph, node: Any, row: Made) -> Made:
    if Attributes(graph, node, ("to", "saturate")).integer("to", 1) not in FLOATS:
        raise graph.refuse("a Cast of features to another type than float or double is not read")
    return row


def _identity(graph: Graph, node: Any, row: Made) -> Made:
    Attributes(graph, node, ())
    return row


def _row(graph: Graph, node: Any, values: Any, width: int) -> Array:
    """A constant as one number for each feature."""
    if (
        values.size not in (1, width)
        or values.shape[:-1] not in ((), (1,))
        or values.dtype.kind not in "fiu"
    ):
        raise graph.refuse(f"{node.op_type} has a constant of shape {values.shape} for {width} features")
    return np.array(np.broadcast_to(values.ravel(), (width,)), dtype=np.float64)


ARITHMETIC = ("Add", "Sub", "Mul", "Div")
JOINS = {"Concat": ("axis",), "FeatureVectorizer": ("inputdimensions",)}  # with their attributes
ONNX_STEPS: dict[str, Callable[[Graph, Any, Made], Made]] = {
    "Scaler": _scaler,
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    "Clip": _clip,
    "Normalizer": _normalizer,
    "MatMul": _product,
    "ArrayFeatureExtractor": _pick,
    "Gather": _pick,
    "Imputer": _imputer,
    "Cast": _cast,
    "Identity": _identity,
}
