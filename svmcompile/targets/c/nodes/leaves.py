"""What the macros of `leaves.j2` and `host/leaves.j2` need to know of the sums of leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.ir.kinds import Types
from svmcompile.ir.leaf_layout import ABSENT, LOWEST, packed_layout
from svmcompile.ir.node import At
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Body, body, real_of
from svmcompile.targets.c.literals import NUMBERS, real
from svmcompile.targets.c.nodes.sums import KernelValues, goes_alone, input_body, power_steps
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, vector_names

DOUBLE, INT, BLOCK_BYTES = 8, 4, 64
CHUNK = 1024  # rows that are sorted at a time
MOST_LEAVES = 4096  # that are counted on the stack
MOST_FEATURES = 2048  # of the rows of a tile, which stand on the stack
FEW_ROWS = 4  # so few rows of a leaf go one by one
LEAST_BYTES = 8 * 1024  # of the largest leaf
SUMS = 8  # that a processor adds to at a time without waiting
SPILL = 8  # blocks after which lane sums go to double


def is_host(node: ir.PackedLeaves, program: Program) -> bool:
    """Whether the code is written for each instruction set."""
    return int(program.tables[node.vectors].shape[2]) > 1


def idle_tables(node: ir.PackedLeaves) -> set[str]:
    """Tables that say nothing in C: with one sum per leaf, what tells sums apart."""
    if node.rule != "sum":
        return set()
    return {node.members, node.firsts, node.ends, node.places, node.bias_firsts}


def most_sums(node: ir.PackedLeaves, program: Program) -> int:
    """Sums of the leaf that has most; at least one, since C has no empty arrays."""
    return max(1, int(packed_layout(At(node, program.tables)).sums.max()))


def most_columns(node: ir.PackedLeaves, program: Program) -> int:
    """Weights of a vector in the leaf that has most."""
    return max(1, int(packed_layout(At(node, program.tables)).columns.max()))


def most_classes(node: ir.PackedLeaves, program: Program) -> int:
    """Classes of the leaf that has most."""
    return int(np.diff(program.tables[node.firsts].astype(np.int64)).max())


def chunk_rows(node: ir.PackedLeaves, program: Program) -> int:
    """How many rows of a batch are sorted by leaf, so that rows share what is read; 0: they go one by one.

    That pays as soon as leaves have some vectors to read.
    """
    layout, size = packed_layout(At(node, program.tables)), BYTES[program.number or "f64"]
    _, width, lanes = program.tables[node.vectors].shape
    if node.rule != "sum" or lanes == 1 or goes_alone(program) or len(layout.vectors) > MOST_LEAVES:
        return 0
    largest = int(layout.vectors.max()) * int(width) * size
    return CHUNK if largest >= LEAST_BYTES and width <= MOST_FEATURES else 0


def leaves_context(node: ir.PackedLeaves, program: Program, types: Types, number: Number) -> dict[str, Any]:
    """Sizes, and for host code blocks and steps."""
    blocks, width, lanes = program.tables[node.vectors].shape
    layout = packed_layout(At(node, program.tables))
    return {
        "rule": node.rule,
        "classes": node.classes,
        "leaves": types[node.leaf].width,
        "vector_count": int(layout.vectors.sum()),
        "most_vectors": int(layout.vectors.max()),
        "scores": types[node.out].width,
        "most_sums": most_sums(node, program),
        "most_columns": most_columns(node, program),
        "most_classes": most_classes(node, program),
        "absent": real(ABSENT if node.rule == "vote" else LOWEST, number),
        "constant_leaves": bool((layout.vectors == 0).any()),
        "lanes": int(lanes),
        "blocks": blocks,
        "chunk": chunk_rows(node, program),
        "few": FEW_ROWS,
        "input_width": program.n_features,
        "columns": 1,
        "by_lane": True,
        "by_tile": node.rule == "sum",
        "gathered": int(lanes),
        "spill": SPILL,
        "load": "load",
        "table_type": "float" if number == "f32" else "double",
        "bits": "uint32_t" if number == "f32" else "uint64_t",
        "power_steps": power_steps(node.degree),
        "width": width,
    }


def leaf_instruction_sets(
    node: ir.PackedLeaves, program: Program, number: Number, prefix: str, name: str
) -> list[dict[str, Any]]:
    """Every instruction set with its vector types and the numbers of blocks it takes at once."""
    _, width, lanes = map(int, program.tables[node.vectors].shape)
    size = BYTES[number]
    most = max(1, int(np.diff(program.tables[node.starts].astype(np.int64)).max()))  # blocks of a leaf
    columns = most_columns(node, program)
    sets: list[dict[str, Any]] = []
    for isa in INSTRUCTION_SETS if lanes > 1 else ():
        per_block = BLOCK_BYTES // isa.bytes
        counts = [2**power for power in range(min(isa.row_blocks, most).bit_length() - 1, -1, -1)]
        tiles = [_tile(count, per_block, width) for count in counts]
        own = {
            "per_block": per_block,
            "gathered": per_block,
            "padded_columns": columns + -columns % (isa.bytes // size),
            "tiles": tiles,
            "most_sums": max(tile["count"] * tile["chains"] for tile in tiles) * per_block,
            "tile_blocks": 1,
            "queries": isa.leaf_queries,
        }
        sets.append(vector_names(isa, size, prefix, name) | own)
    return sets


def _tile(count: int, per_block: int, width: int) -> dict[str, int]:
    """One row and some blocks: as many chains of sums as make enough that do not wait for each other."""
    return {"count": count, "chains": max(1, min(SUMS // (count * per_block), width))}


def scratch(node: ir.PackedLeaves, program: Program) -> int:
    """Bytes of the arrays inside the node's functions."""
    size, block = BYTES[program.number or "f64"], int(program.tables[node.vectors].shape[2])
    host = is_host(node, program)
    if node.rule == "sum":
        return DOUBLE + block * (DOUBLE + size) if host else 0
    columns, sums = most_columns(node, program), DOUBLE * most_sums(node, program)
    votes = INT * most_classes(node, program) if node.rule == "vote" else 0
    if not host:
        return sums + max(size * columns, votes)
    values = max(isa.row_blocks for isa in INSTRUCTION_SETS) * block * size
    return sums + max(values + size * (columns + -columns % block), votes)


