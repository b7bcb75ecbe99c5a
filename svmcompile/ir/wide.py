"""Which number type a machine program computes in: its own, double for what comes of widened values,
whole numbers for what comes of quantised ones.
"""

from __future__ import annotations

from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.check import in_double
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Node, Value, operands
from svmcompile.ir.program import Program


def float_number(program: Program) -> Number:
    """The type of the program's floats; programs in whole numbers have float beside these."""
    number = program.number or "f64"
    return "f32" if number in FIXED else number


def value_number(value: Value, program: Program, types: Types) -> Number:
    """The number type a value is held in."""
    return types[value].whole or ("f64" if types[value].wide else float_number(program))


def settled_in_double(program: Program, types: Types) -> set[Value]:
    """Scores of guards that rely on a bound of their rounding: their tables must stay as they are."""
    guards = [node for node in program.body if node.guards and node.gives_sign(types)]
    return {operands(node)[0] for node in guards}


def node_number(node: Node, program: Program, types: Types) -> Number:
    """The number type a node computes in and has its tables in: that of what it reads, where that is whole
    numbers, and double if it reads a wide value.
    """
    for name in operands(node):
        if whole := types[name].whole:
            return whole
    return "f64" if in_double(node, types) else float_number(program)
