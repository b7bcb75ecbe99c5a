"""Nodes in front of an ONNX SVM: the value it reads goes in, the front of an SVM comes out.

The row is all inputs of the graph side by side. Each reader is given a node and what was done to
the row before it, and adds a step of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.model.front import IDENTITY, Front, clip, fill, join, normalize, pick, project, scale
from svmcompile.read.kernels import check_dense_size
from svmcompile.read.onnx.graph import Attributes, Graph, shown

FLOATS = (1, 11)
MOST_STEPS = 200  # of all branches together, counted as often as they are run
MOST_JOINED = 1 << 18  # columns that values side by side may have
TINY = float(np.finfo(np.float32).tiny)  # a smaller norm is zero


def read_front(graph: Graph, value: str, width: int) -> Front:
    """What makes a value of the row; `width` is that of the value, if the file does not say."""
    front = _Walk(graph, width).front(value)
    if front.gives != width:
        raise graph.damaged(f"the SVM is given {front.gives} columns, it has {width} features")
    return front


class _Walk:
    """Looks at each value once."""

    def __init__(self, graph: Graph, width: int) -> None:
        self.graph = graph
        inputs = list(graph.inputs.values())
        # A single input that does not tell its width has that of the SVM, if no node changes it.
        self.widths = [one.width or (width if len(inputs) == 1 else 1) for one in inputs]
        self.known: dict[str, Front] = {}

    def front(self, name: str, depth: int = 0) -> Front:
        """What makes a value of the row."""
        self._limit(depth)
        if name not in self.known:
            self.known[name] = self._input(name) if name in self.graph.inputs else self._made(name, depth)
        self._limit(len(self.known[name].steps))
        return self.known[name]

    def _limit(self, steps: int) -> None:
        if steps > MOST_STEPS:
            raise self.graph.refuse(f"there are more than {MOST_STEPS} steps in front of the SVM")

    def _input(self, name: str) -> Front:
        """Some columns of the row."""
        place = list(self.graph.inputs).index(name)
        start, width, total = sum(self.widths[:place]), self.widths[place], sum(self.widths)
        check_dense_size(1, total, self.graph.where)
        return pick(np.arange(start, start + width), total)

    def _made(self, name: str, depth: int) -> Front:
        node = self.graph.maker.get(name)
        if node is None:
            raise self.graph.damaged(f"the SVM reads {shown(name)}, which is a constant or not there")
        if node.op_type in JOINS:
            return self._joined(node, depth)
        if node.op_type not in ONNX_STEPS:
            raise self.graph.refuse(f"operator {shown(node.op_type)} in front of the SVM is not supported")
        before = self.front(_data_input(self.graph, node), depth + 1)
        assert before.gives, "every value of the graph has a width"
        return before.then(ONNX_STEPS[node.op_type](self.graph, node, before.gives))

    def _joined(self, node: Any, depth: int) -> Front:
        """Values side by side: columns of the row, or branches of their own."""
        own = Attributes(self.graph, node, JOINS[node.op_type])
        if node.op_type == "Concat" and own.integer("axis", 0) != 1:
            raise self.graph.refuse("a Concat that does not join columns is not supported")
        parts = [self.front(name, depth + 1) for name in node.input]
        widths = [part.gives or 0 for part in parts]
        if "inputdimensions" in own and own.integers("inputdimensions") != widths:
            raise self.graph.damaged("the widths of a FeatureVectorizer are not those of its inputs")
        if sum(widths) > MOST_JOINED:
            raise self.graph.refuse(f"{node.op_type} makes {sum(widths)} features, more than {MOST_JOINED}")
        total = sum(self.widths)
        columns = [_columns_of(part, total) for part in parts]
        if all(one is not None for one in columns):
            return pick(np.concatenate([one for one in columns if one is not None]), total)
        self._limit(1 + sum(len(part.steps) for part in parts))
        return join(parts, total)


def _columns_of(front: Front, total: int) -> Any:
    """The columns of the row that a front picks, None if it does more than that."""
    if not front.nodes:
        return np.arange(total)
    picks = front.of_kind(ir.Pick)
    return front.tables[picks[0].columns] if picks and len(front.nodes) == 1 else None


def _data_input(graph: Graph, node: Any) -> str:
    """The input of a node that is no constant."""
    if not node.input:
        raise graph.damaged(f"{node.op_type} has no inputs")
    first_is_constant = node.op_type in ARITHMETIC and graph.known_constant(node.input[0]) is not None
    return str(node.input[1 if first_is_constant and len(node.input) > 1 else 0])


def _scaler(graph: Graph, node: Any, width: int) -> Front:
    """(x - offset) * scale."""
    own = Attributes(graph, node, ("offset", "scale"))
    shift, factor = (_row(graph, node, own.floats(name), width) for name in ("offset", "scale"))
    return scale(shift, factor)


def _arithmetic(graph: Graph, node: Any, width: int) -> Front:
    """A sum, difference, product or quotient with a constant, or a quotient by a norm."""
    Attributes(graph, node, ())
    if len(node.input) != 2:
        raise graph.damaged(f"{node.op_type} has {len(node.input)} inputs")
    constant_first = graph.known_constant(node.input[0]) is not None
    name = node.input[0 if constant_first else 1]
    if node.op_type == "Div" and graph.known_constant(name) is None:
        return _quotient_by_norm(graph, node)
    values = _row(graph, node, graph.constant(name, node), width)
    return _affine(graph, node.op_type, values, constant_first)


def _affine(graph: Graph, kind: str, values: Array, constant_first: bool) -> Front:
    zeros, ones = np.zeros_like(values), np.ones_like(values)
    if kind == "Add":
        return scale(-values, ones)
    if kind == "Sub":
        return scale(values, -ones if constant_first else ones)
    if kind == "Mul":
        return scale(zeros, values)
    if constant_first or not values.all():
        raise graph.refuse("a division by a feature, or by zero, is not read")
    return scale(zeros, 1.0 / values)


def _quotient_by_norm(graph: Graph, node: Any) -> Front:
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
        raise graph.refuse("a division by what is neither a constant nor a norm is not supported")
    return normalize("l2" if chain[0] == "Sqrt" else "l1", TINY)


def _normalizer(graph: Graph, node: Any, width: int) -> Front:
    norm = Attributes(graph, node, ("norm",)).word("norm", "MAX")
    if norm not in ("L1", "L2"):
        raise graph.refuse(
            "a Normalizer by the largest value is not supported, for ONNX ignores the sign of values"
        )
    return normalize("l1" if norm == "L1" else "l2", TINY)


def _product(graph: Graph, node: Any, width: int) -> Front:
    """A matrix applied to the row."""
    Attributes(graph, node, ())
    matrix = graph.constant(node.input[1] if len(node.input) == 2 else "", node)
    if matrix.ndim != 2 or matrix.shape[0] != width or matrix.dtype.kind != "f":
        raise graph.refuse(
            f"a product of {width} features with a constant of shape {matrix.shape} is not read"
        )
    weights = np.array(matrix.T, dtype=np.float64, order="C")
    return project(weights, np.zeros(width), np.zeros(len(weights)))


def _pick(graph: Graph, node: Any, width: int) -> Front:
    """Some columns, by their numbers."""
    own = Attributes(graph, node, ("axis",))
    columns = graph.constant(node.input[1] if len(node.input) == 2 else "", node).ravel()
    if node.op_type == "Gather" and own.integer("axis", 0) != 1:
        raise graph.refuse("a Gather that does not pick columns is not supported")
    if columns.dtype.kind != "i" or not columns.size or not ((columns >= 0) & (columns < width)).all():
        raise graph.damaged(f"{node.op_type} picks columns that are not there")
    return pick(columns.astype(np.int64), width)


def _imputer(graph: Graph, node: Any, width: int) -> Front:
    """Values for features that are missing."""
    own = Attributes(graph, node, ("imputed_value_floats", "replaced_value_float"))
    marker = own.number("replaced_value_float", 0.0)
    if np.isinf(marker):
        raise graph.refuse("an Imputer that replaces infinities is not supported")
    values = _row(graph, node, own.floats("imputed_value_floats"), width)
    return fill(values, bool(np.isnan(marker)), 0.0 if np.isnan(marker) else marker)


def _clip(graph: Graph, node: Any, width: int) -> Front:
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
    return clip(bounds[0], bounds[1])


def _cast(graph: Graph, node: Any, width: int) -> Front:
    if Attributes(graph, node, ("to", "saturate")).integer("to", 1) not in FLOATS:
        raise graph.refuse("a Cast of features to another type than float or double is not supported")
    return IDENTITY


def _identity(graph: Graph, node: Any, width: int) -> Front:
    Attributes(graph, node, ())
    return IDENTITY


def _row(graph: Graph, node: Any, values: Any, width: int) -> Array:
    """A constant as one number for each feature."""
    fits = values.size in (1, width) and values.shape[:-1] in ((), (1,))
    if not fits or values.dtype.kind not in "fiu":
        raise graph.refuse(f"{node.op_type} has a constant of shape {values.shape} for {width} features")
    return np.array(np.broadcast_to(values.ravel(), (width,)), dtype=np.float64)


ARITHMETIC = ("Add", "Sub", "Mul", "Div")
JOINS = {"Concat": ("axis",), "FeatureVectorizer": ("inputdimensions",)}  # with their attributes
ONNX_STEPS: dict[str, Callable[[Graph, Any, int], Front]] = {
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
