"""Partition: a tree and rows enter, groups of rows leave, each of which gets a classifier of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.model import rows_by_leaf
from svmcompile.accelerate.dtsvm.tree import Tree, merged
from svmcompile.ir.kinds import Indices

RARE = 3  # of two classes, one with fewer rows is too little to draw a border by


@dataclass(frozen=True, eq=False)
class Partition:
    """The rows of every group, to train with and to validate with."""

    own: list[Indices]
    held: list[Indices]


def tree_partition(tree: Tree, X: NDArray[Any], held: NDArray[Any]) -> Partition:
    """Groups are the leaves."""
    return Partition(
        rows_by_leaf(tree.leaves(X), tree.n_leaves), rows_by_leaf(tree.leaves(held), tree.n_leaves)
    )


def without_small_leaves(
    tree: Tree, X: NDArray[Any], y: Indices, n_classes: int, ceiling: int, min_leaf: int
) -> Tree:
    """The tree whose mixed leaves have at least `min_leaf` rows, where the leaf beside can take them in."""
    while min_leaf > 0:
        counts = class_counts(tree.leaves(X), y, tree.n_leaves, n_classes)
        joined = merged(tree, _too_small(counts, min_leaf), ceiling + min_leaf)
        if joined.n_leaves == tree.n_leaves:
            break
        tree = joined
    return tree


def class_counts(leaf: Indices, y: Indices, n_leaves: int, n_classes: int) -> Indices:
    """Rows of every class in every leaf, [leaves, classes]."""
    return np.bincount(leaf * n_classes + y, minlength=n_leaves * n_classes).reshape(n_leaves, n_classes)


def _too_small(counts: Indices, min_leaf: int) -> NDArray[np.bool_]:
    present = (counts > 0).sum(axis=1)
    rarest = np.where(counts > 0, counts, np.iinfo(counts.dtype).max).min(axis=1)
    few = (present > 1) & (counts.sum(axis=1) < min_leaf)
    return np.asarray(few | ((present == 2) & (rarest < RARE)))
