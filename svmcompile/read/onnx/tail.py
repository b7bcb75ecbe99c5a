"""Nodes behind an ONNX SVM: what they make of its outputs, in one word.

skl2onnx appends plain operators that turn values by pair into values by class,
the sign of a one-class model, and a ZipMap. Anything else is refused, and so is
a value wider than these make: what this module lets pass is small when it is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.read.onnx.graph import Graph, shown

SAME = ("Cast", "Identity", "ZipMap")
BY_ELEMENT = ("Abs", "Add", "Div", "Less", "Mul", "Neg", "Sub", "Sum")
PICK, JOIN, SIGN = "ArrayFeatureExtractor", "Concat", "Sign"


@dataclass(frozen=True, slots=True)
class Tail:
    """What leaves the graph: under which names, and what the scores are."""

    label: str | None  # the value that holds the label, before a ZipMap
    scores: str | None
    plain: bool  # the scores are those of the SVM node
    by_class: bool  # scores for each class were made of those by pair
    sign: bool  # the label is the sign of the score
    nodes: tuple[Any, ...]  # all but ZipMaps, in order


def read_tail(
    graph: Graph, machine: Any, before: tuple[Any, ...], n_scores: int, is_classifier: bool
) -> Tail:
    """What the nodes that are neither the SVM nor in front of it do."""
    names = [name for name in machine.output if name]
    if not names:
        raise graph.damaged(f"{machine.op_type} has no output")
    label = names[0] if is_classifier else None
    scores = names[1] if is_classifier and len(names) > 1 else None if is_classifier else names[0]
    walk = _Walk(graph, label, scores, n_scores)
    for node in graph.nodes:
        if node is not machine and not any(node is one for one in before):
            walk.take(node)
    return walk.result()


class _Walk:
    """Follows values forward: those that are the label, and those made of scores with their width."""

    def __init__(self, graph: Graph, label: str | None, scores: str | None, n_scores: int) -> None:
        self.graph, self.n_scores = graph, n_scores
        self.labels = {label} if label else set()
        self.widths = {scores: n_scores} if scores else {}
        self.plain = {scores} if scores else set()  # the machine's scores as they are
        self.signs: set[str] = set()
        self.zipped: dict[str, str] = {}
        self.nodes: list[Any] = []

    def take(self, node: Any) -> None:
        if len(node.output) != 1 or not node.input:
            raise self._unknown(node)
        name, out = node.input[0], node.output[0]
        if node.op_type == "ZipMap":
            self.zipped[out] = name
            return
        self.nodes.append(node)
        if name in self.labels or name in self.signs:
            if node.op_type not in SAME:
                raise self._unknown(node)
            (self.labels if name in self.labels else self.signs).add(out)
            return
        width = self._width(node)
        if node.op_type == SIGN:
            self.signs.add(out)
            return
        self.widths[out] = width
        if node.op_type in SAME and name in self.plain:
            self.plain.add(out)

    def _width(self, node: Any) -> int:
        """The width of what a node makes of scores, if that is one of the widths there are."""
        found = [self._width_of(node, name) for name in node.input]
        if node.op_type in (*SAME, *BY_ELEMENT, SIGN):
            width = max(found)
            if any(one not in (1, width) for one in found):
                raise self._unknown(node)
            return width
        if node.op_type == PICK and len(found) == 2 and node.input[1] in self.graph.constants:
            return found[1]
        if node.op_type == JOIN and all(one == 1 for one in found):
            return len(found)
        raise self._unknown(node)

    def _width_of(self, node: Any, name: str) -> int:
        if name in self.widths:
            return self.widths[name]
        if name in self.graph.constants and self.graph.constants[name].size == 1:
            return 1
        raise self._unknown(node)

    def _unknown(self, node: Any) -> UnsupportedError:
        return self.graph.refuse(
            f"operator {shown(node.op_type)} behind the SVM makes something of it that is not supported"
        )

    def result(self) -> Tail:
        outputs = [self.zipped.get(name, name) for name in self.graph.outputs]
        labels = [name for name in outputs if name in self.labels or name in self.signs]
        scores = [name for name in outputs if name in self.widths]
        if len(labels) > 1 or len(scores) > 1 or len(labels) + len(scores) < len(outputs):
            raise self._odd("are not a label and scores")
        by_class = bool(scores) and any(node.op_type == JOIN for node in self.nodes)
        if not labels and self.labels:
            raise self._odd("do not hold the label")
        return Tail(
            label=labels[0] if labels else None,
            scores=scores[0] if scores else None,
            plain=not scores or scores[0] in self.plain,
            by_class=by_class,
            sign=bool(labels) and labels[0] in self.signs,
            nodes=tuple(self.nodes),
        )

    def _odd(self, text: str) -> ReadError:
        return self.graph.damaged(f"the outputs of the ONNX model {text}")
