"""Where the vectors, weights and sums of each leaf stand in the tables of leaf sums.

Type rules, interpreter, bounds, cost and the backends all read this, so they cannot disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.fixed_trees import FixedLeafSums
from svmcompile.ir.leaf_sums import LeafSums, PackedLeaves

Tables = Mapping[str, NDArray[Any]]
Indices = NDArray[np.int64]


def columns_of(rule: str, classes: Indices) -> Indices:
    """Weights per vector of leaves with so many classes."""
    if rule == "sum":
        return np.ones_like(classes)
    return np.asarray(np.where(classes > 1, classes - (rule == "vote"), 0))


def sums_of(rule: str, classes: Indices) -> Indices:
    """Sums of leaves with so many classes."""
    if rule == "sum":
        return np.ones_like(classes)
    return np.asarray(np.where(classes > 1, classes * (classes - 1) // 2 if rule == "vote" else classes, 0))


def running(counts: Indices) -> Indices:
    """[leaves + 1]: where each leaf begins, and the end."""
    return np.concatenate([[0], np.cumsum(counts)])


def whole(table: NDArray[Any]) -> Indices:
    """A table of whole numbers that cannot wrap around."""
    return np.asarray(table.astype(np.int64))


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf: where its things stand."""

    number: int
    members: Indices
    counts: tuple[int, ...]  # vectors of each class
    vectors: slice
    weights: slice
    columns: int
    bias: slice

    @property
    def has_sums(self) -> bool:
        """Is there anything to compute? A constant leaf has one bias, or nothing at all."""
        return len(self.members) > 1


def leaves(node: LeafSums | FixedLeafSums, tables: Tables) -> Iterator[Leaf]:
    """The leaves of a math node, in order."""
    starts, firsts = whole(tables[node.starts]), whole(tables[node.firsts])
    classes = np.diff(firsts)
    columns = columns_of(node.rule, classes)
    weights, bias = running(np.diff(starts) * columns), running(sums_of(node.rule, classes))
    members, counts = whole(tables[node.members]), whole(tables[node.counts])
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

    vectors: Indices  # [leaves], without what fills up
    columns: Indices
    sums: Indices
    places: Indices  # [leaves + 1]
    bias_firsts: Indices  # [leaves + 1]


def packed_layout(node: PackedLeaves, tables: Tables) -> PackedLayout:
    """Where weights and biases stand; the tables `firsts`, `ends` and `starts` must be sound."""
    firsts, ends = whole(tables[node.firsts]), whole(tables[node.ends])
    classes, vectors = np.diff(firsts), ends[firsts[1:] - 1]
    columns = columns_of(node.rule, classes)
    lanes = tables[node.vectors].shape[2]
    places = whole(tables[node.starts]) * lanes if node.rule == "sum" else running(vectors * columns)
    sums = sums_of(node.rule, classes)
    return PackedLayout(vectors, columns, sums, places, running(sums))


def unique_vectors(node: LeafSums | PackedLeaves, tables: Tables) -> tuple[Indices, Indices]:
    """Vectors and weights per vector of every leaf, without what fills up."""
    classes = np.diff(whole(tables[node.firsts]))
    columns = columns_of(node.rule, classes)
    if isinstance(node, LeafSums):
        return np.diff(whole(tables[node.starts])), columns
    return packed_layout(node, tables).vectors, columns
