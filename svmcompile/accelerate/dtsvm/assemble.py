"""Nodes and tables of a DTSVM classifier: what a tree and its leaves become in a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.leaves import Leaf
from svmcompile.accelerate.dtsvm.model import Decomposition, Scaling
from svmcompile.accelerate.dtsvm.tree import Tree
from svmcompile.ir import nodes as ir
from svmcompile.ir.labels import Labels
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Claim, Input, Origin, Output, Program
from svmcompile.ir.shift import split_shift
from svmcompile.ir.work import kernel_sum_flops

Tables = dict[str, NDArray[Any]]


def assembled(
    model: Decomposition, labels: Labels, feature_names: tuple[str, ...], sha256: str, **origin: Any
) -> Program:
    """The program of a classifier; `origin` holds notes and details."""
    tables: Tables = {}
    body = _scaled(model.scaling, tables)
    z = body[-1].out if body else "x"
    if model.tree.n_leaves == 1:
        body += whole_nodes(model, z, tables)
    else:
        body += tree_nodes(model, z, len(labels), tables)
    scores = next(one.out for one in reversed(body) if one.out in ("scores", "sums"))
    width = len(model.scaling.shift)
    return Program(
        input=Input(width, "x", feature_names),
        body=tuple(body),
        outputs=(Output("scores", scores), Output("label", "label")),
        tables=tables,
        labels=labels,
        origin=Origin(
            source="DTSVM",
            sha256=sha256,
            n_support_vectors=sum(leaf.unique_vectors for leaf in model.leaves),
            exact_flops=_flops_of_all(model, width),
            method="dtsvm",
            claim=Claim.APPROXIMATE,
            **origin,
        ),
    )


def _flops_of_all(model: Decomposition, width: int) -> int:
    """Flops per row if every leaf were met."""
    kernel = model.theta.kernel
    return sum(
        kernel_sum_flops(kernel, leaf.unique_vectors, width, len(leaf.weights)) for leaf in model.leaves
    )


def _scaled(scaling: Scaling, tables: Tables) -> list[Node]:
    if not scaling.shift.any() and (scaling.factor == 1).all():
        return []
    shift, offset = split_shift(scaling.shift, scaling.factor)
    tables |= {"shift": shift, "factor": scaling.factor, "offset": offset}
    return [ir.Scale("z", "x", "shift", "factor", "offset")]


def tree_nodes(model: Decomposition, z: str, n_classes: int, tables: Tables) -> list[Node]:
    """The route, the sums of the leaf, and the label."""
    tables |= route_tables(model.tree)
    tables |= leaf_tables(model.leaves)
    sums = ir.LeafSums(
        "sums", z, "leaf", "leaf_vectors", "leaf_starts", "leaf_members", "leaf_firsts", "leaf_counts",
        "leaf_weights", "leaf_bias", model.theta.kernel, model.rule, n_classes,
    )  # fmt: skip
    route = ir.AxisRoute("leaf", "x", "tree_features", "tree_thresholds", "tree_children")
    head: Node = (
        ir.Threshold("label", "sums", True, 1, 0) if model.rule == "sum" else ir.ArgMax("label", "sums")
    )
    return [route, sums, head]


def whole_nodes(model: Decomposition, z: str, tables: Tables) -> list[Node]:
    """One leaf that holds all rows is a plain SVM."""
    leaf, kernel = model.leaves[0], model.theta.kernel
    tables |= {"vectors": leaf.vectors, "weights": leaf.weights, "bias": leaf.bias}
    if model.rule != "vote":
        head: Node = (
            ir.Threshold("label", "sums", True, 1, 0) if model.rule == "sum" else ir.ArgMax("label", "sums")
        )
        return [ir.KernelSum("sums", z, "vectors", "weights", "bias", kernel), head]
    pairs = ir.PairSum("pairs", z, "vectors", "weights", "bias", leaf.counts, kernel)
    k = len(leaf.classes)
    return [pairs, ir.OvrScores("scores", "pairs", k), ir.Vote("label", "pairs", k)]


def route_tables(tree: Tree) -> Tables:
    """The tree, as `AxisRoute` reads it."""
    return {
        "tree_features": tree.features.astype(np.int32),
        "tree_thresholds": tree.thresholds,
        "tree_children": tree.children.astype(np.int32),
    }


def leaf_tables(leaves: Sequence[Leaf]) -> Tables:
    """The leaves one after the other, as `LeafSums` reads them."""
    return {
        "leaf_vectors": np.concatenate([leaf.vectors for leaf in leaves]),
        "leaf_starts": _starts([len(leaf.vectors) for leaf in leaves]),
        "leaf_members": np.concatenate([leaf.classes for leaf in leaves]).astype(np.int32),
        "leaf_firsts": _starts([len(leaf.classes) for leaf in leaves]),
        "leaf_counts": np.concatenate([leaf.counts for leaf in leaves]).astype(np.int32),
        "leaf_weights": np.concatenate([leaf.weights.T.ravel() for leaf in leaves]),
        "leaf_bias": np.concatenate([leaf.bias for leaf in leaves]),
    }


def _starts(counts: list[int]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
