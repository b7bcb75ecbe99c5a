"""Trees of kernel values in C."""

from __future__ import annotations

from typing import Any

from svmcompile.ir import nodes as ir
from svmcompile.ir.walks import leaf_depths
from svmcompile.targets.c.node import DOUBLE
from svmcompile.targets.c.nodes.sums import KernelValues


class PackedPath(KernelValues[ir.PackedPath]):
    """The values on the way to a leaf are kept."""

    parts = ("kernel",)
    walks = True

    @property
    def levels(self) -> int:
        return int(leaf_depths(self.tables[self.node.children]).max())

    def fields(self) -> dict[str, Any]:
        return super().fields() | {
            "nodes": len(self.tables[self.node.children]),
            "levels": self.levels,
            "again": bool((self.tables[self.node.picks] < 0).any()),
        }

    def scratch(self) -> int:
        return DOUBLE * self.out_width + self.size * self.levels
