"""Kernel sums in C by the features of a row: vectors are stored without their zeros."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.ir.layout import vectors_and_lanes
from svmcompile.ir.program import Program
from svmcompile.targets.c.literals import NUMBERS
from svmcompile.targets.c.node import DOUBLE, INT
from svmcompile.targets.c.nodes.sums import Shaped, blocked_layout
from svmcompile.targets.c.profiles import instruction_sets

PICKS = 64  # features of a row that are collected before their entries are looked up
SKIP_BYTES = 64  # of a row, passed over at once where all are zero


class SparseSum(Shaped[ir.SparseSum]):
    """Features of the row that are not zero look up who has them, segment by segment."""

    parts = ("ends",)
    stores = ("marks", "ranks", "starts", "indices", "values")
    in_vectors = in_batches = by_feature = True

    @property
    def takes_sparse_rows(self) -> bool:
        return self.node.x == self.program.input.name and "sparse" in self.file.parts

    @property
    def template(self) -> str:
        return "host/sparse" if is_sparse_host(self.node, self.program) else "portable/sparse"

    @property
    def has_intrinsics(self) -> bool:
        return is_sparse_host(self.node, self.program) and self.node.shape in ("exp2", "tanh")

    def fields(self) -> dict[str, Any]:
        node, program, factor = self.node, self.program, self.tables[self.node.factor]
        known = super().fields() | {
            "one_factor": self.literal(factor[0]) if factor.size == 1 else "",
            "limit": self.literal(node.limit),
            "numbers": NUMBERS[self.number],
            **sparse_layout(node, program, self.number),
        }
        if is_sparse_host(node, program):
            known["isas"] = instruction_sets(node, program, self.number, self.helper, self.name)
        return known

    def idle(self) -> set[str]:
        alone = {self.node.factor} if self.tables[self.node.factor].size == 1 else set()
        return super().idle() | alone

    def helpers(self) -> set[str]:
        return set() if is_sparse_host(self.node, self.program) else self.shape_helpers()

    def scratch(self) -> int:
        weights, host = self.tables[self.node.weights], is_sparse_host(self.node, self.program)
        vectors, _ = vectors_and_lanes(weights)
        gathered = self.gathered() if host else self.size * int(weights.shape[1])
        collected = PICKS * (INT + self.size) + self.size * min(self.node.segment, vectors)
        return DOUBLE * self.out_width + collected + gathered


def is_sparse_host(node: ir.SparseSum, program: Program) -> bool:
    """Whether weights lie for vector instructions."""
    return vectors_and_lanes(program.tables[node.weights])[1] > 1


def sparse_layout(node: ir.SparseSum, program: Program, number: Number) -> dict[str, Any]:
    """Segments and features of one sparse sum, and its blocks."""
    vectors, _ = vectors_and_lanes(program.tables[node.weights])
    segments, ends = program.tables[node.starts].shape
    return {
        **blocked_layout(node, program, number),
        "host": is_sparse_host(node, program),
        "vectors": vectors,
        "segment": min(node.segment, vectors),
        "segments": segments,
        "stride": ends,
        "picks": PICKS,
        "skip": SKIP_BYTES // BYTES[number],
    }
