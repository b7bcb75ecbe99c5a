"""Which number type a machine program computes in: its own, and double for what comes of widened values."""

from __future__ import annotations

from svmcompile.ir.check import in_double
from svmcompile.ir.nodes import Node, Value
from svmcompile.ir.program import Number, Program
from svmcompile.ir.rules import Types


def value_number(value: Value, program: Program, types: Types) -> Number:
    """The number type a value is held in."""
    return "f64" if types[value].wide else program.number or "f64"


def node_number(node: Node, program: Program, types: Types) -> Number:
    """The number type a node computes in and has its tables in: double if it reads a wide value."""
    return "f64" if in_double(node, types) else program.number or "f64"
