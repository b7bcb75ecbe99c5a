"""build: the tensors of a program's values, in ONNX; each node has its function in `nodes/<family>.py`."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from svmcompile.ir.check import in_double
from svmcompile.ir.nodes import Node, lazy_operands, operands
from svmcompile.targets.onnx.values import Values


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
