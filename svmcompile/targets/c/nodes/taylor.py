"""What the macros of `taylor.j2` need to know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BLOCK, SEGMENT, Number
from svmcompile.ir.graph import node_number, value_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import c_real, row_argument, row_parameters
from svmcompile.targets.c.literals import real

FAR: dict[Number, float] = {"f32": 1e37, "f64": 1e300}  # squared distances beyond are taken as infinite


def taylor_context(
    node: ir.TaylorSum | ir.OneLeaf | ir.JetSum, program: Program, types: Types, name: str, prefix: str
) -> dict[str, Any]:
    """The fields the macros read beside those every node has; `prefix` is that of helper functions."""
    if isinstance(node, ir.OneLeaf):
        return {}
    if isinstance(node, ir.JetSum):
        return jet_context(node, program, types, name, prefix)
    axes = program.tables[node.axes]
    return {
        **common_context(node, program, types, name),
        "along": axes.shape[1] if axes.ndim > 1 else types[node.x].width,
        "exp2": f"{prefix}_exp2",
    }


def common_context(
    node: ir.TaylorSum | ir.TiledTaylor | ir.PickedTaylor, program: Program, types: Types, name: str
) -> dict[str, Any]:
    """What both layouts have."""
    number = node_number(node, program, types)
    orders, leaves, cells, _ = program.tables[node.gaps].shape
    loose, rank = program.tables[node.loose], _rank(node, program)
    fades = isinstance(node, ir.PickedTaylor) or node.fades
    return {
        "row": row_parameters(program, name).replace("*x", "*row"),
        "row_argument": row_argument(program).replace("x", "row"),
        "exact_real": c_real(value_number(node.exact, program, types)),
        "orders": orders,
        "leaves": leaves,
        "cells": cells,
        "rank": rank,
        "loose_terms": [_terms(part) for part in loose] if rank else [],
        "slack": real(1 + node.slack, number),
        "gates": [real(gate, number) if gate > 0 else "" for gate in node.gates],
        "limit": real(float(cells), number),
        "gamma": real(node.gamma, number),
        "fades": fades,
        "fade": "fade * " if fades else "",
        "minus_log2e": real(-math.log2(math.e), number),
    }


def jet_context(node: ir.JetSum, program: Program, types: Types, name: str, prefix: str) -> dict[str, Any]:
    """What the macro of a sum in blocks with jets reads."""
    number = node_number(node, program, types)
    jets, cells, _ = program.tables[node.gaps].shape
    log2e = math.log2(math.e)
    return {
        "row": row_parameters(program, name),
        "helper": prefix,
        "exp2": f"{prefix}_exp2",
        "is_float": number == "f32",
        "narrow_cast": "(float)" if number == "f32" else "",
        "smallest": real(float(np.finfo(np.float32).tiny), "f64"),
        "rbf": True,
        "tolerance": "",
        "segment": SEGMENT,
        "scale": real(-node.kernel.gamma * log2e, number),
        "gamma": real(node.kernel.gamma, number),
        "minus_log2e": real(-log2e, number),
        "jets": jets,
        "vector_count": len(program.tables[node.weights]),
        "block_size": BLOCK,
        "cells": cells,
        "limit": real(float(cells), number),
        "far": real(FAR[number], number),
    }


def _rank(node: ir.TaylorSum | ir.TiledTaylor | ir.PickedTaylor, program: Program) -> int:
    """How many axes there are."""
    if not isinstance(node, ir.TaylorSum):
        return node.rank
    axes = program.tables[node.axes]
    return int(axes.shape[1]) if axes.ndim > 1 else 0


def _terms(loose: NDArray[Any]) -> str:
    """What axes leave, with the terms that some leaf has; [leaves, 4]."""
    known = ("along", "left", "along * left", "left * left")
    terms = [f"bound[{at}] * {text}" for at, text in enumerate(known) if loose[:, at].any()]
    return " + ".join(terms) or "0"
