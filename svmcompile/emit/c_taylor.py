"""What the macros of `taylor.j2` need to know."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.emit.c_api import c_real, row_argument, row_parameters
from svmcompile.emit.literals import real
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Program
from svmcompile.ir.rules import Types
from svmcompile.ir.wide import node_number, value_number


def taylor_context(
    node: ir.TaylorSum | ir.OneLeaf, program: Program, types: Types, name: str, prefix: str
) -> dict[str, Any]:
    """The fields the macros read beside those every node has; `prefix` is that of helper functions."""
    if isinstance(node, ir.OneLeaf):
        return {}
    number = node_number(node, program, types)
    orders, leaves, cells = program.tables[node.lows].shape
    return {
        "row": row_parameters(program, name).replace("*x", "*row"),
        "row_argument": row_argument(program).replace("x", "row"),
        "exact_real": c_real(value_number(node.exact, program, types)),
        "orders": orders,
        "leaves": leaves,
        "cells": cells,
        "limit": real(float(cells), number),
        "gamma": real(node.gamma, number),
        "minus_log2e": real(-math.log2(math.e), number),
        "exp2": f"{prefix}_exp2",
    }
