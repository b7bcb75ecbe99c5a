"""What the macros of `portable/taylor_votes.j2` and `host/taylor_votes.j2` need to know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.layout import triangle_size
from svmcompile.ir.program import Program
from svmcompile.targets.c.literals import LOWEST, real, wrap
from svmcompile.targets.c.nodes.bounded import Bounded

INT, SIZE = 4, 8


def idle_vote(node: ir.TaylorVote, program: Program) -> set[str]:
    """Tables of a vote that its code does not read."""
    tables = program.tables
    none = not has_tests(node, program)
    idle = {
        node.planes: none,
        node.thresholds: none,
        node.children: none,
        node.axes: node.rank == 0,
        node.middles: node.rank == 0,
        node.loose: node.rank == 0,
        node.squares: tables[node.squares].ndim == 1,
        node.norms: not has_picks(node, program),
        node.starts: not has_picks(node, program),
    }
    return {name for name, is_idle in idle.items() if is_idle}


def has_picks(node: ir.TaylorVote, program: Program) -> bool:
    """Whether direct sums pass over zeros: with vector instructions, where rows are mostly zeros."""
    return program.tables[node.vectors].shape[2] > 1 and bool(program.tables[node.norms].any())


def has_tests(node: ir.TaylorVote, program: Program) -> bool:
    """Whether a class has more than one centre."""
    return program.tables[node.planes].ndim > 1


def vote_scratch(node: ir.TaylorVote, program: Program, size: int) -> int:
    """Bytes of the arrays of a vote, with those of a champion's pairs."""
    blocks, d, lanes = program.tables[node.vectors].shape
    k, filled = len(node.counts), program.tables[node.offsets].shape[1]
    found = size * (blocks * lanes + 2 * filled + d) + (INT + 2) * k + k * (k - 1) // 2 + SIZE * (k + 1)
    if program.tables[node.squares].ndim > 1:
        found += size * (program.tables[node.squares].shape[2] + node.rank + -node.rank % lanes + filled)
    return int(found) + (INT * (d + 16) if has_picks(node, program) else 0)


def _column_blocks(counts: list[int], lanes: int) -> list[int]:
    """How many blocks of columns are summed up at a time: two, or one for what is left."""
    blocks = [-(-count // lanes) for count in counts]
    return [2] * any(one > 1 for one in blocks) + [1] * any(one % 2 for one in blocks)


def taylor_vote_context(
    node: ir.TaylorVote, program: Program, number: Number, prefix: str
) -> dict[str, Any]:
    """The fields the macros read beside those of bounded sums; `prefix` is that of helper functions."""
    orders, centres, cells, _, filled = program.tables[node.gaps].shape
    _, d, lanes = program.tables[node.vectors].shape
    along, classes = node.rank or d, len(node.counts)
    rows = [row + -row % lanes for row in range(1, along + 1)]
    return {
        "classes": classes,
        "pairs": classes * (classes - 1) // 2,
        "others": classes - 1,
        "filled": filled,
        "orders": orders,
        "centre_count": centres,
        "cells": cells,
        "tests": has_tests(node, program),
        "passes_zeros": has_picks(node, program),
        "rank": node.rank,
        "turned": node.rank + -node.rank % lanes,
        "along": along,
        "products": sum(rows),
        "wide_row": d + -d % lanes,
        "column_blocks": _column_blocks([classes, classes - 1, *([node.rank] * (node.rank > 0))], lanes),
        "named": classes + -classes % lanes,
        "slack": real(1 + node.slack, number),
        "limit": real(float(cells), number),
        "gamma": real(node.kernel.gamma, number),
        "wide_scale": real(-node.kernel.gamma * math.log2(math.e), "f64"),
        "minus_log2e": real(-math.log2(math.e), number),
        "exp2": f"{prefix}_exp2",
        "class_list": wrap(map(str, np.cumsum([0, *node.counts]) // lanes), " " * 8),
    }


def vote_context(node: ir.BoundedVote, program: Program) -> dict[str, Any]:
    """Pairs of a vote: where the parts of each begin."""
    sizes = np.diff(program.tables[node.starts].astype(np.int64))
    lanes = program.tables[node.vectors].shape[2]
    triangles = np.cumsum([0, *(triangle_size(int(size), lanes) for size in sizes)])
    stages = np.cumsum(np.concatenate([[0], -(-sizes // node.block)]))
    ends = np.cumsum([0, *node.counts]) // lanes
    return {
        "classes": len(node.counts),
        "pairs": len(sizes),
        "tolerance": "",
        "most": int(sizes.max()),
        "block": node.block,
        "projects": True,
        "triangle_list": wrap(map(str, triangles[:-1]), " " * 8),
        "stage_list": wrap(map(str, stages[:-1]), " " * 8),
        "class_list": wrap(map(str, ends), " " * 8),
    }


class BoundedVote(Bounded[ir.BoundedVote]):
    """Pairs are settled one after the other, each in stages."""

    parts = ("kernel", "value", "pair", "rest", "size", "triangles", "stages", "members")
    host_template = "host/votes"

    def fields(self) -> dict[str, Any]:
        return super().fields() | vote_context(self.node, self.program) | {"lowest": LOWEST[self.number]}

    def idle(self) -> set[str]:
        return {self.node.picks} if self.is_host else set()

    def scratch(self) -> int:
        classes, vectors = len(self.node.counts), int(self.tables[self.node.weights].shape[1])
        most = int(np.diff(self.tables[self.node.starts].astype(np.int64)).max())
        state = (INT + 1) * classes + len(self.tables[self.node.bias]) + self.size * (vectors + most)
        return state + (classes + INT if self.is_host else vectors)


class TaylorVote(Bounded[ir.TaylorVote]):
    """Polynomials of all classes name a champion, which then defends itself."""

    parts = ("kernel", "guess", "rest", "closely", "direct", "sure", "defend", "members")
    helpers_in_double = frozenset({"exp2"})
    reads_two_tables = False

    @property
    def template(self) -> str:
        return "host/taylor_votes" if self.is_host else "portable/taylor_votes"

    def fields(self) -> dict[str, Any]:
        own = {"lowest": LOWEST[self.number], "wide_exp2": f"{self.file.prefix('f64')}_exp2"}
        vote = taylor_vote_context(self.node, self.program, self.number, self.helper)
        return super().fields() | vote | own

    def idle(self) -> set[str]:
        return idle_vote(self.node, self.program)

    def helpers(self) -> set[str]:
        return super().helpers() | ({"dot"} if has_tests(self.node, self.program) else set())

    def scratch(self) -> int:
        return vote_scratch(self.node, self.program, self.size)
