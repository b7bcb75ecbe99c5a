"""Training cells: a tree and rows enter, the rows that each leaf trains with leave.

Cells overlap: a row close to a split trains the leaves on both of its sides, so that neighbouring SVMs
agree where they meet. Which leaf a row is asked of never changes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.model import rows_by_leaf
from svmcompile.accelerate.dtsvm.tree import Tree
from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Indices


def own_rows(tree: Tree, X: NDArray[Any]) -> list[Indices]:
    """The rows that fall into each leaf."""
    return rows_by_leaf(tree.leaves(X), tree.n_leaves)


def overlapping_rows(tree: Tree, X: NDArray[Any], delta: float, spread: Array) -> list[Indices]:
    """The rows of each leaf's cell: those with |x - threshold| <= delta * spread go both ways."""
    if delta == 0 or tree.n_leaves == 1:
        return own_rows(tree, X)
    rows: NDArray[Any] = np.asarray(X, dtype=np.float32)
    waiting = {0: np.arange(len(rows))}
    cells: dict[int, Indices] = {}
    for node, pair in enumerate(tree.children):  # parents come before children
        here, feature = waiting.pop(node), tree.features[node]
        value = rows[here, feature].astype(np.float64)
        near = np.abs(value - tree.thresholds[node]) <= delta * spread[feature]
        right = value > tree.thresholds[node]
        for child, goes in zip(pair.tolist(), (near | ~right, near | right), strict=True):
            if child >= 0:
                waiting[child] = here[goes]
            else:
                cells[~child] = here[goes]
    return [np.asarray(cells[leaf], dtype=np.intp) for leaf in range(tree.n_leaves)]
