"""Names of functions and tables that belong to a node in C besides its own."""

from __future__ import annotations

from svmcompile.ir import nodes as ir
from svmcompile.ir.nodes import Node
from svmcompile.targets.names import Names

PARTS: dict[type[Node], tuple[str, ...]] = {
    ir.PackedSum: ("kernel", "block"),
    ir.PackedPath: ("kernel",),
    ir.PackedLeaves: ("kernel", "input", "leaf_of"),
    ir.TiledSum: ("ends", "input"),
    ir.SparseSum: ("ends",),
    ir.PlaneRoute: ("plane",),
    ir.TaylorSum: ("form",),
    ir.JetSum: ("form", "kernel", "meet", "narrow"),
    ir.PickedTaylor: ("form", "cubic"),
    ir.Couple: ("sweep",),
    ir.StagedSum: ("kernel", "rest", "narrow", "size"),
    ir.StagedVote: ("kernel", "value", "pair", "rest", "size", "triangles", "stages", "members"),
    ir.TaylorVote: ("kernel", "guess", "rest", "closely", "direct", "sure", "defend", "members"),
    ir.PlaneLists: ("list",),
    ir.TiledLists: ("list", "group"),
    ir.FixedSum: ("kernel", "curve_of"),
    ir.FixedPath: ("kernel", "curve_of"),
    ir.FixedLeafSums: ("kernel", "curve_of"),
}


def own_names(node: Node, symbols: Names) -> dict[str, str]:
    """The names by part."""
    parts = PARTS.get(type(node), ())
    return {part: symbols(f"%{node.out} {part}", f"{node.out}_{part}") for part in parts}
