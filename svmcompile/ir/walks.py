"""Walks: the way of every row through trees, trees of kernel tests, and lists of half-spaces.

`interpret`, `bounds`, `cost` and the builders of trees all walk the same way, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kinds import Flags, Floats, Indices
from svmcompile.ir.layout import rows_of
from svmcompile.ir.node import At, links_of, need
from svmcompile.ir.pairs import classes_of, favour, pair_number

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
    return np.array([len(way) for way in path_nodes(children)], dtype=np.intp)


def leaf_functions(leaf: Indices, starts: NDArray[np.integer]) -> Iterator[tuple[Indices, Indices]]:
    """(rows, a function of the leaf of each), until every row has met all functions of its leaf."""
    first, count = starts[leaf].astype(np.intp), np.diff(starts)[leaf]
    for place in range(int(count.max(initial=0))):
        rows = np.flatnonzero(count > place)
        yield rows, first[rows] + place


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
    kernel: Floats, picks: NDArray[np.integer], thresholds: Floats, children: NDArray[np.integer]
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
    leaf: Indices, met: Floats, starts: NDArray[np.integer], weights: Floats, bias: Floats
) -> NDArray[Any]:
    """bias[leaf] + sum_l weights[starts[leaf] + l] * met[:, l]."""
    out = bias[leaf].astype(np.float64)
    for level, (rows, functions) in enumerate(leaf_functions(leaf, starts)):
        out[rows] += weights[functions] * met[rows, level : level + 1]
    return out


def path_evaluations(picks: NDArray[np.integer], children: NDArray[np.integer]) -> Indices:
    """How many kernel values are computed on the way to each leaf."""
    return np.array([np.count_nonzero(picks[way] >= 0) for way in path_nodes(children)], dtype=np.intp)


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


@dataclass(frozen=True, eq=False)
class Walk:
    """What happened to the rows: their scores, and which planes each was held against."""

    scores: Floats  # [rows, lists], as the node gives them
    tested: Flags  # [rows, planes]

    @property
    def tests(self) -> Indices:
        """Planes per row."""
        return np.asarray(self.tested.sum(axis=1))


def plane_rows(at: At) -> NDArray[Any]:
    """The planes [m, d], whatever their layout."""
    return at.planes if at.planes.ndim == 2 else rows_of(at.planes)[: len(at.answers)]


def walk_lists(at: At, h: Floats) -> Walk:
    """The walk of rows h = x - centre."""
    values = h @ plane_rows(at).astype(h.dtype).T
    return walk_hits(at, np.asarray(values > at.thresholds), h.dtype)


def walk_hits(at: At, hits: Flags, dtype: Any) -> Walk:
    """The walk of rows of which it is known [rows, planes] which half-spaces hold them."""
    starts = at.starts.astype(np.intp)
    scores = np.empty((len(hits), len(starts) - 1), dtype=dtype)
    tested = np.zeros_like(hits)
    for p, (first, end) in enumerate(pairwise(starts)):
        found = hits[:, first:end]
        tested[:, first:end] = np.cumsum(found, axis=1) - found == 0  # none before holds the row
        rows, planes = np.nonzero(found & tested[:, first:end])
        scores[:, p] = at.rest[p]
        scores[rows, p] = at.answers[first + planes]
    if at.order == "all":
        return Walk(scores, tested)
    scores, met = dag(scores)
    return Walk(scores, tested & np.repeat(met, np.diff(starts), axis=1))


def dag(scores: Floats) -> tuple[Floats, Flags]:
    """Pair scores in favour of the winner of the directed graph, and which pairs were looked at."""
    rows, n_classes = np.arange(len(scores)), classes_of(scores.shape[1])
    low, high = np.zeros(len(scores), dtype=np.intp), np.full(len(scores), n_classes - 1)
    met, sure = np.zeros(scores.shape, dtype=bool), np.ones(len(scores), dtype=bool)
    for _ in range(n_classes - 1):
        pair = pair_number(low, high, n_classes)
        value = scores[rows, pair]
        met[rows[sure], pair[sure]] = True
        sure &= value != 0
        low, high = np.where(value > 0, low, low + 1), np.where(value > 0, high - 1, high)
    return favour(n_classes).astype(scores.dtype)[low] * sure[:, None], met


def most_tests(at: At) -> int:
    """The most planes a row can be held against."""
    lengths = np.diff(at.starts.astype(np.intp))
    if at.order == "all":
        return int(lengths.sum())
    n_classes = classes_of(len(lengths))
    most = np.zeros((n_classes, n_classes), dtype=np.intp)  # from each pair of classes on
    for apart in range(1, n_classes):
        for low in range(n_classes - apart):
            high = low + apart
            after = max(most[low + 1, high], most[low, high - 1])
            most[low, high] = after + lengths[pair_number(low, high, n_classes)]
    return int(most[0, -1])


def sound_path(at: At) -> None:
    """Every leaf has one parent, and no node or leaf reads a value that has not been met."""
    links, leaves = links_of(at), len(at.starts) - 1
    ends = [~link for pair in links for link in dict.fromkeys(pair.tolist()) if link < 0]
    need(sorted(ends) == list(range(leaves)), "a leaf has not one parent")
    levels, picks = node_depths(links), at.picks.astype(np.int64)
    need(bool(((picks < len(at.vectors)) & (~picks < levels)).all()), "a node picks what is not there")
    met = leaf_depths(links)[:leaves]
    need(bool((np.diff(at.starts.astype(np.int64)) <= met).all()), "a leaf weighs values not met")
