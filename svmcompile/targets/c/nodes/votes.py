"""Votes in C, from bounded sums of pairs or from Taylor polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.layout import filled_up, triangle_size
from svmcompile.targets.c.api import Body
from svmcompile.targets.c.literals import LOWEST, real, wrap
from svmcompile.targets.c.node import DOUBLE, INT, SIZE
from svmcompile.targets.c.nodes.bounded import Bounded
from svmcompile.targets.c.nodes.sums import input_body
from svmcompile.targets.c.profiles import plain_instruction_sets

MOST_ROWS, STORED_BYTES = 1024, 1 << 18  # of a chunk: rows, and bytes of them as prepared
LONG = 1024  # features: longer rows are prepared anew where they are needed
GROUP = 64  # rows that go through an order together
MOST_TILE = 8  # rows whose kernel values are made together
MOST_CLASSES = 64  # whose pairs are bits of a number
MOST_MEMBERS = 8192  # vectors of a class


def _column_blocks(counts: list[int], lanes: int) -> list[int]:
    """How many blocks of columns are summed up at a time: two, or one for what is left."""
    blocks = [-(-count // lanes) for count in counts]
    return [2] * any(one > 1 for one in blocks) + [1] * any(one % 2 for one in blocks)


class BoundedVote(Bounded[ir.BoundedVote]):
    """Pairs are settled one after the other, each in stages."""

    parts = ("kernel", "value", "pair", "rest", "size", "triangles", "stages", "members")
    host_template = "host/votes"

    @property
    def sizes(self) -> NDArray[Any]:
        """Vectors of the basis of each pair."""
        return np.diff(self.tables[self.node.starts].astype(np.int64))

    def fields(self) -> dict[str, Any]:
        node, sizes, indent = self.node, self.sizes, " " * 8
        triangles = np.cumsum([0, *(triangle_size(int(size), self.lanes) for size in sizes)])
        stages = np.cumsum(np.concatenate([[0], -(-sizes // node.block)]))
        return super().fields() | {
            "classes": len(node.counts),
            "pairs": len(sizes),
            "tolerance": "",
            "most": int(sizes.max()),
            "room": self.room(int(sizes.max())),
            "block": node.block,
            "projects": True,
            "triangle_list": wrap(map(str, triangles[:-1]), indent),
            "stage_list": wrap(map(str, stages[:-1]), indent),
            "class_list": wrap(map(str, np.cumsum([0, *node.counts]) // self.lanes), indent),
            "lowest": LOWEST[self.number],
        }

    def idle(self) -> set[str]:
        return {self.node.picks} if self.is_host else set()

    def scratch(self) -> int:
        classes, vectors = len(self.node.counts), int(self.tables[self.node.weights].shape[1])
        most = self.room(int(self.sizes.max()))
        state = (INT + 1) * classes + len(self.tables[self.node.bias]) + self.size * (vectors + most)
        return state + (classes + INT if self.is_host else vectors)


class TaylorVote(Bounded[ir.TaylorVote]):
    """Polynomials of all classes name a champion, which then defends itself."""

    parts = ("kernel", "guess", "rest", "closely", "direct", "sure", "defend", "members", "input")
    reads_two_tables = False
    gives_labels = True

    @property
    def helpers_in_double(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset() if self.is_host else frozenset({"exp2"})  # hosts have one of vectors

    @property
    def template(self) -> str:
        return "host/taylor_votes" if self.is_host else "portable/taylor_votes"

    @property
    def has_picks(self) -> bool:
        """Whether direct sums pass over zeros: with vector instructions, where rows are mostly zeros."""
        return self.is_host and bool(self.tables[self.node.norms].any())

    @property
    def has_tests(self) -> bool:
        """Whether a class has more than one centre."""
        return self.tables[self.node.planes].ndim > 1

    @property
    def turned(self) -> int:
        """Coordinates along axes, in whole blocks."""
        return filled_up(self.node.rank, self.lanes)

    @property
    def wide_row(self) -> int:
        """Numbers of a prepared row, in whole blocks."""
        return filled_up(self.width, self.lanes)

    @property
    def chunk(self) -> int:
        """How many rows of a batch meet their champions' centres together; 0 where they go one by one."""
        node, outputs = self.node, [output.value for output in self.program.outputs]
        fits = len(node.counts) <= MOST_CLASSES and max(node.counts) <= MOST_MEMBERS
        if not (self.is_host and outputs == [node.out] and fits and self._centres_in_turn()):
            return 0
        stored = STORED_BYTES // (self.size * self.wide_row) // 8 * 8
        return MOST_ROWS if self.width > LONG else min(MOST_ROWS, stored)

    def _centres_in_turn(self) -> bool:
        """Whether every class has centres of its own, numbered class by class."""
        roots, children = (self.tables[name].astype(int) for name in (self.node.roots, self.node.children))
        end = 0
        for root in roots.tolist():
            ways, found = [root], set[int]()
            while ways:
                at = ways.pop()
                if at < 0:
                    found.add(~at)
                else:
                    ways += children[at].tolist()
            if min(found) < end:
                return False
            end = max(found) + 1
        return True

    def bodies(self) -> list[Body]:
        return [input_body(self, self.node.x)] if self.chunk else []

    def fields(self) -> dict[str, Any]:
        node, lanes, gamma = self.node, self.lanes, self.node.kernel.gamma
        orders, centres, cells, _, filled = self.tables[node.gaps].shape
        along, classes = node.rank or self.width, len(node.counts)
        return super().fields() | {
            "classes": classes,
            "pairs": classes * (classes - 1) // 2,
            "others": classes - 1,
            "filled": filled,
            "orders": orders,
            "centre_count": centres,
            "cells": cells,
            "tests": self.has_tests,
            "passes_zeros": self.has_picks,
            "rank": node.rank,
            "turned": self.turned,
            "along": along,
            "products": sum(filled_up(row, lanes) for row in range(1, along + 1)),
            "wide_row": self.wide_row,
            "chunk": self.chunk,
            "group": GROUP,
            "stored": self.width <= LONG,
            "input_width": self.program.n_features,
            "largest": max(node.counts) // lanes,
            "all_pairs": f"UINT64_C({2 ** (classes - 1) - 1})" if classes <= MOST_CLASSES else "",
            "product_blocks": sorted({-(-count // lanes) for count in (classes, filled, node.rank)} - {0}),
            "column_blocks": _column_blocks(
                [classes, classes - 1, *([node.rank] * (node.rank > 0))], lanes
            ),
            "named": filled_up(classes, lanes),
            "slack": self.literal(1 + node.slack),
            "limit": self.literal(float(cells)),
            "gamma": self.literal(gamma),
            "wide_scale": real(-gamma * math.log2(math.e), "f64"),
            "minus_log2e": self.literal(-math.log2(math.e)),
            "exp2": f"{self.helper}_exp2",
            "wide_exp2": f"{self.file.prefix('f64')}_exp2",
            "class_list": wrap(map(str, np.cumsum([0, *node.counts]) // lanes), " " * 8),
            "lowest": LOWEST[self.number],
        }

    def _instruction_sets(self) -> list[dict[str, Any]]:
        """Each with its vectors of double."""
        wide = plain_instruction_sets(DOUBLE, self.file.prefix("f64"), self.name)
        return [isa | {"wide": own} for isa, own in zip(super()._instruction_sets(), wide, strict=True)]

    def idle(self) -> set[str]:
        node = self.node
        idle = {
            node.planes: not self.has_tests,
            node.thresholds: not self.has_tests,
            node.children: not self.has_tests,
            node.axes: node.rank == 0,
            node.middles: node.rank == 0,
            node.loose: node.rank == 0,
            node.squares: self.tables[node.squares].ndim == 1,
            node.norms: not self.has_picks,
            node.starts: not self.has_picks,
        }
        return {name for name, is_idle in idle.items() if is_idle}

    def helpers(self) -> set[str]:
        return super().helpers() | ({"dot"} if self.has_tests and not self.is_host else set())

    def scratch(self) -> int:
        node, size, d, k = self.node, self.size, self.width, len(self.node.counts)
        vectors, filled = len(self.tables[node.vectors]) * self.lanes, self.tables[node.offsets].shape[1]
        bytes_of = size * (vectors + 2 * filled + d) + (2 * INT + 2) * k + k * (k - 1) // 2 + SIZE * (k + 1)
        if self.tables[node.squares].ndim > 1:
            bytes_of += size * (self.tables[node.squares].shape[2] + self.turned + filled)
        return int(bytes_of) + (INT * (d + 16) if self.has_picks else 0)

    def batch_scratch(self, deepest: Callable[[str], int]) -> int:
        """Rows of a chunk, and a group of them in an order or its direct sums, or one by itself."""
        chunk, size, others = self.chunk, self.size, len(self.node.counts) - 1
        if not chunk:
            return 0
        _, centres, _, _, filled = self.tables[self.node.gaps].shape
        rows = (
            chunk * (7 * INT + 16 + (size * self.wide_row if self.width <= LONG else 0))
            + 2 * SIZE * centres
        )
        order = GROUP * (size * (self.wide_row + filled + self.turned + 2) + INT) + self.scratch()
        direct = size * MOST_TILE * (max(self.node.counts) + self.wide_row) + GROUP * (
            2 * DOUBLE * (others + 1) + 2 * INT + 8
        )
        again = size * self.wide_row + INT * (self.width + 16)  # a row as prepared anew, and its picks
        return int(rows + again + max(order, direct, self.scratch() + deepest(self.node.exact)))
