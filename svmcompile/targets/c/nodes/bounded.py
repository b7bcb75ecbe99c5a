"""Bounded sums in C, in plain code and for vector instructions."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import BLOCK, SEGMENT
from svmcompile.ir.graph import value_number
from svmcompile.targets.c.api import c_real, row_parameters, widened_later
from svmcompile.targets.c.literals import NUMBERS, real
from svmcompile.targets.c.node import DOUBLE, CNode
from svmcompile.targets.c.nodes.sums import power_steps
from svmcompile.targets.c.profiles import INSTRUCTION_SETS, plain_instruction_sets

B = TypeVar("B", bound=ir.BoundedSum | ir.BoundedVote | ir.TaylorVote)
LANE_BLOCKS = 24  # the same as BLOCK, lane by lane, with what adds up the lanes
LEAST_ROOM = 16  # kernel values
MOST_VECTORS = 8  # of kernel values that are made together
MOST_CHAINS = 4  # sums that do not wait for each other


class Bounded(CNode[B]):
    """Sums that stop as soon as they are sure; tables lie for plain code or for vector instructions."""

    in_double = "claim"
    in_vectors = reads_two_tables = seldom_unsure = True
    host_template = ""

    @property
    def lanes(self) -> int:
        """Vectors of a block."""
        return int(self.tables[self.node.vectors].shape[2])

    @property
    def is_host(self) -> bool:
        """Whether vectors lie for vector instructions."""
        return self.lanes > 1

    @property
    def is_given(self) -> bool:
        """Whether the caller computes the kernel."""
        return self.node.kernel.kind == "precomputed"

    def room(self, most: int) -> int:
        """Kernel values that there is room for; of very few, GCC warns that loops go beyond them."""
        return max(most, LEAST_ROOM) if self.is_given else most

    def _own(self) -> str:
        """k(x, x) of a given kernel: a number, or what the caller says."""
        more = self.node.kernel.coef0
        if self.node.reach:
            return self.literal(self.node.reach + more)
        return f"kernel(query, {self.name.upper()}_SELF)" + (f" + {self.literal(more)}" if more else "")

    @property
    def template(self) -> str:
        return self.host_template if self.is_host else super().template

    @property
    def has_intrinsics(self) -> bool:
        return self.is_host and self.node.kernel.kind == "rbf"

    def fields(self) -> dict[str, Any]:
        kernel, numbers, blocks = (
            self.node.kernel,
            NUMBERS[self.number],
            len(self.tables[self.node.vectors]),
        )
        row = row_parameters(self.program, self.name)
        given, prepared = self.is_given, f"const {c_real(self.number)} z[{self.width}]"
        return {
            "row": row,
            "given": given,  # the caller is asked for kernel values
            "prepared": row if given else prepared,
            "row_and_z": row if given else f"{row}, {prepared}",
            "comma": ",\n    " if given else ", ",  # behind a long one
            "z": "kernel, query" if given else "z",
            "given_row": "kernel, query" if given else "x, z",
            "own": self._own() if given else "",
            "room": 0,
            "helper": self.helper,
            "is_float": self.number == "f32",
            "smallest": real(float(np.finfo(np.float32).tiny), "f64"),
            "rbf": kernel.kind == "rbf",
            "shape": "exp2" if kernel.kind == "rbf" else "power",
            "scale": self.literal(-kernel.gamma * math.log2(math.e)),
            "gamma": self.literal(kernel.gamma),
            "constant": self.literal(kernel.coef0),
            "size_constant": self.literal(abs(kernel.coef0)),
            "degree": kernel.degree,
            "reach": self.literal(self.node.reach),
            "segment": SEGMENT,
            "passes_zeros": False,  # votes of polynomials may
            "lanes": self.lanes,
            "blocks": blocks,
            "vector_count": blocks * self.lanes,
            "block_size": BLOCK,
            "lane_blocks": LANE_BLOCKS,
            "bits": numbers["bits"],
            "sign_bit": numbers["sign_bit"],
            "power_steps": power_steps(kernel.degree),
            "numbers": numbers,
            "isas": self._instruction_sets(),
        }

    def _instruction_sets(self) -> list[dict[str, Any]]:
        """Each with how many vectors hold a block and how many sums go side by side."""
        sets = plain_instruction_sets(self.size, self.helper, self.name)
        for isa in sets:
            per_block = 64 // isa["bytes"]
            chains = max(1, MOST_CHAINS // per_block)
            isa |= {"per_block": per_block, "chains": chains, "many": max(1, MOST_VECTORS // per_block)}
            isa["compresses"] = isa["name"] == "avx512" and self.number == "f32"
        return sets

    def helpers(self) -> set[str]:
        if self.node.kernel.kind == "poly":
            return {"dot", "power"}
        if self.is_given:
            return {"dot"}
        return set() if self.is_host else {"dot", "distance", "exp2"}


class BoundedSum(Bounded[ir.BoundedSum]):
    """Stages with a bound of the rest each."""

    parts = ("kernel", "rest", "narrow", "size")
    host_template = "host/bounded"

    @property
    def ends(self) -> NDArray[np.int64]:
        """Vectors that are met by the end of each stage."""
        return self.tables[self.node.ends].astype(np.int64)

    def fields(self) -> dict[str, Any]:
        node, ends = self.node, self.ends
        return super().fields() | {
            "stages": len(ends),
            "kept": int(ends[-1]),
            "room": self.room(int(ends[-1])),
            "rank": node.rank,
            "rank_blocks": -(-node.rank // self.lanes),
            "has_estimates": bool((ends > node.rank).any()),
            "projects": bool((ends <= node.rank).any()),
            "tolerance": self.literal(node.tolerance) if node.tolerance >= 0 else "",
        }

    def idle(self) -> set[str]:
        node, ends = self.node, self.ends
        idle = {
            node.coordinates: node.rank == 0,
            node.projection: not (ends <= node.rank).any(),
            node.estimates: not (ends > node.rank).any(),
            node.rounding: node.tolerance >= 0,
        }
        return {name for name, is_idle in idle.items() if is_idle}

    def scratch(self) -> int:
        kept = self.size * self.room(int(self.ends[-1]))
        if not self.is_host:
            return kept
        state = 2 * self.size + 2 * DOUBLE  # score, whether it is sure, and sums of all vectors
        return kept + state + MOST_VECTORS * max(isa.bytes for isa in INSTRUCTION_SETS)


class Widen(CNode[ir.Widen]):
    """The type of a row changes."""

    widens = True

    def fields(self) -> dict[str, Any]:
        real = c_real(value_number(self.node.x, self.program, self.types))
        return {"from_real": real, "stands": self.node.out not in widened_later(self.program)}
