"""What the macros of `host.j2` need to know of a sum: blocks, classes and chunks."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from svmcompile.emit.c_api import needed
from svmcompile.emit.literals import wrap
from svmcompile.ir.inverted import vectors_and_lanes
from svmcompile.ir.nodes import PackedLeaves, Prepare, SparseSum, TiledSum, Widen, lazy_operands, operands
from svmcompile.ir.program import Number, Program
from svmcompile.ir.stages import LONG, SEGMENT
from svmcompile.kernel import SPARSE_ZEROS

SCRATCH_BYTES = 256 * 1024  # on the stack, for the rows of one chunk
MOST_SPARSE_FEATURES = 1 << 15  # as many numbers may stand on the stack
FEW_ROWS = 4  # so few rows go one by one
MOST_SCRATCH_BYTES = 512 * 1024
MOST_ROWS = 96
ROW_STEP = 12  # a whole number of tiles for every instruction set
LANE_SPILL = 8  # blocks after which lane sums go to double
COLUMN_SPILL = 8  # blocks after which column sums do


def tiled_layout(node: TiledSum, program: Program, number: Number) -> dict[str, Any]:
    """Blocks, classes and chunks of one tiled sum."""
    halves = program.tables[node.vectors].dtype == np.float16
    return {
        **blocked_layout(node, program, number),
        "load": "load_half" if halves else "load",
        "table_type": "uint16_t" if halves else ("float" if number == "f32" else "double"),
        "chunk": chunk_rows(node, program, number),
        "few": FEW_ROWS,
        "segment": SEGMENT if program.tables[node.vectors].shape[1] >= LONG else 0,
        "sparse": skips_zeros(node, program),
        "row": "picks, z, filled" if skips_zeros(node, program) else "z",
        "sparse_rows": takes_sparse(node, program),
    }


def blocked_layout(node: TiledSum | SparseSum, program: Program, number: Number) -> dict[str, Any]:
    """Blocks, classes and weights of one sum."""
    vectors, lanes = vectors_and_lanes(program.tables[node.weights])
    by_lane, columns, padded = weights_layout(node, program)
    ends = _ends(node, lanes, by_lane)
    return {
        "bits": "uint32_t" if number == "f32" else "uint64_t",
        "lanes": lanes,
        "blocks": vectors // lanes,
        "by_lane": by_lane,
        "by_tile": by_lane and len(ends) == 1,  # one class, whose weights are taken tile by tile
        "columns": columns,
        "gathered": columns * lanes if by_lane else padded,
        "padded": padded,
        "classes": len(ends),
        "end_list": ", ".join(map(str, ends)),
        "end_lines": wrap(map(str, ends)),
        "per_end": "" if by_lane else f" * {lanes}",
        "spill": LANE_SPILL if by_lane else COLUMN_SPILL,
        "power_steps": power_steps(node.degree),
    }


def weights_layout(node: TiledSum | SparseSum, program: Program) -> tuple[bool, int, int]:
    """Whether weights lie by lane, how many a vector has, and how many its row in the table holds."""
    weights = program.tables[node.weights]
    columns = len(node.counts) - 1 or len(program.tables[node.bias])
    return weights.ndim == 3, columns, weights.shape[1]


def chunk_rows(node: TiledSum, program: Program, number: Number) -> int:
    """How many rows a chunk has: whole tiles whose scratch stays small; 0 where even one is too large."""
    if goes_alone(program):
        return 0
    by_lane, columns, padded = weights_layout(node, program)
    size, width = 4 if number == "f32" else 8, program.tables[node.vectors].shape[1]
    gathered = (size + 8) * (64 // size * columns if by_lane else padded)
    if takes_sparse(node, program):
        gathered += int(width) * (4 + size)  # a row's non-zero features and where they are
    per_row = size * (int(width) + 1) + (8 + size) * len(program.tables[node.bias]) + gathered
    if ROW_STEP * per_row > MOST_SCRATCH_BYTES:
        return 0
    return max(ROW_STEP, min(MOST_ROWS, SCRATCH_BYTES // per_row) // ROW_STEP * ROW_STEP)


def goes_alone(program: Program) -> bool:
    """Whether each row goes by itself: ways or number types differ, or one sum is not the whole way."""
    sums = [node for node in program.body if isinstance(node, (TiledSum, SparseSum, PackedLeaves))]
    if len(sums) != 1 or any(lazy_operands(node) or isinstance(node, Widen) for node in program.body):
        return True
    behind = [node for output in program.outputs for node in needed(program, output.value, {sums[0].out})]
    return any(program.input.name in operands(node) for node in behind)


def takes_sparse(node: TiledSum, program: Program) -> bool:
    """Whether a row may be given by its non-zero features."""
    return not goes_alone(program) and skips_zeros(node, program)


def skips_zeros(node: TiledSum, program: Program) -> bool:
    """Whether code may pass over zeros: few vectors fill a row, and nothing shifts it."""
    prepare = next(item for item in program.body if item.out == node.x)
    assert isinstance(prepare, Prepare)
    as_given = {program.input.name, *(item.out for item in program.body if isinstance(item, Widen))}
    if prepare.x not in as_given or program.tables[prepare.shift].any():
        return False
    vectors = program.tables[node.vectors]
    filled = np.count_nonzero(vectors) / max(1, sum(node.counts) * vectors.shape[1])
    return bool(filled <= 1 - SPARSE_ZEROS) and vectors.shape[1] <= MOST_SPARSE_FEATURES


def _ends(node: TiledSum | SparseSum, lanes: int, by_lane: bool) -> list[int]:
    """Where each class ends, in blocks or in vectors."""
    return list(accumulate(-(-count // lanes) if by_lane else count for count in node.counts))


def power_steps(degree: int) -> list[str]:
    """Repeated squaring, in the order LIBSVM multiplies."""
    steps = []
    while degree > 0:
        if degree % 2:
            steps.append("result = result * t")
        degree //= 2
        if degree:
            steps.append("t = t * t")
    return steps
