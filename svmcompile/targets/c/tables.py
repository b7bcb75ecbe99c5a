"""Which tables of a machine program stand in its C code."""

from __future__ import annotations

from svmcompile.ir.nodes import table_names
from svmcompile.ir.program import Program
from svmcompile.targets.c.nodes import CFile


def emitted_tables(program: Program) -> list[str]:
    """Tables that appear in the code, in the order of the nodes."""
    inlined = CFile.of(program).inlined
    names = [name for node in program.body for name in table_names(node) if name not in inlined]
    return list(dict.fromkeys(names))
