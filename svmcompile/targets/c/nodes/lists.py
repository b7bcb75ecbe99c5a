"""Lists of half-spaces in C: one plane after the other, or groups of planes in vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.rules import classes_of
from svmcompile.targets.c.nodes.trees import Centred, Planes

Lists = ir.PlaneLists | ir.TiledLists


def list_fields(node: Lists, tables: Any) -> dict[str, Any]:
    """What both macros read."""
    lists = len(tables[node.rest])
    return {
        "order": node.order,
        "lists": lists,
        "count": len(tables[node.answers]),
        "classes": classes_of(lists),
        "state": "",
    }


class PlaneLists(Planes[ir.PlaneLists]):
    """Plane by plane."""

    parts = ("list",)

    def fields(self) -> dict[str, Any]:
        return super().fields() | list_fields(self.node, self.tables)


class TiledLists(Centred[ir.TiledLists]):
    """Several planes at once, whose values are kept."""

    parts = ("list", "group")

    def fields(self) -> dict[str, Any]:
        planes = self.tables[self.node.planes]
        narrow = planes.dtype == np.int8
        plane = "__builtin_convertvector(planes[{}], vector)" if narrow else "planes[{}]"
        return (
            super().fields()
            | list_fields(self.node, self.tables)
            | {
                "lanes": planes.shape[2],
                "bytes": narrow,
                "plane": plane.format,
                "state": ", &known, values",
            }
        )

    def scratch(self) -> int:
        return super().scratch() + self.size * int(self.tables[self.node.planes].shape[2])
