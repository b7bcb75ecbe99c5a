"""What the macros of `taylor_picks.j2` need to know: groups of lanes, vectors of instruction sets."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import SEGMENT
from svmcompile.ir.layout import FEW_LANES, filled_up
from svmcompile.targets.c.literals import NUMBERS
from svmcompile.targets.c.node import INT
from svmcompile.targets.c.nodes.taylor import Expansion
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, InstructionSet, vector_names

MOST_SUMS = 8  # vectors that are added to without waiting for each other
MOST_GROUPS = 4  # of four sums each in plain code, as many as registers hold


def _groups(count: int) -> list[tuple[int, int]]:
    """Where each pass over the features begins, and how many groups of sums it has."""
    starts = range(0, count, MOST_GROUPS)
    return [(FEW_LANES * start, min(MOST_GROUPS, count - start)) for start in starts]


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

    @property
    def full(self) -> int:
        """Numbers of a column."""
        return int(self.tables[self.node.columns].shape[1])

    def fields(self) -> dict[str, Any]:
        node, numbers = self.node, NUMBERS[self.number]
        return super().fields() | {
            "numbers": numbers,
            "is_float": self.number == "f32",
            "bits": numbers["bits"],
            "full": self.full,
            "lanes": node.lanes,
            "along": filled_up(node.rank, node.lanes),
            "aligned": " __attribute__((aligned(64)))" if self.has_intrinsics else "",
            "segment": SEGMENT,
            "groups": _groups(self.full // FEW_LANES),
            "isas": [self._vectors(isa) for isa in INSTRUCTION_SETS if self.has_intrinsics],
        }

    def _vectors(self, isa: InstructionSet) -> dict[str, Any]:
        """Vectors of a column, and of the rows of triangles: groups of rows have as many."""
        node, lanes = self.node, isa.bytes // self.size
        vectors, per_group = self.full // lanes, node.lanes // lanes
        firsts = range(0, node.rank, node.lanes)
        return vector_names(isa, self.size, self.helper, self.name) | {
            "vectors": vectors,
            "step": max(1, MOST_SUMS // vectors),
            "along": filled_up(node.rank, node.lanes) // lanes,
            "own": node.rank // lanes,  # vectors of coordinates alone, and how many the next begins with
            "rest": node.rank % lanes,
            "compresses": isa.name == "avx512" and self.number == "f32",
            "segments": [(first, (first // node.lanes + 1) * per_group) for first in firsts],
        }

    def helpers(self) -> set[str]:
        return {"exp2"}

    def scratch(self) -> int:
        node, room = self.node, 16 if self.node.lanes > 1 else 0
        picks = (INT + self.size) * (self.types[node.x].width + room)
        held = self.full + filled_up(node.rank, node.lanes)
        return super().scratch() + picks + self.size * held
