"""Which number type a machine program computes in: its own, and double for what comes of widened values."""

from __future__ import annotations

from svmcompile.ir.nodes import Node, Value, lazy_operands, operands
from svmcompile.ir.program import Number, Program
from svmcompile.ir.rules import Types


def value_number(value: Value, program: Program, types: Types) -> Number:
    """The number type a value is held in."""
    return "f64" if types[value].wide else program.number or "f64"


def node_number(node: Node, program: Program, types: Types) -> Number:
    """The number type a node computes in and has its tables in: double if it reads a wide value."""
    return "f64" if reads_wide(node, types) else program.number or "f64"


def reads_wide(node: Node, types: Types) -> bool:
    """Whether every row's value of the node comes from a wide one."""
    eager = set(operands(node)) - set(lazy_operands(node))
    return any(types[value].wide for value in eager)
