"""What the macros of `leaves.j2` need to know of the sums of leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.emit.c_host import power_steps
from svmcompile.emit.c_vectors import INSTRUCTION_SETS, InstructionSet, Shape, vector_names
from svmcompile.emit.literals import real
from svmcompile.ir.leaf_layout import packed_layout
from svmcompile.ir.leaf_meaning import ABSENT, LOWEST
from svmcompile.ir.nodes import PackedLeaves
from svmcompile.ir.program import Number, Program
from svmcompile.ir.rules import Types

DOUBLE, INT = 8, 4
SUMS = 8  # that a processor adds to at a time without waiting
SPILL = 8  # blocks after which lane sums go to double


def is_host(node: PackedLeaves, program: Program) -> bool:
    """Whether the code is written for each instruction set."""
    return int(program.tables[node.vectors].shape[2]) > 1


def idle_tables(node: PackedLeaves) -> set[str]:
    """Tables that say nothing in C: with one sum per leaf, what tells sums apart."""
    if node.rule != "sum":
        return set()
    return {node.members, node.firsts, node.ends, node.places, node.bias_firsts}


def most_sums(node: PackedLeaves, program: Program) -> int:
    """Sums of the leaf that has most; at least one, since C has no empty arrays."""
    return max(1, int(packed_layout(node, program.tables).sums.max()))


def most_columns(node: PackedLeaves, program: Program) -> int:
    """Weights of a vector in the leaf that has most."""
    return max(1, int(packed_layout(node, program.tables).columns.max()))


def most_classes(node: PackedLeaves, program: Program) -> int:
    """Classes of the leaf that has most."""
    return int(np.diff(program.tables[node.firsts].astype(np.int64)).max())


def leaves_context(node: PackedLeaves, program: Program, types: Types, number: Number) -> dict[str, Any]:
    """Sizes, and for host code blocks and steps."""
    blocks, width, lanes = program.tables[node.vectors].shape
    layout = packed_layout(node, program.tables)
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
        "host": lanes > 1,
        "lanes": int(lanes),
        "blocks": blocks,
        "columns": 1,
        "by_lane": True,
        "spill": SPILL,
        "halves": False,
        "table_type": "float" if number == "f32" else "double",
        "bits": "uint32_t" if number == "f32" else "uint64_t",
        "power_steps": power_steps(node.degree),
        "width": width,
        "given": False,
        "shape": node.shape,
        "offset": real(program.tables[node.offsets][0], number),
    }


def leaf_instruction_sets(
    node: PackedLeaves, program: Program, number: Number, function: str, name: str
) -> list[dict[str, Any]]:
    """Every instruction set with its vector types and the numbers of blocks it takes at once."""
    _, width, lanes = map(int, program.tables[node.vectors].shape)
    size = 4 if number == "f32" else 8
    most = max(1, int(np.diff(program.tables[node.starts].astype(np.int64)).max()))  # blocks of a leaf
    one_sum, columns = node.rule == "sum", most_columns(node, program)
    made: list[dict[str, Any]] = []
    for isa in INSTRUCTION_SETS if lanes > 1 else ():
        per_block = lanes * size // isa.bytes
        shape = Shape(per_block, int(one_sum), per_block)
        sizes = [2**power for power in range(min(isa.row_blocks, most).bit_length() - 1, -1, -1)]
        made.append(
            vector_names(isa, size, function, name)
            | {
                "by_tile": one_sum,
                "per_block": per_block,
                "gathered": per_block,
                "padded_columns": columns + -columns % (isa.bytes // size),
                "tiles": [_tile(isa, shape, count, width) for count in sizes],
            }
        )
    return made


def _tile(isa: InstructionSet, shape: Shape, count: int, width: int) -> dict[str, Any]:
    """One row and some blocks: as many chains of sums as make enough that do not wait for each other."""
    chains = max(1, min(SUMS // (count * shape.per_block), width))
    return {
        "count": count,
        "chains": chains,
        "whole": width // chains * chains,  # features that the chains take in turn
        "steps": shape.row_steps(count, isa.in_step),
    }


def scratch(node: PackedLeaves, program: Program) -> int:
    """Bytes of the arrays inside the node's functions."""
    size, block = 4 if program.number == "f32" else 8, int(program.tables[node.vectors].shape[2])
    host = is_host(node, program)
    if node.rule == "sum":
        return DOUBLE + block * (DOUBLE + size) if host else 0
    columns, sums = most_columns(node, program), DOUBLE * most_sums(node, program)
    votes = INT * most_classes(node, program) if node.rule == "vote" else 0
    if not host:
        return sums + max(size * columns, votes)
    values = max(isa.row_blocks for isa in INSTRUCTION_SETS) * block * size
    return sums + max(values + size * (columns + -columns % block), votes)
