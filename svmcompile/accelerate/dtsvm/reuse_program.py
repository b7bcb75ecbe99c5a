"""The program of a tree in front of a given SVM: its tree and leaves enter, nodes around them leave."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.dtsvm.assemble import leaf_tables, route_tables
from svmcompile.accelerate.dtsvm.given import Given
from svmcompile.accelerate.dtsvm.leaves import Leaf
from svmcompile.accelerate.dtsvm.tree import Tree
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Claim, Output, Program

SOME_ROWS = 20_000  # tell how many vectors a row meets
LABELS_ONLY = "votes within a leaf are no decision values: the program gives labels only"


@dataclass(frozen=True, eq=False)
class Parts:
    """What was trained, and whether its tree reads rows as they come ("x") or as the kernel sees them."""

    tree: Tree
    leaves: tuple[Leaf, ...]
    kernel: Kernel
    routed: str


def leaf_program(given: Given, parts: Parts, notes: tuple[str, ...], details: dict[str, Any]) -> Program:
    """Preprocessing, the route, the sums of the leaf, and the label."""
    builder, leaves = Builder(given.svm), parts.leaves
    z = builder.preprocess()
    if given.keeps_scores and given.sign < 0:
        leaves = tuple(replace(leaf, weights=-leaf.weights, bias=-leaf.bias) for leaf in leaves)
    for name, table in (route_tables(parts.tree) | leaf_tables(leaves)).items():
        (builder.table if table.dtype == np.float64 else builder.indices)(name, table)
    routed = "x" if parts.routed == "x" else z
    builder.body += [
        ir.AxisRoute("leaf", routed, "tree_features", "tree_thresholds", "tree_children"),
        ir.LeafSums(
            "sums", z, "leaf", "leaf_vectors", "leaf_starts", "leaf_members", "leaf_firsts", "leaf_counts",
            "leaf_weights", "leaf_bias", parts.kernel, given.rule, given.n_classes,
        ),
    ]  # fmt: skip
    if given.keeps_scores:
        return builder.finish("sums", "dtsvm", Claim.APPROXIMATE, notes, details=details)
    head: Node = ir.ArgMax("label", "sums")
    if given.rule == "sum":
        head = ir.Threshold("label", "sums", True, 1, 0)
    builder.body.append(head)
    outputs = (Output("label", "label"),)
    return builder.program(outputs, "dtsvm", Claim.APPROXIMATE, (*notes, LABELS_ONLY), details=details)
