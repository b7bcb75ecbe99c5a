"""The paper's Algorithm 1: the best balanced tree, by trying every column at every node.

Quasi-polynomial, so for a handful of rows and columns only; columns enter unscaled, as in section 3.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def exact_balanced_cost(X: Any, rest: Any, height: int) -> float:
    """The least squared error of a balanced tree of so many levels over columns X [rows, columns]."""
    alone = float(np.square(rest[:, None] - X).sum(axis=0).min())
    if height == 1 or len(X) < 2:
        return alone
    return min(alone, min(balanced_cost(X, rest, column, height) for column in range(X.shape[1])))


def balanced_cost(X: Any, rest: Any, column: int, height: int) -> float:
    """The same with the root's column given, split at its median."""
    order = np.argsort(X[:, column], kind="stable")
    left, right = order[: len(order) // 2], order[len(order) // 2 :]
    below = rest - X[:, column]
    return sum(exact_balanced_cost(X[part], below[part], height - 1) for part in (left, right))
