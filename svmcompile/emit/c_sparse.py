"""What the macros of `sparse.j2` need to know: segments, and where features are found."""

from __future__ import annotations

from typing import Any

from svmcompile.emit.c_host import blocked_layout
from svmcompile.ir.inverted import vectors_and_lanes
from svmcompile.ir.nodes import SparseSum
from svmcompile.ir.program import Number, Program

PICKS = 64  # features of a row that are collected before their entries are looked up
SKIP_BYTES = 64  # of a row, passed over at once where all are zero


def is_host(node: SparseSum, program: Program) -> bool:
    """Whether weights lie for vector instructions."""
    return vectors_and_lanes(program.tables[node.weights])[1] > 1


def sparse_layout(node: SparseSum, program: Program, number: Number) -> dict[str, Any]:
    """Segments and features of one sparse sum, and its blocks."""
    vectors, _ = vectors_and_lanes(program.tables[node.weights])
    segments, ends = program.tables[node.starts].shape
    return {
        **blocked_layout(node, program, number),
        "host": is_host(node, program),
        "vectors": vectors,
        "segment": min(node.segment, vectors),
        "segments": segments,
        "stride": ends,
        "picks": PICKS,
        "skip": SKIP_BYTES // (4 if number == "f32" else 8),
    }
