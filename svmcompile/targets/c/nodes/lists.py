"""Lists of half-spaces in C: one plane after the other, or groups of planes in vectors."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.pairs import classes_of
from svmcompile.targets.c.nodes.trees import Centred, Planes

L = TypeVar("L", bound=ir.PlaneLists | ir.TiledLists)


class Lists(Centred[L]):
    """Lists are asked in turn."""

    def fields(self) -> dict[str, Any]:
        count = len(self.tables[self.node.answers])
        return super().fields() | {"count": count, "classes": classes_of(self.out_width), "state": ""}


class PlaneLists(Lists[ir.PlaneLists], Planes[ir.PlaneLists]):
    """Plane by plane."""

    parts = ("list",)


class TiledLists(Lists[ir.TiledLists]):
    """Several planes at once, whose values are kept."""

    parts = ("list", "group")

    def fields(self) -> dict[str, Any]:
        planes = self.tables[self.node.planes]
        narrow = planes.dtype == np.int8
        plane = "__builtin_convertvector(planes[{}], vector)" if narrow else "planes[{}]"
        own = {"lanes": planes.shape[2], "bytes": narrow, "plane": plane.format}
        return super().fields() | own | {"state": ", &known, values"}

    def scratch(self) -> int:
        return super().scratch() + self.size * int(self.tables[self.node.planes].shape[2])
