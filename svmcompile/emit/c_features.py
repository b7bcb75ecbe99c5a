"""What the macros of `features.j2` need to know."""

from __future__ import annotations

import math
from typing import Any

from svmcompile.emit.literals import real
from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Number, Program
from svmcompile.ir.rules import Types
from svmcompile.ir.wide import node_number

FEATURES = (
    ir.AsFeatures, ir.Pick, ir.Normalize, ir.Powers, ir.Cosine, ir.Fill, ir.Missing, ir.Join,
)  # fmt: skip
COSINE_TERMS: dict[Number, int] = {"f32": 7, "f64": 12}


def cosine_numbers(number: Number) -> dict[str, Any]:
    """Literals of the cosine: cos(2 pi f) = sum_k (-1)^k (2 pi f)^2k / (2k)! for f up to a quarter."""
    terms = [
        (-1) ** k * (2 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in range(COSINE_TERMS[number])
    ]
    return {
        "cosine": [real(term, number) for term in terms],
        "quarter": real(0.25, number),
        "all_whole": real(2.0**24 if number == "f32" else 2.0**53, number),
        "whole": "int32_t" if number == "f32" else "int64_t",
        "cos_error": "3e-7" if number == "f32" else "6e-16",
    }


def feature_context(node: Node, program: Program, types: Types, prefix: str) -> dict[str, Any]:
    """The fields the macros read beside those every node has; `prefix` is that of helper functions."""
    number = node_number(node, program, types)
    found: dict[str, Any] = {"out_width": types[node.out].width}
    if isinstance(node, ir.Normalize):
        found |= {"norm": node.norm, "least": real(node.least, "f64"), "root": f"{prefix}_root"}
    if isinstance(node, ir.Powers):
        found["degree"] = program.tables[node.factors].shape[1]
    if isinstance(node, ir.Cosine):
        found |= {"factor": real(node.factor, number), "cosine": f"{prefix}_cosine"}
    if isinstance(node, (ir.Fill, ir.Missing)):
        found["marker"] = "" if node.nan else real(node.marker, number)
    if isinstance(node, ir.Join):
        found["right_width"] = types[node.right].width
    return found
