"""How much stack the generated C needs: for its arrays, and with what compilers add."""

from __future__ import annotations

from svmcompile.ir.arithmetic import BYTES, FIXED
from svmcompile.ir.graph import value_number
from svmcompile.ir.nodes import Kind
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import needed
from svmcompile.targets.c.nodes import CFile

ARRAYS = (Kind.FEATURES, Kind.SCORES, Kind.PROBABILITIES)
# Bytes that compilers take for registers, addresses and their own arithmetic; tests hold code to it.
SAVED, SAVED_IN_WHOLE_NUMBERS, SAVED_WITH_DOUBLE = 240, 320, 480
DEEPER = 160  # more, where functions call each other more deeply: along trees, and for what some rows need


def scratch_bytes(program: Program) -> int:
    """Bytes of the arrays on the stack at the deepest point; registers and addresses come on top."""
    file = CFile.of(program)
    rows = [_deepest(file, output.value) for output in program.outputs]
    chunks = [node.batch_scratch(lambda value: _deepest(file, value)) for node in file.nodes.values()]
    return max(rows + chunks)


def _deepest(file: CFile, goal: str) -> int:
    """Bytes at the deepest point of the function that computes a value from a row."""
    program, types = file.program, file.types
    nodes = [file.nodes[node.out] for node in needed(program, goal, {program.input.name})]
    held = [
        node.out_width * BYTES[value_number(node.node.out, program, types)]
        for node in nodes
        if types[node.node.out].kind in ARRAYS
    ]
    below = [node.scratch() + (_deepest(file, node.lazy) if node.lazy else 0) for node in nodes]
    return sum(held) + max(below, default=0)


def stack_bytes(file: CFile, has_double: bool) -> int:
    """A bound on the stack of every function of one row: its arrays, and room for saved registers."""
    saved = SAVED_IN_WHOLE_NUMBERS if file.program.number in FIXED else SAVED
    saved = SAVED_WITH_DOUBLE if has_double else saved
    is_deep = any(node.walks or node.lazy for node in file.nodes.values())
    return scratch_bytes(file.program) + saved + (DEEPER if is_deep else 0)
