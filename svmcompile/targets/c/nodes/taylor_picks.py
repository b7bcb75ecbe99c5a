"""What the macros of `taylor_picks.j2` need to know: groups of lanes, vectors of instruction sets."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BYTES, SEGMENT, Number
from svmcompile.ir.graph import node_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.layout import FEW_LANES, filled_up
from svmcompile.ir.program import Program
from svmcompile.targets.c.literals import NUMBERS
from svmcompile.targets.c.node import INT
from svmcompile.targets.c.nodes.taylor import Expansion
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, InstructionSet, vector_names

MOST_SUMS = 8  # vectors that are added to without waiting for each other
MOST_GROUPS = 4  # of four sums each in plain code, as many as registers hold


def picked_context(
    node: ir.PickedTaylor, program: Program, types: Types, name: str, helper: str
) -> dict[str, Any]:
    """The fields the macros read beside those every node has."""
    number, full = node_number(node, program, types), program.tables[node.columns].shape[1]
    host = node.lanes > 1
    sets = INSTRUCTION_SETS if host else ()
    return {
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
    size = BYTES[number]
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


class PickedTaylor(Expansion[ir.PickedTaylor]):
    """Rows that are mostly zeros: their other features pick columns, of several numbers each."""

    parts = ("form", "cubic")
    in_vectors = True

    @property
    def rank(self) -> int:
        return self.node.rank

    @property
    def has_intrinsics(self) -> bool:
        return self.node.lanes > 1

    def fields(self) -> dict[str, Any]:
        own = picked_context(self.node, self.program, self.types, self.name, self.helper)
        return super().fields() | own

    def helpers(self) -> set[str]:
        return {"exp2"}

    def scratch(self) -> int:
        node, room = self.node, 16 if self.node.lanes > 1 else 0
        picks = (INT + self.size) * (self.types[node.x].width + room)
        held = int(self.tables[node.columns].shape[1]) + filled_up(node.rank, node.lanes)
        return super().scratch() + picks + self.size * held
