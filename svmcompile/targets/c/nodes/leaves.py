"""The sums of leaves in C; what the macros of `leaves.j2` and `host/leaves.j2` need to know."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from svmcompile.ir.leaf_layout import ABSENT, LOWEST, PackedLayout, packed_layout
from svmcompile.ir.node import At
from svmcompile.targets.c.api import Body, body, real_of
from svmcompile.targets.c.literals import NUMBERS
from svmcompile.targets.c.node import DOUBLE, INT
from svmcompile.targets.c.nodes.sums import BLOCK_BYTES, KernelValues, goes_alone, input_body, power_steps
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, vector_names

CHUNK = 1024  # rows that are sorted at a time
MOST_LEAVES = 4096  # that are counted on the stack
MOST_FEATURES = 2048  # of the rows of a tile, which stand on the stack
FEW_ROWS = 4  # so few rows of a leaf go one by one
LEAST_BYTES = 8 * 1024  # of the largest leaf
SUMS = 8  # that a processor adds to at a time without waiting
SPILL = 8  # blocks after which lane sums go to double


def _tile(count: int, per_block: int, width: int) -> dict[str, int]:
    """One row and some blocks: as many chains of sums as make enough that do not wait for each other."""
    return {"count": count, "chains": max(1, min(SUMS // (count * per_block), width))}


class PackedLeaves(KernelValues[Any]):
    """The sums of the row's leaf; rows of a batch are sorted by leaf."""

    parts = ("kernel", "input", "leaf_of")
    stores: ClassVar[tuple[str, ...]] = ("vectors",)
    walks = in_vectors = in_batches = True

    @cached_property
    def layout(self) -> PackedLayout:
        """Vectors, sums and columns of each leaf."""
        return packed_layout(At(self.node, self.tables), self.shape[2])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Blocks, features, and vectors of a block."""
        blocks, width, lanes = map(int, self.tables[self.node.vectors].shape)
        return blocks, width, lanes

    @property
    def is_host(self) -> bool:
        """Whether the code is written for each instruction set."""
        return self.shape[2] > 1

    @property
    def most_sums(self) -> int:
        """Sums of the leaf that has most; at least one, since C has no empty arrays."""
        return max(1, int(self.layout.sums.max()))

    @property
    def most_columns(self) -> int:
        """Weights of a vector in the leaf that has most."""
        return max(1, int(self.layout.columns.max()))

    @property
    def most_classes(self) -> int:
        """Classes of the leaf that has most."""
        return int(np.diff(self.tables[self.node.firsts].astype(np.int64)).max())

    @property
    def template(self) -> str:
        return "host/leaves" if self.is_host else super().template

    @property
    def has_intrinsics(self) -> bool:
        return self.is_host and self.node.shape in ("exp2", "tanh")

    @property
    def chunk(self) -> int:
        """How many rows of a batch are sorted by leaf, so that rows share what is read.

        That pays as soon as leaves have some vectors to read.
        """
        vectors, (_, width, _) = self.layout.vectors, self.shape
        if self.node.rule != "sum" or not self.is_host or goes_alone(self.program):
            return 0
        largest = int(vectors.max()) * width * self.size
        fits = len(vectors) <= MOST_LEAVES and width <= MOST_FEATURES
        return CHUNK if fits and largest >= LEAST_BYTES else 0

    def fields(self) -> dict[str, Any]:
        node, vectors, (blocks, width, lanes) = self.node, self.layout.vectors, self.shape
        return super().fields() | {
            "rule": node.rule,
            "classes": node.classes,
            "leaves": self.types[node.leaf].width,
            "vector_count": int(vectors.sum()),
            "most_vectors": int(vectors.max()),
            "scores": self.out_width,
            "most_sums": self.most_sums,
            "most_columns": self.most_columns,
            "most_classes": self.most_classes,
            "absent": self.literal(ABSENT if node.rule == "vote" else LOWEST),
            "constant_leaves": bool((vectors == 0).any()),
            "lanes": lanes,
            "blocks": blocks,
            "chunk": self.chunk,
            "few": FEW_ROWS,
            "input_width": self.program.n_features,
            "columns": 1,
            "by_lane": True,
            "by_tile": node.rule == "sum",
            "gathered": lanes,
            "spill": SPILL,
            "load": "load",
            "table_type": "float" if self.number == "f32" else "double",
            "bits": NUMBERS[self.number]["bits"],
            "power_steps": power_steps(node.degree),
            "width": width,
            "numbers": NUMBERS[self.number],
            "isas": self._instruction_sets() if self.is_host else [],
        }

    def _instruction_sets(self) -> list[dict[str, Any]]:
        """Every instruction set with its vector types and the numbers of blocks it takes at once."""
        width, columns = self.shape[1], self.most_columns
        most = max(
            1, int(np.diff(self.tables[self.node.starts].astype(np.int64)).max())
        )  # blocks of a leaf
        sets: list[dict[str, Any]] = []
        for isa in INSTRUCTION_SETS:
            per_block = BLOCK_BYTES // isa.bytes
            counts = [2**power for power in range(min(isa.row_blocks, most).bit_length() - 1, -1, -1)]
            tiles = [_tile(count, per_block, width) for count in counts]
            own = {
                "per_block": per_block,
                "gathered": per_block,
                "padded_columns": columns + -columns % (isa.bytes // self.size),
                "tiles": tiles,
                "most_sums": max(tile["count"] * tile["chains"] for tile in tiles) * per_block,
                "tile_blocks": 1,
                "queries": isa.leaf_queries,
            }
            sets.append(vector_names(isa, self.size, self.helper, self.name) | own)
        return sets

    def idle(self) -> set[str]:
        node = self.node
        if node.rule != "sum":
            return super().idle()
        return super().idle() | {node.members, node.firsts, node.ends, node.places, node.bias_firsts}

    def helpers(self) -> set[str]:
        return set() if self.is_host else super().helpers()

    def bodies(self) -> list[Body]:
        if not self.chunk:
            return []
        leaf = f"static size_t {self.part('leaf_of')}(const {real_of(self.program)} *x)"
        leaf_of = body(self.program, self.types, self.file.symbols, self.node.leaf, leaf)
        return [input_body(self, self.node.x), leaf_of]

    def scratch(self) -> int:
        size, block = self.size, self.shape[2]
        if self.node.rule == "sum":
            return DOUBLE + block * (DOUBLE + size) if self.is_host else 0
        columns, sums = self.most_columns, DOUBLE * self.most_sums
        votes = INT * self.most_classes if self.node.rule == "vote" else 0
        if not self.is_host:
            return sums + max(size * columns, votes)
        values = max(isa.row_blocks for isa in INSTRUCTION_SETS) * block * size
        return sums + max(values + size * (columns + -columns % block), votes)

    def batch_scratch(self, deepest: Callable[[str], int]) -> int:
        if not self.chunk:
            return 0
        size, width, block = self.size, self.types[self.node.x].width, BLOCK_BYTES
        queries = max(isa.leaf_queries for isa in INSTRUCTION_SETS)
        per_query = size * (width + 1) + 2 * block + block // size * DOUBLE
        sorting = INT * (2 * self.chunk + self.types[self.node.leaf].width + 1)
        return size * self.chunk + sorting + size * width + queries * per_query


class SparseLeaves(PackedLeaves):
    """The same over vectors without their zeros: each looks up its features in the row."""

    stores = ("vector_starts", "features", "entries")
    in_vectors = in_batches = False

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.vector_count, self.types[self.node.x].width, 1

    @property
    def vector_count(self) -> int:
        return len(self.tables[self.node.vector_starts]) - 1

    def helpers(self) -> set[str]:
        return super().helpers() - {"dot"}
