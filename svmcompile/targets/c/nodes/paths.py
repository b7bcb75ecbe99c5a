"""Trees of kernel values in C."""

from __future__ import annotations

from typing import Any, TypeVar

from svmcompile.ir import nodes as ir
from svmcompile.ir.walks import leaf_depths
from svmcompile.targets.c.node import DOUBLE, CNode
from svmcompile.targets.c.nodes.sums import KernelValues

W = TypeVar("W", bound=ir.PackedPath | ir.FixedPath)


class Walk(CNode[W]):
    """The values on the way to a leaf are kept."""

    @property
    def levels(self) -> int:
        return int(leaf_depths(self.tables[self.node.children]).max())

    def fields(self) -> dict[str, Any]:
        return super().fields() | {
            "nodes": len(self.tables[self.node.children]),
            "levels": self.levels,
            "again": bool((self.tables[self.node.picks] < 0).any()),
        }


class PackedPath(Walk[ir.PackedPath], KernelValues[ir.PackedPath]):
    """In the number type."""

    parts = ("kernel",)
    walks = True

    def scratch(self) -> int:
        return DOUBLE * self.out_width + self.size * self.levels
