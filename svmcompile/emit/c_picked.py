"""What the macros of `picked_taylor.j2` need to know: groups of lanes, vectors of instruction sets."""

from __future__ import annotations

from typing import Any

from svmcompile.emit.c_numbers import NUMBERS
from svmcompile.emit.c_taylor import common_context
from svmcompile.emit.c_taylor_host import tiled_context
from svmcompile.emit.c_vectors import INSTRUCTION_SETS, InstructionSet, vector_names
from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import Node
from svmcompile.ir.picked_taylor import FEW_LANES
from svmcompile.ir.program import Number, Program
from svmcompile.ir.rules import Types
from svmcompile.ir.stages import SEGMENT
from svmcompile.ir.tiled_taylor import filled_up
from svmcompile.ir.wide import node_number

MOST_SUMS = 8  # vectors that are added to without waiting for each other
MOST_GROUPS = 4  # of four sums each in plain code, as many as registers hold


def taylor_vectors(
    node: Node, program: Program, types: Types, name: str, function: str, helper: str
) -> dict[str, Any]:
    """What polynomials in layouts of their own need; nothing for other nodes."""
    if isinstance(node, ir.TiledTaylor):
        return tiled_context(node, program, types, name, function, helper)
    return picked_context(node, program, types, name, helper) if isinstance(node, ir.PickedTaylor) else {}


def picked_context(
    node: ir.PickedTaylor, program: Program, types: Types, name: str, helper: str
) -> dict[str, Any]:
    """The fields the macros read beside those every node has."""
    number, full = node_number(node, program, types), program.tables[node.columns].shape[1]
    host = node.lanes > 1
    sets = INSTRUCTION_SETS if host else ()
    return {
        **common_context(node, program, types, name),
        "numbers": NUMBERS[number],
        "is_float": number == "f32",
        "bits": NUMBERS[number]["bits"],
        "full": full,
        "lanes": node.lanes,
        "along": filled_up(node.rank, node.lanes),
        "aligned": " __attribute__((aligned(64)))" if host else "",
        "segment": SEGMENT,
        "groups": _groups(full // FEW_LANES),
        "isas": [_vectors(isa, node, full, number, helper, name) for isa in sets],
    }


def _groups(count: int) -> list[tuple[int, int]]:
    """Where each pass over the features begins, and how many groups of sums it has."""
    starts = range(0, count, MOST_GROUPS)
    return [(FEW_LANES * start, min(MOST_GROUPS, count - start)) for start in starts]


def _vectors(
    isa: InstructionSet, node: ir.PickedTaylor, full: int, number: Number, helper: str, name: str
) -> dict[str, Any]:
    """Vectors of a column, and of the rows of triangles: groups of rows have as many."""
    size = 4 if number == "f32" else 8
    lanes = isa.bytes // size
    vectors, per_group = full // lanes, node.lanes // lanes
    firsts = range(0, node.rank, node.lanes)
    return vector_names(isa, size, helper, name) | {
        "vectors": vectors,
        "step": max(1, MOST_SUMS // vectors),
        "along": filled_up(node.rank, node.lanes) // lanes,
        "own": node.rank // lanes,  # vectors of coordinates alone, and how many the next begins with
        "rest": node.rank % lanes,
        "compresses": isa.name == "avx512" and number == "f32",
        "segments": [(first, (first // node.lanes + 1) * per_group) for first in firsts],
    }
