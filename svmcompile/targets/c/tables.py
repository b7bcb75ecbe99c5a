"""Which tables of a machine program stand in its C code."""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import table_names
from svmcompile.ir.program import Program
from svmcompile.targets.c.nodes.bounded import idle_staged
from svmcompile.targets.c.nodes.fixed import inlined_fixed
from svmcompile.targets.c.nodes.leaves import idle_tables as idle_leaf_tables
from svmcompile.targets.c.nodes.taylor_host import idle_taylor
from svmcompile.targets.c.nodes.trees import idle_tables

SUMS = (ir.PackedSum, ir.PackedPath, ir.TiledSum, ir.SparseSum, ir.PackedLeaves)


def inlined_tables(program: Program) -> set[str]:
    """Tables that do not appear as such: one number that stands in the code, or nothing to say."""
    sums = [node for node in program.body if isinstance(node, SUMS)]
    constants = {node.offsets for node in sums if node.shape != "exp2"}
    sparse = [node for node in sums if isinstance(node, ir.SparseSum)]
    constants |= {node.factor for node in sparse if program.tables[node.factor].size == 1}
    constants = constants.union(*(idle_leaf_tables(n) for n in sums if isinstance(n, ir.PackedLeaves)))
    idle = (
        idle_tables(node, program)
        | idle_staged(node, program)
        | idle_taylor(node, program)
        | inlined_fixed(node, program)
        for node in program.body
    )
    return constants.union(*idle)


def emitted_tables(program: Program) -> list[str]:
    """Tables that appear in the code, in the order of the nodes."""
    inlined = inlined_tables(program)
    names = [name for node in program.body for name in table_names(node) if name not in inlined]
    return list(dict.fromkeys(names))
