"""Walking trees: rows and a test go in, the leaf of every row comes out.

`interpret`, `bounds` and `cost` all walk the same way, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]
Test = Callable[[Indices, Indices], NDArray[np.bool_]]  # (rows, the node of each) -> goes right?


def walk(n_rows: int, children: NDArray[np.integer], goes_right: Test) -> Indices:
    """The leaf of every row, from node 0 down."""
    at: Indices = np.zeros(n_rows, dtype=np.intp)
    rows = np.arange(n_rows)
    while len(rows):
        right = goes_right(rows, at[rows])
        at[rows] = children[at[rows], right.astype(np.intp)]
        rows = rows[at[rows] >= 0]
    return ~at


def leaf_depths(children: NDArray[np.integer]) -> Indices:
    """How many tests lead to each leaf."""
    depths = np.zeros(len(children), dtype=np.intp)
    leaves = np.zeros(len(children) + 1, dtype=np.intp)
    for node, pair in enumerate(children):  # parents come before children
        for child in pair:
            target, index = (depths, child) if child >= 0 else (leaves, ~child)
            target[index] = depths[node] + 1
    return leaves


def leaf_functions(leaf: Indices, starts: NDArray[np.integer]) -> Iterator[tuple[Indices, Indices]]:
    """(rows, a function of the leaf of each), until every row has met all functions of its leaf."""
    first, count = starts[leaf].astype(np.intp), np.diff(starts)[leaf]
    for place in range(int(count.max(initial=0))):
        rows = np.flatnonzero(count > place)
        yield rows, first[rows] + place


def path_values(
    kernel: NDArray[np.floating[Any]],
    picks: NDArray[np.integer],
    thresholds: NDArray[np.floating[Any]],
    children: NDArray[np.integer],
) -> tuple[Indices, NDArray[np.floating[Any]]]:
    """The leaf of every row and the kernel values met there, level by level; zeros beyond the path.

    `kernel` holds the values of every row and vector; a pick below zero is ~level, a value met before.
    """
    met = np.zeros((len(kernel), int(leaf_depths(children).max(initial=0))), dtype=kernel.dtype)
    level = -1

    def above(rows: Indices, at: Indices) -> NDArray[np.bool_]:
        nonlocal level
        level += 1
        pick = picks[at].astype(np.intp)
        again = met[rows, np.where(pick < 0, ~pick, 0)]
        met[rows, level] = np.where(pick < 0, again, kernel[rows, np.maximum(pick, 0)])
        return np.asarray(met[rows, level] > thresholds[at])

    return walk(len(kernel), children, above), met


def path_sums(
    leaf: Indices,
    met: NDArray[np.floating[Any]],
    starts: NDArray[np.integer],
    weights: NDArray[np.floating[Any]],
    bias: NDArray[np.floating[Any]],
) -> NDArray[Any]:
    """bias[leaf] + sum_l weights[starts[leaf] + l] * met[:, l]."""
    out = bias[leaf].astype(np.float64)
    for level, (rows, functions) in enumerate(leaf_functions(leaf, starts)):
        out[rows] += weights[functions] * met[rows, level : level + 1]
    return out


def path_evaluations(picks: NDArray[np.integer], children: NDArray[np.integer]) -> Indices:
    """How many kernel values are computed on the way to each leaf."""
    before = np.zeros(len(children), dtype=np.intp)
    leaves = np.zeros(len(children) + 1, dtype=np.intp)
    for node, pair in enumerate(children):  # parents come before children
        for child in pair:
            target, index = (before, child) if child >= 0 else (leaves, ~child)
            target[index] = before[node] + (picks[node] >= 0)
    return leaves
