"""Walking trees: rows and a test go in, the leaf of every row comes out.

`interpret`, `bounds` and `cost` all walk the same way, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kinds import Indices

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


def node_depths(children: NDArray[np.integer]) -> Indices:
    """How many tests come before each node."""
    depths = np.zeros(len(children), dtype=np.intp)
    for node, pair in enumerate(children):  # parents come before children
        for child in pair[pair >= 0]:
            depths[child] = depths[node] + 1
    return depths


def leaf_depths(children: NDArray[np.integer]) -> Indices:
    """How many tests lead to each leaf."""
    depths = node_depths(children)
    leaves = np.zeros(len(children) + 1, dtype=np.intp)
    for node, side in zip(*np.nonzero(children < 0), strict=True):
        leaves[~children[node, side]] = depths[node] + 1
    return leaves


def leaf_functions(leaf: Indices, starts: NDArray[np.integer]) -> Iterator[tuple[Indices, Indices]]:
    """(rows, a function of the leaf of each), until every row has met all functions of its leaf."""
    first, count = starts[leaf].astype(np.intp), np.diff(starts)[leaf]
    for place in range(int(count.max(initial=0))):
        rows = np.flatnonzero(count > place)
        yield rows, first[rows] + place