def batch_scratch(node: ir.PackedLeaves, program: Program, types: Types) -> int:
    """Bytes of the arrays around a chunk of rows that is sorted by leaf; 0 where none is."""
    chunk, size = chunk_rows(node, program), BYTES[program.number or "f64"]
    if not chunk:
        return 0
    width, block = types[node.x].width, BLOCK_BYTES
    queries = max(isa.leaf_queries for isa in INSTRUCTION_SETS)
    per_query = size * (width + 1) + 2 * block + block // size * DOUBLE
    sorting = INT * (2 * chunk + types[node.leaf].width + 1)
    return size * chunk + sorting + size * width + queries * per_query


class PackedLeaves(KernelValues[ir.PackedLeaves]):
    """The sums of the row's leaf; rows of a batch are sorted by leaf."""

    parts = ("kernel", "input", "leaf_of")
    stores = ("vectors",)
    walks = in_vectors = in_batches = True

    @property
    def template(self) -> str:
        return "host/leaves" if is_host(self.node, self.program) else super().template

    @property
    def has_intrinsics(self) -> bool:
        return is_host(self.node, self.program) and self.node.shape in ("exp2", "tanh")

    @property
    def chunk(self) -> int:
        return chunk_rows(self.node, self.program)

    def fields(self) -> dict[str, Any]:
        node, program, number = self.node, self.program, self.number
        return super().fields() | {
            **leaves_context(node, program, self.types, number),
            "numbers": NUMBERS[number],
            "isas": leaf_instruction_sets(node, program, number, self.helper, self.name),
        }

    def idle(self) -> set[str]:
        return super().idle() | idle_tables(self.node)

    def helpers(self) -> set[str]:
        return set() if is_host(self.node, self.program) else super().helpers()

    def bodies(self) -> list[Body]:
        if not self.chunk:
            return []
        leaf = f"static size_t {self.part('leaf_of')}(const {real_of(self.program)} *x)"
        leaf_of = body(self.program, self.types, self.file.symbols, self.node.leaf, leaf)
        return [input_body(self, self.node.x), leaf_of]

    def scratch(self) -> int:
        return scratch(self.node, self.program)

    def batch_scratch(self, deepest: Callable[[str], int]) -> int:
        return batch_scratch(self.node, self.program, self.types)
