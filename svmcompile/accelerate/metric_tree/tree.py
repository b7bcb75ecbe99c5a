"""The arrays of a grown tree, numbered as routes want them: children behind their parents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.metric_tree.grow import Branch
from svmcompile.accelerate.metric_tree.splits import Split
from svmcompile.ir.kernel import Array


@dataclass(frozen=True, eq=False)
class Tree:
    """Inner nodes by number, and the leaves' branches. Without `planes` the tests are along features."""

    children: NDArray[np.int32]  # [m, 2], a leaf is ~number
    thresholds: Array  # [m]
    features: NDArray[np.int32]  # [m]
    planes: Array | None  # [m, d]
    pairs: NDArray[np.int64]  # [m, 2]: the rows a plane lies between
    leaves: list[Branch]


def arranged(root: Branch) -> Tree:
    """The tree below a branch, left before right, with a stack of our own."""
    splits: list[Split] = []
    leaves: list[Branch] = []
    children: list[list[int]] = []
    waiting: list[tuple[Branch, int, int]] = [(root, -1, 0)]
    while waiting:
        branch, parent, side = waiting.pop()
        if branch.split is None:
            number = ~len(leaves)
            leaves.append(branch)
        else:
            number = len(splits)
            splits.append(branch.split)
            children.append([0, 0])
            assert branch.left is not None and branch.right is not None
            waiting += [(branch.right, number, 1), (branch.left, number, 0)]
        if parent >= 0:
            children[parent][side] = number
    return _tree(splits, leaves, children)


def _tree(splits: list[Split], leaves: list[Branch], children: list[list[int]]) -> Tree:
    planes = [split.plane for split in splits if split.plane is not None]
    return Tree(
        np.array(children, dtype=np.int32).reshape(-1, 2),
        np.array([split.threshold for split in splits], dtype=np.float64),
        np.array([split.feature for split in splits], dtype=np.int32),
        np.array(planes) if planes else None,
        np.array([split.pair for split in splits], dtype=np.int64).reshape(-1, 2),
        leaves,
    )
