"""Kernel sums in C: vector after vector, or in tiles for vector instructions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Any, TypeVar, cast

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BYTES, LONG, SEGMENT, Number
from svmcompile.ir.graph import leading_to
from svmcompile.ir.kernel import SPARSE_ZEROS
from svmcompile.ir.kinds import OWN_OFFSETS
from svmcompile.ir.layout import vectors_and_lanes
from svmcompile.ir.nodes import lazy_operands, operands
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Body, body, needed, real_of, taken_over
from svmcompile.targets.c.literals import NUMBERS, wrap
from svmcompile.targets.c.node import DOUBLE, INT, SIZE, CNode, c_class
from svmcompile.targets.c.profiles import FAR, INSTRUCTION_SETS, instruction_sets, weights_layout

SCRATCH_BYTES = 192 * 1024  # on the stack, for the rows of one chunk: some threads have 256 KB
MOST_SPARSE_FEATURES = 1 << 15  # as many numbers may stand on the stack
FEW_ROWS = 4  # so few rows go one by one
MOST_SCRATCH_BYTES = 512 * 1024  # for the fewest rows of a chunk, where they are wide
MOST_ROWS = 96
ROW_STEP = 12  # a whole number of tiles for every instruction set
LANE_SPILL = 8  # blocks after which lane sums go to double
COLUMN_SPILL = 8  # blocks after which column sums do


def tiled_layout(node: ir.TiledSum, program: Program, number: Number) -> dict[str, Any]:
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
    }


def blocked_layout(node: ir.TiledSum | ir.SparseSum, program: Program, number: Number) -> dict[str, Any]:
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


def chunk_rows(node: ir.TiledSum, program: Program, number: Number) -> int:
    """How many rows a chunk has: whole tiles whose scratch stays small; 0 where even one is too large."""
    if batched_sum(program) is not node:
        return 0
    by_lane, columns, padded = weights_layout(node, program)
    size, width = BYTES[number], program.tables[node.vectors].shape[1]
    gathered = (size + 8) * (64 // size * columns if by_lane else padded)
    if takes_sparse(node, program):
        gathered += int(width) * (4 + size)  # a row's non-zero features and where they are
    per_row = size * (int(width) + 1) + (8 + size) * len(program.tables[node.bias]) + gathered
    if ROW_STEP * per_row > MOST_SCRATCH_BYTES:
        return 0
    return max(ROW_STEP, min(MOST_ROWS, SCRATCH_BYTES // per_row) // ROW_STEP * ROW_STEP)


def goes_alone(program: Program) -> bool:
    """Whether each row goes by itself: ways or number types differ, or one sum is not the whole way."""
    return batched_sum(program) is None


def batched_sum(program: Program) -> ir.Node | None:
    """The one sum that is the whole way of every row; a label behind it may need the row as well."""
    goals = [output.value for output in program.outputs]
    nodes = leading_to(program.body, goals, lazy=False)
    sums = [node for node in nodes if c_class(node).in_batches]
    last = [node for node in nodes if c_class(node).behind_sums]
    lazy = any(lazy_operands(node) for node in nodes if node not in last)
    if len(sums) != 1 or lazy or any(c_class(node).widens for node in nodes):
        return None
    for_label = {name for node in last for name in operands(node)}
    aside = {*last, *leading_to(program.body, for_label - {sums[0].out}, lazy=False)}
    behind = [node for goal in goals for node in needed(program, goal, {sums[0].out})]
    alone = any(program.input.name in operands(node) for node in behind if node not in aside)
    return None if alone else sums[0]


def takes_sparse(node: ir.TiledSum, program: Program) -> bool:
    """Whether a row may be given by its non-zero features."""
    return batched_sum(program) is node and skips_zeros(node, program)


def is_last_resort(node: ir.TiledSum, program: Program) -> bool:
    """Whether hardly any row needs it, so that code for one instruction set is enough."""
    readers = [item for item in program.body if node.out in operands(item)]
    return bool(readers) and all(c_class(item).seldom_unsure for item in readers)


def skips_zeros(node: ir.TiledSum, program: Program) -> bool:
    """Whether code may pass over zeros: products alone count, few vectors fill a row, nothing shifts it."""
    if node.shape == "distance" or is_last_resort(node, program):
        return False
    prepare = _prepare(node, program)
    as_given = {program.input.name, *(item.out for item in program.body if c_class(item).widens)}
    if prepare.x not in as_given or program.tables[prepare.shift].any():
        return False
    vectors = program.tables[node.vectors]
    filled = np.count_nonzero(vectors) / max(1, sum(node.counts) * vectors.shape[1])
    return bool(filled <= 1 - SPARSE_ZEROS) and vectors.shape[1] <= MOST_SPARSE_FEATURES


def _ends(node: ir.TiledSum | ir.SparseSum, lanes: int, by_lane: bool) -> list[int]:
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


def _prepare(node: ir.TiledSum, program: Program) -> ir.Prepare:
    """The node that scales the row of a tiled sum."""
    return cast(ir.Prepare, next(item for item in program.body if item.out == node.x))


BLOCK = 16  # kernel values summed up in the number type before they go to double
BLOCK_BYTES = 64
SHAPE_FUNCTIONS = {
    "exp2": "exp2",
    "distance": "exp2",
    "tanh": "tanh",
    "cosine": "cosine",
    "power": "power",
    "identity": "",
    "given": "",
}

Values = Any  # ir.PackedSum, PackedPath, PackedLeaves or SparseLeaves
Shapes = Values | ir.TiledSum | ir.SparseSum
S = TypeVar("S", bound=Shapes)
V = TypeVar("V", bound=Values)


class Shaped(CNode[S]):
    """Kernel values are a function of dot products with folded tables."""

    def fields(self) -> dict[str, Any]:
        node = self.node
        function = SHAPE_FUNCTIONS[node.shape]
        return {
            "shape": node.shape,
            "shape_function": f"{self.helper}_{function}" if function else "",
            "argument": f", {node.degree}" if node.shape == "power" else "",
            "offset": self.literal(0.0 if node.shape in OWN_OFFSETS else self.tables[node.offsets][0]),
            "sums": self.out_width,
            "block_size": BLOCK,
        }

    def idle(self) -> set[str]:
        return {self.node.offsets} if self.node.shape not in OWN_OFFSETS else set()

    def shape_helpers(self) -> set[str]:
        """What makes a kernel value of a dot product."""
        called = {"exp2", "tanh"} if self.node.shape == "tanh" else {SHAPE_FUNCTIONS[self.node.shape]}
        return called - {""}

    def gathered(self) -> int:
        """Bytes of one row's sums, and of those in double that they go to."""
        weights = self.tables[self.node.weights]
        lanes = BLOCK_BYTES // self.size if weights.ndim == 3 else 1
        return int(weights.shape[1]) * lanes * (self.size + DOUBLE)


