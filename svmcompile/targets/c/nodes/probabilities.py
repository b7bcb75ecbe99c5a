"""What the C macros of heads that give probabilities need to know, and the stack they take."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.coupling import TOLERANCE, sweeps_of
from svmcompile.ir.graph import node_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Program
from svmcompile.ir.row_functions import LEAST, MOST
from svmcompile.targets.c.literals import real

CHANCES: tuple[type[Node], ...] = (
    ir.Beside, ir.Columns, ir.Shifted, ir.Sigmoid, ir.Isotonic, ir.Density, ir.Complement,
    ir.Shares, ir.Mean, ir.Couple,
)  # fmt: skip


def chances_context(node: Node, program: Program, types: Types, prefix: str) -> dict[str, Any]:
    """What only these nodes have; `prefix` is that of helper functions of the node's number type."""
    number = node_number(node, program, types)
    known: dict[str, Any] = {"sums": types[node.out].width}
    if isinstance(node, ir.Beside):
        known["others"] = types[node.right].width
    elif isinstance(node, ir.Sigmoid):
        known |= {
            "exp2": f"{prefix}_exp2",
            "log2e": real(math.log2(math.e), number),
            "floor": real(node.floor, number) if node.floor else "",
            "ceiling": real(1.0 - node.floor, number),
        }
    elif isinstance(node, ir.Density):
        count = len(program.tables[node.marks])
        known |= {"count": count, "total": real(count, number)}
        known |= {"least": real(LEAST, number), "most": real(MOST, number)}
    elif isinstance(node, (ir.Shares, ir.Mean)):
        known |= {"groups": node.groups, "size": types[node.chances].width // node.groups}
        known["total"] = real(node.groups, number)
        known["empty"] = real(node.empty, number) if isinstance(node, ir.Shares) else ""
    elif isinstance(node, ir.Couple):
        known |= {"classes": node.n_classes, "sweeps": sweeps_of(node.n_classes)}
        known["tolerance"] = real(TOLERANCE / node.n_classes, "f64")
    return known
