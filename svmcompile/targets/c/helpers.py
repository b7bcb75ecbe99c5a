"""Which helper functions generated C needs: nodes of a machine program go in, what they call comes out."""

from __future__ import annotations

from typing import Any, TypeGuard

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import float_number, node_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import c_real
from svmcompile.targets.c.device import Style, helper_uses
from svmcompile.targets.c.nodes.bounded import staged_helpers
from svmcompile.targets.c.nodes.leaves import is_host as leaves_are_host
from svmcompile.targets.c.nodes.sparse import is_host
from svmcompile.targets.c.nodes.trees import dots, helper_prefix
from svmcompile.targets.c.numbers import NUMBERS

PACKED = (ir.PackedSum, ir.PackedPath)


def helpers(
    program: Program, types: Types, name: str, style: Style, folded: frozenset[str]
) -> list[dict[str, Any]]:
    """Which helper functions the nodes call, for each number type."""
    numbers = [float_number(program), *(node_number(node, program, types) for node in program.body)]
    bodies = {number: _of(number, program, types) for number in numbers if number in NUMBERS}
    return [
        {
            "prefix": helper_prefix(name, number, program),
            "real": c_real(number),
            "numbers": NUMBERS[number],
            "uses": _uses(body, program, style.fades(number))
            | helper_uses(body, number, style, folded)
            | _in_double(program, number),
        }
        for number, body in bodies.items()
    ]


def _in_double(program: Program, number: Number) -> dict[str, bool]:
    """What nodes call in double, whatever their own number type."""
    votes = any(isinstance(node, ir.TaylorVote) for node in program.body)
    return {"exp2": True} if votes and number == "f64" else {}


def _of(number: Number, program: Program, types: Types) -> list[Node]:
    return [node for node in program.body if node_number(node, program, types) == number]


def _uses(body: list[Node], program: Program, fades: bool) -> dict[str, bool]:
    """Which helper functions some nodes of one number type call; sums that fade have their own exp2."""
    packed = [node for node in body if is_packed(node, program)]
    shapes = {
        node.shape
        for node in body
        if node in packed or (isinstance(node, ir.SparseSum) and not is_host(node, program))
    }
    jets = any(isinstance(node, ir.JetSum) for node in body)
    picked = any(isinstance(node, ir.PickedTaylor) for node in body)
    taylor = jets or picked or any(isinstance(node, ir.TaylorSum) and node.fades for node in body)
    turned = any(isinstance(node, ir.TaylorSum) and program.tables[node.axes].ndim > 1 for node in body)
    dense = jets or turned or any(isinstance(node, ir.Affine) for node in body)
    dense = dense or any(node.shape != "given" for node in packed)
    trees, staged = dots(body, program), staged_helpers(body, program)
    has_sigmoid = any(isinstance(node, ir.Sigmoid) for node in body)
    return {
        "dot": dense or "dot" in trees or staged["dot"],
        "distance": jets or staged["distance"],
        "dot_i8": "dot_i8" in trees,
        "dot_f16": "dot_f16" in trees,
        "exp2": taylor
        or has_sigmoid
        or bool(shapes & ({"tanh"} if fades else {"exp2", "tanh"}))
        or staged["exp2"],
        "tanh": "tanh" in shapes,
        "power": "power" in shapes or staged["power"],
        "root": any(isinstance(node, ir.Normalize) and node.norm == "l2" for node in body),
        "cosine": any(isinstance(node, ir.Cosine) for node in body),
    }


def is_packed(node: Node, program: Program) -> TypeGuard[ir.PackedSum | ir.PackedPath | ir.PackedLeaves]:
    """Whether a node computes its kernel values one by one."""
    return isinstance(node, PACKED) or (
        isinstance(node, ir.PackedLeaves) and not leaves_are_host(node, program)
    )
