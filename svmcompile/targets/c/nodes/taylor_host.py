"""What the macros of `host/taylor.j2` need to know: vectors, and which tables say nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.ir.graph import node_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.layout import ROWS, cube_size, filled_up, fours, square_size
from svmcompile.ir.nodes import operands
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import needed
from svmcompile.targets.c.literals import NUMBERS, real
from svmcompile.targets.c.nodes.taylor import Expansion, idle_orders
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, vector_names

MOST_UNROLLED = 6  # vectors of a row that stand in the code one by one
MOST_ROWS_UNROLLED = 96  # vectors of a square that do
MOST_SUMS = 4  # that are added to without waiting for each other
CHUNK = 1024  # rows
FEW = 3  # rows that go one by one in a batch, too
MOST_BESIDE = 48  # features of rows that lie side by side in a batch
GROUP_BYTES = 5 * 64  # of rows whose sums lie side by side
ROOM = 16  # in lists, for a whole vector behind the last number
PERMUTED = 16  # numbers that fit a vector, from which one instruction takes those of several rows


def taylor_chunk(node: ir.TiledTaylor, program: Program) -> int:
    """How many rows of a batch go through each order together; 0: they go one by one."""
    if node.x != program.input.name:
        return 0
    behind = [item for output in program.outputs for item in needed(program, output.value, {node.out})]
    return 0 if any(program.input.name in operands(item) for item in behind) else CHUNK


def taylor_rows(node: ir.TiledTaylor, program: Program, d: int) -> int:
    """Bytes of a chunk of rows on its way through the orders, and of their scores."""
    size, orders = BYTES[program.number or "f64"], len(program.tables[node.margins])
    if not lies_beside(node, program, d):
        return CHUNK * (4 + size + (2 * 4 + 2 * size if orders > 1 else 0))
    leaves = len(program.tables[node.centres])
    lists = 4 + (4 * (1 + (leaves > 1)) if orders > 1 else 0) + (size if orders > 2 else 0)
    return CHUNK * size + (CHUNK + ROOM) * lists + 8 * leaves


def taylor_tile(node: ir.TiledTaylor, program: Program, d: int) -> int:
    """Bytes of rows that are looked at together, feature by feature."""
    if not lies_beside(node, program, d):
        return GROUP_BYTES
    most = max(isa.bytes for isa in INSTRUCTION_SETS)
    tile = most * (filled_up(filled_up(d, node.lanes), ROWS) + 4)
    first = most * d * (3 if len(program.tables[node.centres]) > 1 else 1)
    return max(tile, first)


def lies_beside(node: ir.TiledTaylor, program: Program, d: int) -> bool:
    """Whether vectors of a batch hold a number from each of several rows, from the first step on."""
    return not node.rank and program.tables[node.planes].ndim != 2 and d <= MOST_BESIDE


def tiled_context(
    node: ir.TiledTaylor, program: Program, types: Types, name: str, function: str, helper: str
) -> dict[str, Any]:
    """The fields the macros read beside those of every node; `helper` is the prefix of helper functions."""
    tables, d, number = program.tables, types[node.x].width, node_number(node, program, types)
    width, planes = node.rank or d, tables[node.planes]
    routed = {1: "", 2: "walk", 3: "sides"}[planes.ndim]
    beside = taylor_chunk(node, program) > 0 and lies_beside(node, program, d)
    scaled = {
        "shift": bool(tables[node.shift].any()),
        "factor": bool((tables[node.factor] != 1).any()),
        "offset": bool(tables[node.offset].any()),
    }
    sets = [
        _lanes(isa, node, program, number, d) | _vectors(isa, node, program, d, number, function)
        for isa in _instruction_sets(node, number, helper, name, beside)
    ]
    alike = len({(isa["bytes"], isa["plane_bytes"]) for isa in sets if isa["alone"]}) == 1
    size = 4 if number == "f32" else 8
    return {
        "numbers": NUMBERS[number],
        "is_float": number == "f32",
        "bits": NUMBERS[number]["bits"],
        "full": filled_up(d, node.lanes),
        "along": width,
        "along_full": filled_up(filled_up(width, node.lanes), ROWS),
        "rank_rows": tables[node.axes].shape[1] if node.rank else 0,
        "lanes": node.lanes,
        "square_size": square_size(width, node.lanes),
        "cube_size": cube_size(width, node.lanes),
        "routed": routed,
        "scaled": scaled,
        "set_fours": len(tables[node.sides]),
        "chunk": taylor_chunk(node, program),
        "few": FEW,
        "room": CHUNK + ROOM,
        "beside": beside,
        "plane_count": len(tables[node.children]),
        "planes_beside": planes.shape[-1],
        "scale": real(-node.gamma * math.log2(math.e), number),
        "nan": "0.0f / 0.0f" if number == "f32" else "0.0 / 0.0",
        "base": vector_names(INSTRUCTION_SETS[-1], size, helper, name)["p"],
        "stores": routed == "walk" or (routed == "sides" and any(scaled.values())),
        "alike": alike,  # one row by itself has the same code whatever the instruction set
        "isas": [isa | {"one": sets[-1]["name"] if alike else isa["name"]} for isa in sets],
    }


def _instruction_sets(
    node: ir.TiledTaylor, number: Number, helper: str, name: str, beside: bool
) -> list[dict[str, Any]]:
    """Those with vectors no longer than the tables are filled up for; all where rows lie side by side."""
    size = BYTES[number]
    room = max(32, node.lanes * size)
    sets = [(isa, vector_names(isa, size, helper, name)) for isa in INSTRUCTION_SETS]
    return [
        names | {"alone": isa.bytes <= room, "narrower": {one.bytes: other for one, other in sets}}
        for isa, names in sets
        if isa.bytes <= room or beside
    ]


def _lanes(
    isa: dict[str, Any], node: ir.TiledTaylor, program: Program, number: Number, d: int
) -> dict[str, Any]:
    """Vectors with a number from each of several rows."""
    size, (_, leaves, cells, _) = BYTES[number], program.tables[node.gaps].shape
    in_one = size == 4 and bool(isa["guard"])  # instruction, numbers of a vector for several rows
    return {
        "row_bytes": isa["bytes"],
        "row_lanes": isa["lanes"],
        "rows_v": isa["v"],
        "rows_u": isa["u"],
        "rows_i": isa["i"],
        "by_fours": size == 4 and bool(isa["guard"]) and d >= ROWS,
        "permutes": in_one and 1 < leaves <= isa["lanes"],
        "permutes_gaps": isa["lanes"] == PERMUTED >= cells and (leaves == 1 or len(node.gates) > 0),
    }


def _vectors(
    isa: dict[str, Any], node: ir.TiledTaylor, program: Program, d: int, number: Number, function: str
) -> dict[str, Any]:
    """Vectors of features (v, of functions that begin with q) and of planes (w)."""
    size = BYTES[number]
    bytes_of = min(isa["bytes"], node.lanes * size)
    lanes = bytes_of // size
    planes = program.tables[node.planes]
    beside = int(planes.shape[-1]) if planes.ndim == 3 else 1
    plane_bytes = min(isa["bytes"], beside * size)
    count = -(-d // lanes)
    width = node.rank or d
    rows = [per_row // lanes for _, per_row in fours(width, node.lanes)]
    narrow = isa["narrower"][bytes_of]
    return isa | {
        "bytes": bytes_of,
        "lanes": lanes,
        "q": narrow["p"],
        "v": narrow["v"],
        "w": f"{function}_{isa['name']}_w",
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
        "along_count": -(-width // lanes),
        "by_hand": sum(ROWS * per for per in rows) <= MOST_ROWS_UNROLLED,
    }


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
    def chunk(self) -> int:
        return taylor_chunk(self.node, self.program)

    def fields(self) -> dict[str, Any]:
        own = tiled_context(self.node, self.program, self.types, self.name, self.function, self.helper)
        return super().fields() | own

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
        node, d = self.node, self.width
        below = max(self.scratch(), taylor_tile(node, self.program, d), deepest(node.exact))
        return taylor_rows(node, self.program, d) + below
