"""What the macros of `features.j2` need to know."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.graph import node_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Program
from svmcompile.targets.c.literals import real

FEATURES = (
    ir.AsFeatures, ir.Pick, ir.Normalize, ir.Powers, ir.Cosine, ir.Fill, ir.Missing, ir.Join,
)  # fmt: skip


def feature_context(node: Node, program: Program, types: Types, prefix: str) -> dict[str, Any]:
    """The fields the macros read beside those every node has; `prefix` is that of helper functions."""
    number = node_number(node, program, types)
    found: dict[str, Any] = {"out_width": types[node.out].width}
    if isinstance(node, ir.Normalize):
        found |= {"norm": node.norm, "least": real(node.least, "f64"), "root": f"{prefix}_root"}
        found["narrow_least"] = real(node.least, "f32")
    if isinstance(node, ir.Powers):
        found["degree"] = program.tables[node.factors].shape[1]
    if isinstance(node, ir.Cosine):
        found |= {"factor": real(node.factor, number), "cosine": f"{prefix}_cosine"}
    if isinstance(node, (ir.Fill, ir.Missing)):
        found["marker"] = "" if node.nan else real(node.marker, number)
    if isinstance(node, ir.Join):
        found["right_width"] = types[node.right].width
    return found
