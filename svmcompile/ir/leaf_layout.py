"""Where the vectors, weights and sums of each leaf stand in the tables of leaf sums.

Type rules, interpreter, bounds, cost and the backends all read this, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kinds import Floats
from svmcompile.ir.node import At
from svmcompile.ir.pairs import count_votes, pair_sums
from svmcompile.ir.whole_numbers import Wholes, whole


def columns_of(rule: str, classes: Wholes) -> Wholes:
    """Weights per vector of leaves with so many classes."""
    if rule == "sum":
        return np.ones_like(classes)
    return np.asarray(np.where(classes > 1, classes - (rule == "vote"), 0))


def sums_of(rule: str, classes: Wholes) -> Wholes:
    """Sums of leaves with so many classes."""
    if rule == "sum":
        return np.ones_like(classes)
    return np.asarray(np.where(classes > 1, classes * (classes - 1) // 2 if rule == "vote" else classes, 0))


def running(counts: Wholes) -> Wholes:
    """[leaves + 1]: where each leaf begins, and the end."""
    return np.concatenate([[0], np.cumsum(counts)])


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf: where its things stand."""

    number: int
    members: Wholes
    counts: tuple[int, ...]  # vectors of each class
    vectors: slice
    weights: slice
    columns: int
    bias: slice

    @property
    def has_sums(self) -> bool:
        """Is there anything to compute? A constant leaf has one bias, or nothing at all."""
        return len(self.members) > 1


def leaves(at: At) -> Iterator[Leaf]:
    """The leaves of a math node, in order."""
    starts, firsts = whole(at.starts), whole(at.firsts)
    classes = np.diff(firsts)
    columns = columns_of(at.rule, classes)
    weights, bias = running(np.diff(starts) * columns), running(sums_of(at.rule, classes))
    members, counts = whole(at.members), whole(at.counts)
    for number in range(len(classes)):
        own = slice(firsts[number], firsts[number + 1])
        yield Leaf(
            number,
            members[own],
            tuple(counts[own].tolist()),
            slice(starts[number], starts[number + 1]),
            slice(weights[number], weights[number + 1]),
            int(columns[number]),
            slice(bias[number], bias[number + 1]),
        )


@dataclass(frozen=True, slots=True)
class PackedLayout:
    """Sizes of the leaves of a machine node, derived from their classes and vectors."""

    vectors: Wholes  # [leaves], without what fills up
    columns: Wholes
    sums: Wholes
    places: Wholes  # [leaves + 1]
    bias_firsts: Wholes  # [leaves + 1]


def packed_layout(at: At, lanes: int) -> PackedLayout:
    """Where weights and biases stand; the tables `firsts`, `ends` and `starts` must be sound."""
    firsts, ends = whole(at.firsts), whole(at.ends)
    classes, vectors = np.diff(firsts), ends[firsts[1:] - 1]
    columns = columns_of(at.rule, classes)
    places = whole(at.starts) * lanes if at.rule == "sum" else running(vectors * columns)
    sums = sums_of(at.rule, classes)
    return PackedLayout(vectors, columns, sums, places, running(sums))


ABSENT = -1.0  # votes of a class that is not in the leaf
LOWEST = float(np.finfo(np.float32).min)  # the score of such a class where sums are compared


def empty_scores(rule: str, classes: int, rows: int, dtype: Any, lowest: float = LOWEST) -> NDArray[Any]:
    """Scores before any leaf has spoken."""
    if rule == "sum":
        return np.zeros((rows, 1), dtype=dtype)
    return np.full((rows, classes), ABSENT if rule == "vote" else lowest, dtype=dtype)


def leaf_scores(rule: str, sums: NDArray[Any], members: NDArray[Any]) -> NDArray[Any]:
    """What the sums [rows, sums] say of the leaf's classes, [rows, classes of the leaf]."""
    if rule != "sum" and len(members) == 1:
        return np.zeros((len(sums), 1), dtype=sums.dtype)
    return count_votes(sums, len(members)).astype(sums.dtype) if rule == "vote" else sums


def leaf_columns(rule: str, members: NDArray[Any]) -> NDArray[Any]:
    """Where in the scores a leaf's own go."""
    return np.zeros(1, dtype=np.int64) if rule == "sum" else members


def leaf_sums(rule: str, values: Floats, weights: Floats, counts: tuple[int, ...]) -> Floats:
    """The sums of one leaf, without bias, from kernel values [rows, n] and weights [n, columns]."""
    if len(counts) == 1:  # a constant has no vectors
        return np.zeros((len(values), 1 if rule == "sum" else 0))
    return pair_sums(values, weights, counts) if rule == "vote" else np.asarray(values @ weights)


def own_weights(leaf: Leaf, weights: NDArray[Any]) -> NDArray[Any]:
    """[vectors, columns] of a leaf."""
    return np.asarray(weights[leaf.weights].reshape(-1, max(leaf.columns, 1)))


def own_offsets(at: At, leaf: int, lanes: int) -> NDArray[Any]:
    """The offsets of a leaf's vectors, or the one of all."""
    starts = whole(at.starts)
    offsets: NDArray[Any] = at.offsets
    return offsets[starts[leaf] * lanes : starts[leaf + 1] * lanes] if at.shape == "exp2" else offsets


def packed_sums(at: At, values: Floats, leaf: int, lanes: int) -> Floats:
    """The sums of one leaf of its kernel values, bias included, in double."""
    layout, starts, firsts = packed_layout(at, lanes), whole(at.starts), at.firsts
    places = slice(starts[leaf] * lanes, starts[leaf + 1] * lanes)
    ends = whole(at.ends)[firsts[leaf] : firsts[leaf + 1]]
    counts = tuple(np.diff(ends, prepend=0).tolist())
    weights = at.weights.astype(np.float64)
    if at.rule == "sum":
        sums: Floats = values @ weights[places, None]
    else:
        n, columns = int(layout.vectors[leaf]), int(layout.columns[leaf])
        own = weights[layout.places[leaf] : layout.places[leaf + 1]].reshape(n, columns)
        sums = leaf_sums(at.rule, values[:, :n], own, counts)
    return sums + at.bias[layout.bias_firsts[leaf] : layout.bias_firsts[leaf + 1]]
