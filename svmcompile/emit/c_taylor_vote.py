"""What the macros of `taylor_vote.j2` and `host/taylor_votes.j2` need to know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmcompile.emit.literals import real, wrap
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Number, Program

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