class KernelValues(Shaped[V]):
    """Kernel values one by one."""

    adds_up = True

    @property
    def vector_count(self) -> int:
        return int(self.tables[self.node.vectors].shape[0])

    @property
    def picks(self) -> bool:  # type: ignore[override]
        return self.node.shape in ("exp2", "distance")

    def fields(self) -> dict[str, Any]:
        given, unit = self.node.shape == "given", self.file.units.get(self.node.out, 1.0)
        return super().fields() | {
            "given": given,
            "values": "kernel, query" if given else "x, row",
            "vector_count": self.vector_count,
            "single": False,
            "folded": self.node.offsets in self.file.folded,
            "times_unit": "" if unit == 1.0 else f" * {self.literal(unit)}",
            "half_unit": self.literal(0.5 * unit * unit),
            "row_norm": f"{self.helper}_row",
            "fade": f"{self.helper}_fade",
            "raised": f"{self.helper}_raise",
            "far": self.literal(FAR),
            "distance": f"{self.helper}_distance",
        }

    def helpers(self) -> set[str]:
        reads = {"given": set(), "distance": {"distance"}}.get(self.node.shape, {"dot"})
        called = super().helpers() | reads
        if self.node.shape == "exp2" and self.is_narrow:  # norms have gone into weights, or not
            return called | {"row", "raise" if self.node.offsets in self.file.folded else "fade"}
        return called | self.shape_helpers()


class Prepare(CNode[ir.Prepare]):
    """A row is scaled for the sum that reads it."""

    picks = keeps_time = True

    def fields(self) -> dict[str, Any]:
        lanes = 4 if self.number == "f32" else 2
        return {
            "limit": self.literal(self.node.limit),
            "bits": NUMBERS[self.number]["bits"],
            "sign_bit": NUMBERS[self.number]["sign_bit"],
            "lanes": lanes,
            "whole": self.out_width // lanes * lanes,
        }


