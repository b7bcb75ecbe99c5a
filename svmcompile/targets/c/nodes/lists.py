"""What the macros of `lists.j2` need to know of lists of half-spaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.kinds import Types
from svmcompile.ir.pairs import classes_of
from svmcompile.ir.program import Program
from svmcompile.targets.c.nodes.trees import dot_function

Lists = ir.PlaneLists | ir.TiledLists
LISTS = (ir.PlaneLists, ir.TiledLists)


def list_context(node: Lists, program: Program, types: Types, name: str) -> dict[str, Any]:
    """The fields both macros read beside those every node has."""
    tables, lists = program.tables, len(program.tables[node.rest])
    found = {
        "has_centre": bool(tables[node.centre].any()),
        "order": node.order,
        "lists": lists,
        "count": len(tables[node.answers]),
        "classes": classes_of(lists),
        "state": "",
    }
    if isinstance(node, ir.PlaneLists):
        return found | {"dot": dot_function(name, node.x, node.planes, program, types)}
    narrow = tables[node.planes].dtype == np.int8
    plane = "__builtin_convertvector(planes[{}], vector)" if narrow else "planes[{}]"
    return found | {
        "lanes": tables[node.planes].shape[2],
        "bytes": narrow,
        "plane": plane.format,
        "state": ", &known, values",
    }
