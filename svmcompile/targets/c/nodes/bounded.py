"""Bounded sums in C, in plain code and for vector instructions."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BLOCK, BYTES, SEGMENT, Number
from svmcompile.ir.graph import value_number
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import c_real, row_parameters
from svmcompile.targets.c.literals import NUMBERS, real
from svmcompile.targets.c.node import DOUBLE, CNode
from svmcompile.targets.c.nodes.sums import power_steps
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, plain_instruction_sets

Staged = ir.BoundedSum | ir.BoundedVote | ir.TaylorVote
B = TypeVar("B", bound=Staged)
LANE_BLOCKS = 24  # the same, lane by lane, with what adds up the lanes
MOST_VECTORS = 8  # of kernel values that are made together
MOST_CHAINS = 4  # sums that do not wait for each other


def is_staged_host(node: Staged, program: Program) -> bool:
    """Whether vectors lie for vector instructions."""
    return int(program.tables[node.vectors].shape[2]) > 1


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


def sum_context(node: ir.BoundedSum, program: Program, number: Number) -> dict[str, Any]:
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


def host_staged(
    node: Staged, program: Program, number: Number, helper: str, name: str
) -> list[dict[str, Any]]:
    """Every instruction set, with how many vectors hold a block and how many sums go side by side."""
    size = BYTES[number]
    made = []
    for isa in plain_instruction_sets(size, helper, name):
        per_block = 64 // isa["bytes"]
        chains = max(1, MOST_CHAINS // per_block)
        isa |= {"per_block": per_block, "chains": chains, "many": max(1, MOST_VECTORS // per_block)}
        isa["compresses"] = isa["name"] == "avx512" and number == "f32"
        made.append(isa)
    return made


class Bounded(CNode[B]):
    """Sums that stop as soon as they are sure; tables lie for plain code or for vector instructions."""

    in_double = "claim"
    in_vectors = reads_two_tables = seldom_unsure = True
    host_template = ""

    @property
    def is_host(self) -> bool:
        return is_staged_host(self.node, self.program)

    @property
    def template(self) -> str:
        return self.host_template if self.is_host else super().template

    @property
    def has_intrinsics(self) -> bool:
        return self.is_host and self.node.kernel.kind == "rbf"

    def fields(self) -> dict[str, Any]:
        node, program, number = self.node, self.program, self.number
        return staged_context(node, program, number, self.name, self.helper) | {
            "numbers": NUMBERS[number],
            "isas": host_staged(node, program, number, self.helper, self.name),
        }

    def helpers(self) -> set[str]:
        if self.node.kernel.kind == "poly":
            return {"dot", "power"}
        return set() if self.is_host else {"dot", "distance", "exp2"}


class BoundedSum(Bounded[ir.BoundedSum]):
    """Stages with a bound of the rest each."""

    parts = ("kernel", "rest", "narrow", "size")
    host_template = "host/bounded"

    def fields(self) -> dict[str, Any]:
        return super().fields() | sum_context(self.node, self.program, self.number)

    def idle(self) -> set[str]:
        node, ends = self.node, self.tables[self.node.ends]
        idle = {
            node.coordinates: node.rank == 0,
            node.projection: not (ends <= node.rank).any(),
            node.estimates: not (ends > node.rank).any(),
            node.rounding: node.tolerance >= 0,
        }
        return {name for name, is_idle in idle.items() if is_idle}

    def scratch(self) -> int:
        kept = self.size * int(self.tables[self.node.ends][-1])
        if not self.is_host:
            return kept
        state = 2 * self.size + 2 * DOUBLE  # score, whether it is sure, and sums of all vectors
        return kept + state + MOST_VECTORS * max(isa.bytes for isa in INSTRUCTION_SETS)


class Widen(CNode[ir.Widen]):
    """The type of a row changes."""

    widens = True

    def fields(self) -> dict[str, Any]:
        return {"from_real": c_real(value_number(self.node.x, self.program, self.types))}