class PackedSum(KernelValues[ir.PackedSum]):
    """Vector after vector; weights go to their sums in blocks."""

    parts = ("kernel", "block")
    stores = ("vectors",)

    @property
    def keeps_time(self) -> bool:  # type: ignore[override]
        return self.node.shape not in ("tanh", "given")

    @property
    def columns(self) -> int:
        return int(self.tables[self.node.weights].shape[1])

    def fields(self) -> dict[str, Any]:
        alone = not self.node.counts and self.node.shape != "given" and self.columns == 1
        return super().fields() | {
            "single": self.is_narrow and alone,  # which has code of its own
            "columns": self.columns,
            "counts": self.node.counts,
            "classes": len(self.node.counts),
            "ends": ", ".join(map(str, accumulate(self.node.counts))),
        }

    def scratch(self) -> int:
        return DOUBLE * self.out_width + self.size * self.columns


class TiledSum(Shaped[ir.TiledSum]):
    """Tiles of rows by blocks of vectors, for each instruction set."""

    parts = ("ends", "input")
    stores = ("vectors",)
    in_vectors = in_batches = True
    template = "host/sums"

    @property
    def has_intrinsics(self) -> bool:
        halves = self.tables[self.node.vectors].dtype == np.float16
        return bool(halves) or self.node.shape in ("exp2", "distance", "tanh")

    @property
    def chunk(self) -> int:
        return chunk_rows(self.node, self.program, self.program.number or "f64")

    @property
    def takes_sparse_rows(self) -> bool:
        return takes_sparse(self.node, self.program) and "sparse" in self.file.parts

    def fields(self) -> dict[str, Any]:
        node, program, number = self.node, self.program, self.number
        prepare = _prepare(node, program)
        sets = instruction_sets(node, program, number, self.helper, self.name)
        return super().fields() | {
            "factor": self.table(prepare.factor),
            "limit": self.literal(prepare.limit),
            "isas": sets[-1:] if is_last_resort(node, program) else sets,
            "numbers": NUMBERS[number],
            "input_width": program.n_features,
            **tiled_layout(node, program, number),
            "sparse_rows": self.takes_sparse_rows,
        }

    def bodies(self) -> list[Body]:
        return [input_body(self, self.node.x)] if self.chunk else []

    def scratch(self) -> int:
        dots = max(isa.row_blocks for isa in INSTRUCTION_SETS) * BLOCK_BYTES
        return DOUBLE * self.out_width + dots + self.gathered() + self._picks()

    def batch_scratch(self, deepest: Callable[[str], int]) -> int:
        rows, size, width = self.chunk, self.size, self.width
        if not rows:
            return 0
        tile = max(isa.queries * isa.tile_blocks for isa in INSTRUCTION_SETS) * BLOCK_BYTES
        sparse = takes_sparse(self.node, self.program)
        packed = max(size * width, self._picks())
        per_row = packed + size + self.gathered() + (DOUBLE + size) * self.out_width
        return (
            rows * per_row
            + (rows * SIZE if sparse else 0)
            + (1 if sparse else 2) * self._prepared(deepest)  # of few rows, of many
            + tile
        )

    def _prepared(self, deepest: Callable[[str], int]) -> int:
        """Bytes of a row that is prepared by a function of its own, and of what comes before."""
        own, prepare = self.size * self.width, _prepare(self.node, self.program)
        in_place = taken_over(self.program, self.types, prepare)
        return max(own, deepest(prepare.out)) + (own if in_place else 0)

    def _picks(self) -> int:
        """Bytes of one row's non-zero features, where they are looked for."""
        width = int(self.tables[self.node.vectors].shape[1])
        return width * (INT + self.size) if skips_zeros(self.node, self.program) else 0


def input_body(of: CNode[Any], x: str) -> Body:
    """What prepares a row for a sum, as one function."""
    real = real_of(of.program)
    inline = "static inline __attribute__((always_inline)) void"
    declaration = f"{inline} {of.part('input')}(const {real} *x, {real} *z)"
    return body(of.program, of.types, of.file.symbols, x, declaration, "z")
