"""Walking trees whose tests are kernel values, which then enter the sum of the leaf.

`interpret`, `bounds`, `cost` and the builder of such trees all walk this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kinds import Floats, Indices
from svmcompile.ir.trees import leaf_depths, leaf_functions, walk


@dataclass(frozen=True, eq=False)
class Paths:
    """Where rows went: their leaves, and level by level the nodes met (-1 beyond the path)."""

    leaf: Indices  # [rows]
    nodes: Indices  # [rows, levels]
    met: Floats  # [rows, levels]: the values tested, zero beyond the path

    def along(self, values: Floats, picks: NDArray[np.integer]) -> Floats:
        """Other values of rows and vectors, such as errors, met on the same paths."""
        found = np.zeros_like(self.met)
        for level, nodes in enumerate(self.nodes.T):
            rows = np.flatnonzero(nodes >= 0)
            found[rows, level] = _met(values, found, picks[nodes[rows]], rows)
        return found


def paths(
    kernel: Floats,
    picks: NDArray[np.integer],
    thresholds: Floats,
    children: NDArray[np.integer],
) -> Paths:
    """The paths of all rows; `kernel` holds the values of every row and vector."""
    levels = int(leaf_depths(children).max(initial=0))
    met = np.zeros((len(kernel), levels), dtype=kernel.dtype)
    nodes = np.full((len(kernel), levels), -1, dtype=np.intp)
    level = -1

    def above(rows: Indices, at: Indices) -> NDArray[np.bool_]:
        nonlocal level
        level += 1
        nodes[rows, level] = at
        met[rows, level] = _met(kernel, met, picks[at], rows)
        return np.asarray(met[rows, level] > thresholds[at])

    return Paths(walk(len(kernel), children, above), nodes, met)


def _met(values: Floats, before: Floats, picks: NDArray[np.integer], rows: Indices) -> Floats:
    """The value each row meets: of a vector or, where the pick is negative, of an earlier level."""
    pick = picks.astype(np.intp)
    again = before[rows, np.where(pick < 0, ~pick, 0)]
    return np.where(pick < 0, again, values[rows, np.maximum(pick, 0)])


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
    counts = (picks >= 0).astype(np.intp)  # up to and with each node
    leaves = np.zeros(len(children) + 1, dtype=np.intp)
    for node, pair in enumerate(children):  # parents come before children
        counts[pair[pair >= 0]] += counts[node]
        leaves[~pair[pair < 0]] = counts[node]
    return leaves


def path_nodes(children: NDArray[np.integer]) -> list[list[int]]:
    """The nodes on the way to each leaf, from the root on."""
    routes: dict[int, list[int]] = {}
    ways: list[list[int]] = [[] for _ in children]
    for node, pair in enumerate(children):  # parents come before children
        ways[node] = [*ways[node], node]
        for child in pair.tolist():
            if child >= 0:
                ways[child] = ways[node]
            else:
                routes[~child] = ways[node]
    return [routes[leaf] for leaf in range(len(routes))]
