"""near_tests: rows that come so close to a threshold that quantising may send them another way.

A program in whole numbers states how far each test can be off, in the test's own unit. Rows that keep a
distance to every threshold they meet take the same way as in the program it was made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.program import Program


def near_tests(program: Program, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which rows may take another way."""
    slacks = program.origin.details["fixed"].get("slacks", {})
    found = np.zeros(len(rows), dtype=bool)
    for node in program.body:
        if node.out in slacks:
            read = interpret_values(program, rows, set(ir.operands(node)))
            found |= node.near(At(node, program.tables, read), np.asarray(slacks[node.out]))
    return found
