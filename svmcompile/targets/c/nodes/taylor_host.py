"""Taylor polynomials for vector instructions; what the macros of `host/taylor.j2` need to know."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.layout import ROWS, cube_size, filled_up, fours, square_size
from svmcompile.ir.nodes import operands
from svmcompile.targets.c.api import needed
from svmcompile.targets.c.literals import NUMBERS
from svmcompile.targets.c.nodes.taylor import Expansion, idle_orders
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, InstructionSet, vector_names

MOST_UNROLLED = 6  # vectors of a row that stand in the code one by one
MOST_ROWS_UNROLLED = 96  # vectors of a square that do
MOST_SUMS = 4  # that are added to without waiting for each other
CHUNK = 1024  # rows
FEW = 3  # rows that go one by one in a batch, too
MOST_BESIDE = 48  # features of rows that lie side by side in a batch
GROUP_BYTES = 5 * 64  # of rows whose sums lie side by side
ROOM = 16  # in lists, for a whole vector behind the last number
PERMUTED = 16  # numbers that fit a vector, from which one instruction takes those of several rows


def _plane_steps(planes: Any, d: int, lanes: int) -> dict[str, Any]:
    """How all planes are multiplied: features in turn, in sums that do not wait for each other."""
    if planes.ndim != 3:
        return {}
    groups, _, beside = planes.shape
    per_group, vectors = beside // lanes, groups * beside // lanes
    chains = max(1, min(MOST_SUMS // vectors, d // 2))
    return {"chains": chains, "whole": d // chains * chains, "per_group": per_group}


class TiledTaylor(Expansion[ir.TiledTaylor]):
    """The row is scaled, finds its centre and meets its polynomials, all in vectors; many rows at once."""

    in_vectors = in_front = has_intrinsics = True
    template = "host/taylor"

    @property
    def rank(self) -> int:
        return self.node.rank

    @property
    def fades(self) -> bool:
        return self.node.fades

    @property
    def along(self) -> int:
        """Coordinates that later orders are about."""
        return self.node.rank or self.width

    @property
    def chunk(self) -> int:
        """How many rows of a batch go through each order together."""
        node, program = self.node, self.program
        if node.x != program.input.name:
            return 0
        behind = [item for output in program.outputs for item in needed(program, output.value, {node.out})]
        return 0 if any(program.input.name in operands(item) for item in behind) else CHUNK

    @property
    def lies_beside(self) -> bool:
        """Whether vectors of a batch hold a number from each of several rows, from the first step on."""
        return not self.node.rank and self.tables[self.node.planes].ndim != 2 and self.width <= MOST_BESIDE

    def fields(self) -> dict[str, Any]:
        node, tables, numbers = self.node, self.tables, NUMBERS[self.number]
        routed = {1: "", 2: "walk", 3: "sides"}[tables[node.planes].ndim]
        scaled = {
            "shift": bool(tables[node.shift].any()),
            "factor": bool((tables[node.factor] != 1).any()),
            "offset": bool(tables[node.offset].any()),
        }
        return super().fields() | {
            "numbers": numbers,
            "is_float": self.number == "f32",
            "bits": numbers["bits"],
            "full": filled_up(self.width, node.lanes),
            "along": self.along,
            "along_full": filled_up(filled_up(self.along, node.lanes), ROWS),
            "rank_rows": tables[node.axes].shape[1] if node.rank else 0,
            "lanes": node.lanes,
            "square_size": square_size(self.along, node.lanes),
            "cube_size": cube_size(self.along, node.lanes),
            "routed": routed,
            "scaled": scaled,
            "set_fours": len(tables[node.sides]),
            "chunk": self.chunk,
            "few": FEW,
            "room": CHUNK + ROOM,
            "beside": self.chunk > 0 and self.lies_beside,
            "plane_count": len(tables[node.children]),
            "planes_beside": tables[node.planes].shape[-1],
            "scale": self.literal(-node.gamma * math.log2(math.e)),
            "nan": "0.0f / 0.0f" if self.number == "f32" else "0.0 / 0.0",
            "base": self._names(INSTRUCTION_SETS[-1])["p"],
            "stores": routed == "walk" or (routed == "sides" and any(scaled.values())),
            **self._instruction_sets(),
        }

    def _names(self, isa: InstructionSet) -> dict[str, Any]:
        return vector_names(isa, self.size, self.helper, self.name)

    def _instruction_sets(self) -> dict[str, Any]:
        """Those whose vectors the tables are filled up for; all where rows lie side by side."""
        room = max(32, self.node.lanes * self.size)
        fit = [isa for isa in INSTRUCTION_SETS if isa.bytes <= room or (self.chunk and self.lies_beside)]
        sets = [self._lanes(isa) | self._vectors(isa) | {"alone": isa.bytes <= room} for isa in fit]
        alike = len({(isa["bytes"], isa["plane_bytes"]) for isa in sets if isa["alone"]}) == 1
        for isa in sets:
            isa["one"] = sets[-1]["name"] if alike else isa["name"]
        return {
            "alike": alike,
            "isas": sets,
        }  # alike: one row has the same code whatever the instruction set

    def _lanes(self, isa: InstructionSet) -> dict[str, Any]:
        """Vectors with a number from each of several rows."""
        _, leaves, cells, _ = self.tables[self.node.gaps].shape
        names, lanes = self._names(isa), isa.bytes // self.size
        in_one = self.size == 4 and bool(isa.guard)  # instruction, numbers of a vector for several rows
        return {
            "row_bytes": isa.bytes,
            "row_lanes": lanes,
            "rows_v": names["v"],
            "rows_u": names["u"],
            "rows_i": names["i"],
            "by_fours": in_one and self.width >= ROWS,
            "permutes": in_one and 1 < leaves <= lanes,
            "permutes_gaps": lanes == PERMUTED >= cells and (leaves == 1 or len(self.node.gates) > 0),
        }

    def _vectors(self, isa: InstructionSet) -> dict[str, Any]:
        """Vectors of features (v, of functions that begin with q) and of planes (w)."""
        size, d, node = self.size, self.width, self.node
        bytes_of = min(isa.bytes, node.lanes * size)
        lanes = bytes_of // size
        planes = self.tables[node.planes]
        beside = int(planes.shape[-1]) if planes.ndim == 3 else 1
        plane_bytes = min(isa.bytes, beside * size)
        count = -(-d // lanes)
        rows = [per_row // lanes for _, per_row in fours(self.along, node.lanes)]
        narrow = next(self._names(one) for one in INSTRUCTION_SETS if one.bytes == bytes_of)
        return self._names(isa) | {
            "bytes": bytes_of,
            "lanes": lanes,
            "q": narrow["p"],
            "v": narrow["v"],
            "w": f"{self.function}_{isa.name}_w",
            "plane_bytes": plane_bytes,
            "plane_lanes": plane_bytes // size,
            "plane_vectors": planes.shape[0] * beside * size // plane_bytes if planes.ndim == 3 else 0,
            "count": count,
            "whole": d // lanes,
            "tail": d % lanes,
            "per_table": node.lanes // lanes,
            "plane_steps": _plane_steps(planes, d, plane_bytes // size),
            "short": count <= MOST_UNROLLED,
            "axis_chains": 2 if count > 8 else 1,
            "along_count": -(-self.along // lanes),
            "by_hand": sum(ROWS * per for per in rows) <= MOST_ROWS_UNROLLED,
        }

    def idle(self) -> set[str]:
        node, tables = self.node, self.tables
        idle = {
            node.shift: not tables[node.shift].any(),
            node.factor: (tables[node.factor] == 1).all(),
            node.offset: not tables[node.offset].any(),
            node.planes: tables[node.planes].ndim == 1,
            node.thresholds: tables[node.planes].ndim == 1,
            node.children: tables[node.planes].ndim != 2,
            node.sides: tables[node.planes].ndim != 3,
        }
        return {name for name, is_idle in idle.items() if is_idle} | idle_orders(node, tables)

    def scratch(self) -> int:
        node, full = self.node, len(self.tables[self.node.shift])
        along = filled_up(node.rank, max(node.lanes, 4)) if node.rank else 0
        return super().scratch() + self.size * (2 * full + along)

    def batch_scratch(self, deepest: Callable[[str], int]) -> int:
        if not self.chunk:
            return 0
        return self._rows_bytes() + max(self.scratch(), self._tile_bytes(), deepest(self.node.exact))

    def _rows_bytes(self) -> int:
        """Bytes of a chunk of rows on its way through the orders, and of their scores."""
        size, orders, leaves = (
            self.size,
            len(self.tables[self.node.margins]),
            len(self.tables[self.node.centres]),
        )
        if not self.lies_beside:
            return CHUNK * (4 + size + (2 * 4 + 2 * size if orders > 1 else 0))
        lists = 4 + (4 * (1 + (leaves > 1)) if orders > 1 else 0) + (size if orders > 2 else 0)
        return CHUNK * size + (CHUNK + ROOM) * lists + 8 * leaves

    def _tile_bytes(self) -> int:
        """Bytes of rows that are looked at together, feature by feature."""
        if not self.lies_beside:
            return GROUP_BYTES
        most, leaves = max(isa.bytes for isa in INSTRUCTION_SETS), len(self.tables[self.node.centres])
        tile = most * (filled_up(filled_up(self.width, self.node.lanes), ROWS) + 4)
        return max(tile, most * self.width * (3 if leaves > 1 else 1))
