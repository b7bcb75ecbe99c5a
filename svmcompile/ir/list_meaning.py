"""What lists of half-spaces mean; cases of `run`."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.list_walk import walk_lists
from svmcompile.ir.meaning import Env, Tables, run


@run.register(ir.PlaneLists)
@run.register(ir.TiledLists)
def _(node: ir.PlaneLists | ir.TiledLists, env: Env, tables: Tables) -> NDArray[Any]:
    return walk_lists(node, env[node.x] - tables[node.centre], tables).scores
