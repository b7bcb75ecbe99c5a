"""Lists of half-spaces in C: one plane after the other, or groups of planes in vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.pairs import classes_of
from svmcompile.targets.c.nodes.trees import Centred


class PlaneLists(Centred[ir.PlaneLists]):
    """Lists are asked in turn, plane by plane, or several planes at once, whose values are kept."""

    dots_with = "planes"
    parts = ("list", "group")

    @property
    def lanes(self) -> int:
        """Planes at once; 0: one after the other."""
        planes = self.tables[self.node.planes]
        return int(planes.shape[2]) if planes.ndim == 3 else 0

    def fields(self) -> dict[str, Any]:
        narrow = self.tables[self.node.planes].dtype == np.int8
        plane = "__builtin_convertvector(planes[{}], vector)" if narrow else "planes[{}]"
        own = {"lanes": self.lanes, "bytes": narrow, "plane": plane.format}
        count = len(self.tables[self.node.answers])
        return super().fields() | own | {"count": count, "classes": classes_of(self.out_width)}

    def helpers(self) -> set[str]:
        return set() if self.lanes else super().helpers()

    def scratch(self) -> int:
        return super().scratch() + self.size * self.lanes
