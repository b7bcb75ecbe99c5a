"""Nodes in whole numbers in C."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.leaf_layout import sums_of
from svmcompile.ir.node import At
from svmcompile.ir.whole_numbers import NIBBLE_ZERO, UNIT_BITS, needs_int64, whole
from svmcompile.targets.c.api import c_real
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.node import INT, CNode, plain
from svmcompile.targets.c.nodes.paths import Walk

W = TypeVar("W", bound=ir.FixedSum | ir.FixedPath | ir.FixedLeafSums)


class Quantise(CNode[ir.Quantise]):
    """Real numbers become whole ones, from twice as much: halves that are cut off round to nearest."""

    @property
    def is_doubled(self) -> bool:
        """Whether there is one factor, and it is written twice as large."""
        factor = self.tables[self.node.factor]
        with np.errstate(over="ignore"):
            return bool(factor.size == 1 and np.isfinite(np.float32(2) * np.float32(factor[0])))

    def fields(self) -> dict[str, Any]:
        times = 2 if self.is_doubled else 1
        end = np.float32(times * self.node.limit).view(np.uint32)
        return {
            "row_type": c_real(self.types[self.node.out].whole or "f32"),
            "one_shift": _alone(self.tables[self.node.shift]),
            "one_factor": _alone(times * self.tables[self.node.factor]),
            "is_doubled": self.is_doubled,
            "end": f"0x{int(end):08x}u",
            "half_type": "int" if self.node.bits == 8 else "int32_t",
        }

    def idle(self) -> set[str]:
        return {name for name in (self.node.shift, self.node.factor) if self.tables[name].size == 1}


def _alone(table: NDArray[Any]) -> str:
    """The one number of a table; nothing where it has one per feature."""
    return real(table[0], "f32") if table.size == 1 else ""


plain(__name__, ir.StridePick, keeps_time=True)


class Requantise(CNode[ir.Requantise]):
    """Whole numbers in another unit."""

    def fields(self) -> dict[str, Any]:
        out_type = c_real(self.types[self.node.out].whole or "i8")
        return {"out_type": out_type, "half": _half(self.node.scale_bits)}


class Dequantise(CNode[ir.Dequantise]):
    """Whole numbers times their unit."""

    @property
    def whole_score(self) -> tuple[str, float]:
        return self.node.x, self.node.unit

    def fields(self) -> dict[str, Any]:
        return {"unit": real(self.node.unit, "f32")}


def _half(bits: int) -> int:
    """What rounds a number to nearest that is shifted by so many bits."""
    return (1 << bits) >> 1


class FixedAffine(CNode[ir.FixedAffine]):
    """Dot products of whole numbers."""

    dots_with = "weights"

    def fields(self) -> dict[str, Any]:
        return {"half": _half(self.node.shift)}


class FixedProjection(CNode[ir.FixedProjection]):
    """Dot products that are features again."""

    dots_with = "weights"

    def fields(self) -> dict[str, Any]:
        return {"out_type": c_real(self.types[self.node.out].whole or "i8")}


class NibbleProjection(FixedProjection):
    """The same with weights of four bits."""

    dot_kind = "nibbles"

    def fields(self) -> dict[str, Any]:
        return {**super().fields(), "bytes": (self.width + 1) // 2, "zero_weight": NIBBLE_ZERO}


class FixedQuadratic(CNode[ir.FixedQuadratic]):
    """In 64 bits."""

    def fields(self) -> dict[str, Any]:
        return {"half": _half(self.node.shift), "sum_type": "int64_t"}


class FixedLeaves(CNode[ir.FixedLeaves]):
    """Dot products of the row's leaf."""

    dots_with = "weights"


class WholeKernel(CNode[W]):
    """Kernel values of a dot product, from a curve between points."""

    parts = ("kernel", "curve_of")
    dots_with = "vectors"

    def idle(self) -> set[str]:
        return set() if self.node.shape in ("exp2", "tanh") else {self.node.curve}

    def fields(self) -> dict[str, Any]:
        node = self.node
        coarse = max(0, node.cell_bits - UNIT_BITS)
        return {
            "points": len(self.tables[node.curve]),
            "coarse": coarse,
            "fine": node.cell_bits - coarse,
            "mask": (1 << node.cell_bits) - 1,
            "half_cell": _half(node.cell_bits),
            "offset_unit": 1 << node.offset_shift,
            "vector_count": len(self.tables[node.vectors]),
            "half": _half(node.shift),
            "sum_type": "int64_t",
            "product_type": "int64_t",
        }


class FixedSum(WholeKernel[ir.FixedSum]):
    """Vector after vector."""

    @property
    def is_long(self) -> bool:
        """Whether sums need 64 bits."""
        return needs_int64(At(self.node, self.tables, self.types))

    def fields(self) -> dict[str, Any]:
        node = self.node
        return super().fields() | {
            "columns": self.tables[node.weights].shape[1],
            "counts": node.counts,
            "classes": len(node.counts),
            "ends": ", ".join(map(str, accumulate(node.counts))),
            "sum_type": "int64_t" if self.is_long else "int32_t",
            "product_type": "int32_t" if node.shape in ("exp2", "tanh") else "int64_t",
        }

    def scratch(self) -> int:
        return (8 if self.is_long else INT) * self.out_width


class FixedPath(Walk[ir.FixedPath], WholeKernel[ir.FixedPath]):
    """In whole numbers."""

    def scratch(self) -> int:
        return INT * self.levels


class FixedLeafSums(WholeKernel[ir.FixedLeafSums]):
    """The sums of the row's leaf."""

    @property
    def most_sums(self) -> int:
        """Of any leaf."""
        classes = np.diff(whole(self.tables[self.node.firsts]))
        return max(1, int(sums_of(self.node.rule, classes).max()))

    def fields(self) -> dict[str, Any]:
        return super().fields() | {"most_sums": self.most_sums}

    def scratch(self) -> int:
        return 8 * self.most_sums
