"""Decomposition: a tree, the classifier of every leaf, their cost, and the program they become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.leaves import Leaf, LeafRule, Theta, predict
from svmcompile.accelerate.dtsvm.tree import Tree, own_rows
from svmcompile.data.sparse import is_sparse
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, split_shift
from svmcompile.ir.kinds import Indices
from svmcompile.ir.node import kernel_sum_flops
from svmcompile.ir.nodes import Node
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program

Tables = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Scaling:
    """z = (x - shift) * factor, feature by feature, before the kernel; trees see x itself."""

    shift: Array
    factor: Array

    @classmethod
    def to_unit(cls, X: Any) -> Scaling:
        """Features to 0..1, one that never changes to 0; of compressed rows to -1..1: zeros stay zeros."""
        if is_sparse(X):
            high = abs(X).max(axis=0).toarray().ravel().astype(np.float64)
            return cls(np.zeros(len(high)), np.divide(1.0, high, out=np.zeros_like(high), where=high > 0))
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        return cls(low, np.divide(1.0, high - low, out=np.zeros_like(low), where=high > low))

    @classmethod
    def none(cls, n_features: int) -> Scaling:
        return cls(np.zeros(n_features), np.ones(n_features))

    def __call__(self, X: Any) -> Any:
        if is_sparse(X):
            scaled = X.astype(np.float64)
            scaled.data *= self.factor[X.indices]
            return scaled
        return (np.asarray(X, dtype=np.float64) - self.shift) * self.factor


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A DTSVM classifier; classes are numbers."""

    tree: Tree
    leaves: tuple[Leaf, ...]
    theta: Theta
    rule: LeafRule
    scaling: Scaling

    def predict(self, X: Any, z: Array | None = None) -> Indices:
        """The class of every row; `z` are the rows as the kernel sees them, where that is known."""
        found = np.zeros(len(X), dtype=np.intp)
        for leaf, rows in zip(self.leaves, own_rows(self.tree, X), strict=True):
            if len(rows):
                seen = self.scaling(X[rows]) if z is None else z[rows]
                found[rows] = predict(leaf, self.theta, self.rule, seen)
        return found

    def share(self, X: Any) -> Array:
        """Which share of the rows falls into each leaf."""
        return np.bincount(self.tree.leaves(X), minlength=len(self.leaves)) / max(1, len(X))

    def figures(self, X: Any) -> dict[str, Any]:
        """Size of the model (TNSV), and the vectors that rows are compared with on average (NESV).

        Each in three counts: `Leaf.summed_vectors`, `stored_vectors` and `unique_vectors`.
        """
        sizes = np.array([leaf.size for leaf in self.leaves])
        pure = np.array([leaf.is_pure for leaf in self.leaves])
        summed = np.array([leaf.summed_vectors for leaf in self.leaves])
        stored = np.array([leaf.stored_vectors for leaf in self.leaves])
        unique = np.array([leaf.unique_vectors for leaf in self.leaves])
        share = self.share(X)
        return {
            "leaves": len(self.leaves),
            "pure_leaves": int(pure.sum()),
            "pure_share": float(sizes[pure].sum() / sizes.sum()),
            "nesv": float(share @ summed),
            "nesv_stored": float(share @ stored),
            "nesv_unique": float(share @ unique),
            "tnsv": int(summed.sum()),
            "tnsv_stored": int(stored.sum()),
            "tnsv_unique": int(unique.sum()),
            "unconverged_leaves": sum(not leaf.converged for leaf in self.leaves),
        }


def assembled(
    model: Decomposition, labels: Labels, feature_names: tuple[str, ...], sha256: str, **origin: Any
) -> Program:
    """The program of a classifier; `origin` holds notes and details."""
    tables: Tables = {}
    body = _scaled(model.scaling, tables)
    z = body[-1].out if body else "x"
    if model.tree.n_leaves == 1:
        leaf = model.leaves[0]
        tables |= _vector_tables([leaf], "vector") | {"weights": leaf.weights, "bias": leaf.bias}
        body += whole_nodes(model, z)
    else:
        tables |= tables_of(model.tree, model.leaves)
        body += [*leaf_nodes(model, "x", z, len(labels)), label_node(model.rule)]
    scores = next(one.out for one in reversed(body) if one.out in ("scores", "sums"))
    width, kernel = len(model.scaling.shift), model.theta.kernel
    # as if every leaf were met
    flops = [
        kernel_sum_flops(kernel, one.unique_vectors, _mean_width(one.vectors), len(one.weights))
        for one in model.leaves
    ]
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
            exact_flops=sum(flops),
            method="dtsvm",
            claim=Claim.APPROXIMATE,
            **origin,
        ),
    )


