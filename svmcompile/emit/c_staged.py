"""What the macros of bounded sums (`staged.j2` and `host/bounded.j2`) need to know."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmcompile.emit.c_api import row_parameters
from svmcompile.emit.c_host import power_steps
from svmcompile.emit.c_taylor_vote import has_tests, idle_vote
from svmcompile.emit.c_vectors import plain_instruction_sets
from svmcompile.emit.literals import real, wrap
from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Number, Program
from svmcompile.ir.stages import SEGMENT
from svmcompile.ir.unstaged import triangle_size

STAGED = (ir.StagedSum, ir.StagedVote, ir.TaylorVote)
Staged = ir.StagedSum | ir.StagedVote | ir.TaylorVote
KINDS = {
    ir.StagedSum: ("staged", "host/bounded"),
    ir.StagedVote: ("vote", "host/votes"),
    ir.TaylorVote: ("taylor_vote", "host/taylor_votes"),
}
BLOCK = 32  # kernel values summed up in the number type before they go to double
LANE_BLOCKS = 24  # the same, lane by lane, with what adds up the lanes
MOST_VECTORS = 8  # of kernel values that are made together
MOST_CHAINS = 4  # sums that do not wait for each other


def is_staged_host(node: Staged, program: Program) -> bool:
    """Whether vectors lie for vector instructions."""
    return int(program.tables[node.vectors].shape[2]) > 1


def staged_template(node: Staged, program: Program) -> str:
    """The file that has the node's macro."""
    return KINDS[type(node)][is_staged_host(node, program)]


def idle_staged(node: Node, program: Program) -> set[str]:
    """Tables of a bounded node that its code does not read."""
    if isinstance(node, ir.StagedVote):
        return {node.picks} if is_staged_host(node, program) else set()
    if isinstance(node, ir.TaylorVote):
        return idle_vote(node, program)
    if not isinstance(node, ir.StagedSum):
        return set()
    ends = program.tables[node.ends]
    idle = {
        node.coordinates: node.rank == 0,
        node.projection: not (ends <= node.rank).any(),
        node.estimates: not (ends > node.rank).any(),
        node.rounding: node.tolerance >= 0,
    }
    return {name for name, is_idle in idle.items() if is_idle}


def staged_helpers(body: list[Node], program: Program) -> dict[str, bool]:
    """Which helper functions bounded sums call in plain code."""
    staged = [node for node in body if isinstance(node, STAGED)]
    plain = [node for node in staged if not is_staged_host(node, program)]
    routed = any(isinstance(node, ir.TaylorVote) and has_tests(node, program) for node in staged)
    rbf = any(node.kernel.kind == "rbf" for node in plain)
    power = any(node.kernel.kind == "poly" for node in staged)
    return {"dot": bool(plain) or power or routed, "distance": rbf, "exp2": rbf, "power": power}


def staged_context(
    node: Staged, program: Program, number: Number, name: str, helper: str
) -> dict[str, Any]:
    """What both kinds of bounded nodes have."""
    blocks, _, lanes = program.tables[node.vectors].shape
    kernel = node.kernel
    return {
        "row": row_parameters(program, name),
        "helper": helper,
        "is_float": number == "f32",
        "smallest": real(float(np.finfo(np.float32).tiny), "f64"),
        "rbf": kernel.kind == "rbf",
        "shape": "exp2" if kernel.kind == "rbf" else "power",
        "scale": real(-kernel.gamma * math.log2(math.e), number),
        "gamma": real(kernel.gamma, number),
        "constant": real(kernel.coef0, number),
        "size_constant": real(abs(kernel.coef0), number),
        "degree": kernel.degree,
        "reach": real(node.reach, number),
        "segment": SEGMENT,
        "passes_zeros": False,  # votes of polynomials may
        "lanes": lanes,
        "blocks": blocks,
        "vector_count": blocks * lanes,
        "block_size": BLOCK,
        "lane_blocks": LANE_BLOCKS,
        "bits": "uint32_t" if number == "f32" else "uint64_t",
        "sign_bit": 31 if number == "f32" else 63,
        "power_steps": power_steps(kernel.degree),
    }


def sum_context(node: ir.StagedSum, program: Program, number: Number) -> dict[str, Any]:
    """Stages of a sum."""
    ends = program.tables[node.ends].astype(np.int64)
    lanes = program.tables[node.vectors].shape[2]
    return {
        "stages": len(ends),
        "kept": int(ends[-1]),
        "rank": node.rank,
        "rank_blocks": -(-node.rank // lanes),
        "has_estimates": bool((ends > node.rank).any()),
        "projects": bool((ends <= node.rank).any()),
        "tolerance": real(node.tolerance, number) if node.tolerance >= 0 else "",
    }


def vote_context(node: ir.StagedVote, program: Program) -> dict[str, Any]:
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


def host_staged(
    node: Staged, program: Program, number: Number, helper: str, name: str
) -> list[dict[str, Any]]:
    """Every instruction set, with how many vectors hold a block and how many sums go side by side."""
    size = 4 if number == "f32" else 8
    made = []
    for isa in plain_instruction_sets(size, helper, name):
        per_block = 64 // isa["bytes"]
        chains = max(1, MOST_CHAINS // per_block)
        isa |= {"per_block": per_block, "chains": chains, "many": max(1, MOST_VECTORS // per_block)}
        isa["compresses"] = isa["name"] == "avx512" and number == "f32"
        made.append(isa)
    return made
