"""What the macros of `leaves.j2` need to know of the sums of leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.emit.c_host import power_steps
from svmcompile.emit.c_vectors import INSTRUCTION_SETS, Shape, vector_names
from svmcompile.emit.literals import real
from svmcompile.ir.leaf_layout import packed_layout
from svmcompile.ir.leaf_meaning import ABSENT, LOWEST
from svmcompile.ir.nodes import PackedLeaves
from svmcompile.ir.program import Number, Program
from svmcompile.ir.rules import Types

SPILL = 8  # blocks after which lane sums go to double
VECTOR_BYTES = 16  # of the weights of a vector, taken together


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
    """Weights of a vector, filled up, in the leaf that has most."""
    return max(node.step, int(packed_layout(node, program.tables).padded.max()))


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
        "step": node.step,
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
        "step_bytes": VECTOR_BYTES,
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
    lanes, size = int(program.tables[node.vectors].shape[2]), 4 if number == "f32" else 8
    most = max(1, int(np.diff(program.tables[node.starts].astype(np.int64)).max()))  # blocks of a leaf
    one_sum = node.rule == "sum"
    made = []
    for isa in INSTRUCTION_SETS:
        per_block = lanes * size // isa.bytes
        shape = Shape(per_block, int(one_sum), per_block)
        sizes = [2**power for power in range(min(isa.row_blocks, most).bit_length() - 1, -1, -1)]
        made.append(
            vector_names(isa, size, function, name)
            | {
                "by_tile": one_sum,
                "per_block": per_block,
                "gathered": per_block,
                "sizes": [(count, shape.row_steps(count, isa.in_step)) for count in sizes],
            }
        )
    return made


def scratch(node: PackedLeaves, program: Program) -> int:
    """Bytes of the arrays inside the node's functions."""
    size = 4 if program.number == "f32" else 8
    sums, columns = most_sums(node, program), most_columns(node, program)
    if not is_host(node, program):
        return 0 if node.rule == "sum" else 8 * sums + size * columns
    block = int(program.tables[node.vectors].shape[2])
    if node.rule == "sum":
        return 8 + block * (8 + size) + 8
    values = max(isa.row_blocks for isa in INSTRUCTION_SETS) * block * size
    return 8 * sums + values + 8 * columns