def _scaled(scaling: Scaling, tables: Tables) -> list[Node]:
    if not scaling.shift.any() and (scaling.factor == 1).all():
        return []
    shift, offset = split_shift(scaling.shift, scaling.factor)
    tables |= {"shift": shift, "factor": scaling.factor, "offset": offset}
    return [ir.Scale("z", "x", "shift", "factor", "offset")]


def leaf_nodes(model: Decomposition, routed: str, z: str, n_classes: int) -> list[Node]:
    """The route of a row, which reads `routed`, and the sums of its leaf, which read `z`."""
    sums = ("leaf_starts", "leaf_members", "leaf_firsts", "leaf_counts", "leaf_weights", "leaf_bias")
    rest: Any = (*sums, model.theta.kernel, model.rule, n_classes)
    route = ir.AxisRoute("leaf", routed, "tree_features", "tree_thresholds", "tree_children")
    if are_compressed(model.leaves):
        stored = ("leaf_vector_starts", "leaf_vector_columns", "leaf_vector_values")
        return [route, ir.CsrLeaves("sums", z, "leaf", *stored, *rest)]
    return [route, ir.LeafSums("sums", z, "leaf", "leaf_vectors", *rest)]


def are_compressed(leaves: Sequence[Leaf]) -> bool:
    """Whether vectors are held without their zeros."""
    return any(is_sparse(leaf.vectors) for leaf in leaves)


def _vector_tables(leaves: Sequence[Leaf], stem: str) -> Tables:
    """The vectors of leaves one after the other: one table, or three where they are compressed."""
    if not are_compressed(leaves):
        return {f"{stem}s": np.concatenate([leaf.vectors for leaf in leaves])}
    from svmcompile.data.csr import stacked

    every = stacked([leaf.vectors for leaf in leaves])
    return {
        f"{stem}_starts": every.indptr.astype(np.int32),
        f"{stem}_columns": every.indices.astype(np.int32),
        f"{stem}_values": every.data,
    }


def _mean_width(vectors: Any) -> int:
    """Products that a kernel value takes; of compressed rows as many as they have entries on average."""
    return -(-vectors.nnz // max(1, len(vectors))) if is_sparse(vectors) else int(vectors.shape[1])


def label_node(rule: LeafRule) -> Node:
    """The label that sums of a leaf decide."""
    return ir.Threshold("label", "sums", True, 1, 0) if rule == "sum" else ir.ArgMax("label", "sums")


def whole_nodes(model: Decomposition, z: str) -> list[Node]:
    """One leaf that holds all rows is a plain SVM."""
    leaf, kernel = model.leaves[0], model.theta.kernel
    if are_compressed(model.leaves):
        stored = ("vector_starts", "vector_columns", "vector_values", "weights", "bias")
        counts = leaf.counts if model.rule == "vote" else ()
        out, k = "pairs" if counts else "sums", len(leaf.classes)
        sums: list[Node] = [ir.CsrSum(out, z, *stored, counts, kernel)]
        vote = [ir.OvrScores("scores", "pairs", k), ir.Vote("label", "pairs", k)]
        return sums + (vote if counts else [label_node(model.rule)])
    if model.rule != "vote":
        whole = ir.KernelSum("sums", z, "vectors", "weights", "bias", kernel)
        return [whole, label_node(model.rule)]
    pairs = ir.PairSum("pairs", z, "vectors", "weights", "bias", leaf.counts, kernel)
    k = len(leaf.classes)
    return [pairs, ir.OvrScores("scores", "pairs", k), ir.Vote("label", "pairs", k)]


def tables_of(tree: Tree, leaves: Sequence[Leaf]) -> Tables:
    """The tree, as `AxisRoute` reads it, and its leaves one after the other, as `LeafSums` reads them."""
    return {
        "tree_features": tree.features.astype(np.int32),
        "tree_thresholds": tree.thresholds,
        "tree_children": tree.children.astype(np.int32),
        **_vector_tables(leaves, "leaf_vector"),
        "leaf_starts": _starts([len(leaf.vectors) for leaf in leaves]),
        "leaf_members": np.concatenate([leaf.classes for leaf in leaves]).astype(np.int32),
        "leaf_firsts": _starts([len(leaf.classes) for leaf in leaves]),
        "leaf_counts": np.concatenate([leaf.counts for leaf in leaves]).astype(np.int32),
        "leaf_weights": np.concatenate([leaf.weights.T.ravel() for leaf in leaves]),
        "leaf_bias": np.concatenate([leaf.bias for leaf in leaves]),
    }


def _starts(counts: list[int]) -> NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
