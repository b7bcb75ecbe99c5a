"""What the macros of `host_taylor.j2` need to know: vectors, and which tables say nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.ir.graph import node_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.layout import BITS, ROWS, cube_size, filled_up, fours, square_size
from svmcompile.ir.nodes import operands
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import needed
from svmcompile.targets.c.instruction_sets import INSTRUCTION_SETS, vector_names
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.nodes.taylor import Expansion, idle_orders
from svmcompile.targets.c.numbers import NUMBERS

MOST_UNROLLED = 6  # vectors of a row that stand in the code one by one
MOST_ROWS_UNROLLED = 96  # vectors of a square that do
MOST_SUMS = 4  # that are added to without waiting for each other
FEW_BYTES = 16
CHUNK = 1024  # rows
FEW = 3  # rows that go one by one in a batch, too
MOST_BESIDE = 48  # features of rows that lie side by side in a batch
TILES = 2  # vectors of such rows that coefficients are multiplied with
ROW_BYTES = (
    32  # of a vector with a number from each of several rows, where only their sums lie side by side
)
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
        return ROW_BYTES * FEW_BYTES
    most = max(isa.bytes for isa in INSTRUCTION_SETS)
    tile = TILES * most * (filled_up(filled_up(d, node.lanes), ROWS) + 4)
    first = most * d * (3 if len(program.tables[node.centres]) > 1 else 1)
    return max(tile, first)


def lies_beside(node: ir.TiledTaylor, program: Program, d: int) -> bool:
    """Whether vectors of a batch hold a number from each of several rows, from the first step on."""
    return not node.rank and program.tables[node.planes].ndim != 2 and d <= MOST_BESIDE


def tiled_context(
    node: ir.TiledTaylor, program: Program, types: Types, name: str, function: str
) -> dict[str, Any]:
    """The fields the macros read beside those every node has."""
    tables, d, number = program.tables, types[node.x].width, node_number(node, program, types)
    width, planes = node.rank or d, tables[node.planes]
    routed = {1: "", 2: "walk", 3: "sides"}[planes.ndim]
    beside = taylor_chunk(node, program) > 0 and lies_beside(node, program, d)
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
        "scaled": {
            "shift": bool(tables[node.shift].any()),
            "factor": bool((tables[node.factor] != 1).any()),
            "offset": bool(tables[node.offset].any()),
        },
        "fours": -(-planes.shape[0] * planes.shape[-1] // BITS) if routed == "sides" else 0,
        "set_fours": len(tables[node.sides]),
        "chunk": taylor_chunk(node, program),
        "few": FEW,
        "room": CHUNK + ROOM,
        "beside": beside,
        "lane_planes": _plane_fours(planes, len(tables[node.children])) if routed == "sides" else [],
        "scale": real(-node.gamma * math.log2(math.e), number),
        "nan": "0.0f / 0.0f" if number == "f32" else "0.0 / 0.0",
        "polynomial": _estrin(NUMBERS[number]["from_nearest"]),
        "isas": [
            _vectors(isa, node, program, d, number) | _lanes(isa, node, program, number, d)
            for isa in _instruction_sets(node, number, function, name, beside)
        ],
    }


def _instruction_sets(
    node: ir.TiledTaylor, number: Number, function: str, name: str, beside: bool
) -> list[dict[str, Any]]:
    """Those with vectors no longer than the tables are filled up for; all where rows lie side by side."""
    size = BYTES[number]
    room = max(32, node.lanes * size)
    return [
        vector_names(isa, size, function, name) | {"alone": isa.bytes <= room}
        for isa in INSTRUCTION_SETS
        if isa.bytes <= room or beside
    ]


def _lanes(
    isa: dict[str, Any], node: ir.TiledTaylor, program: Program, number: Number, d: int
) -> dict[str, Any]:
    """Vectors with a number from each of several rows."""
    size, (_, leaves, cells, _) = BYTES[number], program.tables[node.gaps].shape
    beside = lies_beside(node, program, d)
    row_bytes = isa["bytes"] if beside else min(isa["bytes"], ROW_BYTES)
    permutes = row_bytes // size == PERMUTED
    by_fours = beside and size == 4 and bool(isa["guard"]) and d >= ROWS
    gaps_fit = permutes and cells <= PERMUTED and (leaves == 1 or len(node.gates) > 0)
    return {
        "row_bytes": row_bytes,
        "row_lanes": row_bytes // size,
        "rows_v": isa["v"] + "_rows",
        "rows_u": isa["u"] + "_rows",
        "rows_i": isa["v"] + "_rows_i",
        "native": isa["native"],
        "tiles": TILES,
        "tile_rows": TILES * row_bytes // size,
        "by_fours": by_fours,
        "permutes": permutes and 1 < leaves <= PERMUTED,
        "permutes_gaps": gaps_fit,
        "gathers": not (by_fours and gaps_fit and leaves == 1),
    }


def _plane_fours(planes: Any, count: int) -> list[list[dict[str, int]]]:
    """Planes by fours: the number of each, where it begins, and how far it is to its next coefficient."""
    _, d, beside = planes.shape
    found = [
        {"number": p, "start": p // beside * d * beside + p % beside, "stride": beside}
        for p in range(count)
    ]
    return [found[at : at + BITS] for at in range(0, count, BITS)]


def _vectors(
    isa: dict[str, Any], node: ir.TiledTaylor, program: Program, d: int, number: Number
) -> dict[str, Any]:
    """Vectors of rows (v) and of planes (w)."""
    size = BYTES[number]
    bytes_of = min(isa["bytes"], node.lanes * size)
    lanes = bytes_of // size
    planes = program.tables[node.planes]
    beside = int(planes.shape[-1]) if planes.ndim == 3 else 1
    plane_bytes = min(isa["bytes"], beside * size)
    count = -(-d // lanes)
    width = node.rank or d
    rows = [(first, per_row // lanes) for first, per_row in fours(width, node.lanes)]
    return isa | {
        "wide": bytes_of > FEW_BYTES,
        "bytes": bytes_of,
        "lanes": lanes,
        "any": isa["v"] + "_any",
        "w": isa["v"] + "_w",
        "w_bits": isa["v"] + "_wb",
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
        "rows": _unrolled(rows, width, lanes),
        "by_hand": sum(ROWS * per for _, per in rows) <= MOST_ROWS_UNROLLED,
    }


def _plane_steps(planes: Any, d: int, lanes: int) -> dict[str, Any]:
    """How all planes are multiplied: features in turn, in sums that do not wait for each other."""
    if planes.ndim != 3:
        return {}
    groups, _, beside = planes.shape
    per_group, vectors = beside // lanes, groups * beside // lanes
    chains = max(1, min(MOST_SUMS // vectors, d // 2))
    starts = [g // per_group * d * per_group + g % per_group for g in range(vectors)]
    return {"chains": chains, "whole": d // chains * chains, "starts": starts, "per_group": per_group}


def _unrolled(rows: list[tuple[int, int]], width: int, lanes: int) -> list[tuple[int, list[int]]]:
    """Each row b of a square, with the numbers of the vectors that are not all zero."""
    found, at = [], 0
    for first, per_row in rows:
        for b in range(first, first + ROWS):
            if b < width:
                found.append((b, list(range(at, at + b // lanes + 1))))
            at += per_row
    return found


def _estrin(coefficients: list[str]) -> list[str]:
    """Statements that leave a polynomial of f in k, with short chains."""
    lines, terms, power, level = [], list(coefficients), "f", 0
    while len(terms) > 1:
        pairs = [terms[at : at + 2] for at in range(0, len(terms), 2)]
        terms = []
        for at, pair in enumerate(pairs):
            if len(pair) == 1:
                terms.append(pair[0])
                continue
            made = f"k{level}_{at}"
            lines.append(f"const {{few}} {made} = {pair[1]} * {power} + {pair[0]};")
            terms.append(made)
        level += 1
        if len(terms) > 1:
            lines.append(f"const {{few}} f{level} = {power} * {power};")
            power = f"f{level}"
    return [*lines, f"const {{few}} k = {terms[0]};"]


class TiledTaylor(Expansion[ir.TiledTaylor]):
    """The row is scaled, finds its centre and meets its polynomials, all in vectors; many rows at once."""

    in_vectors = in_front = has_intrinsics = True
    template = "host_taylor"

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
        own = tiled_context(self.node, self.program, self.types, self.name, self.function)
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
