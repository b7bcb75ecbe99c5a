"""Nodes of kernel sums that belong to the leaves of a tree, on both levels.

A leaf has vectors and classes of its own: vectors in the order of its classes, classes ascending.
How many weights a vector has and how many sums there are goes by the rule and by the number k of
the leaf's classes: "sum" 1 and 1, "vote" k - 1 and k (k - 1) / 2, "ovr" k and k; a leaf of one
class is constant and has no vectors (and, but for "sum", no sums).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import IndexTable, LeafRule, Level, Shape, Table, Value


@dataclass(frozen=True, slots=True)
class LeafSums:
    """Kernel sums over the vectors of the row's leaf, and what they say of the classes of that leaf.

    Leaf l has the vectors starts[l] to starts[l + 1] - 1, the classes members[firsts[l]] to
    members[firsts[l + 1] - 1], and counts[c] vectors of the class members[c]. Weights [vectors, columns]
    and biases [sums] follow each other leaf by leaf.

    "sum":  out[0] = bias + sum_i weights[i] k(x, v_i), for two classes
    "vote": a sum per pair of the leaf's classes, as in `PairSum`; out[c] counts the pairs class c
            wins (above zero the first does), -1 for classes that are not in the leaf
    "ovr":  out[c] = a sum per class of the leaf, the lowest float32 number for other classes

    Where a leaf has one class its out is 0 (with "sum" the bias). Rows that are not finite give NaN.
    """

    level: ClassVar = Level.MATH
    out: Value
    x: Value
    leaf: Value
    vectors: Table  # [n, d]
    starts: IndexTable  # [leaves + 1]
    members: IndexTable  # [classes of all leaves]
    firsts: IndexTable  # [leaves + 1]
    counts: IndexTable  # [classes of all leaves]
    weights: Table  # [coefficients]
    bias: Table  # [sums of all leaves]
    kernel: Kernel
    rule: LeafRule
    classes: int


@dataclass(frozen=True, slots=True)
class PackedLeaves:
    """`LeafSums` with its kernel folded into the tables as in `PackedSum`, vectors in blocks of lanes.

    Every leaf fills whole blocks; lanes of one make plain code. ends[c] counts the vectors of the
    leaf up to and with the class members[c]. With "sum" every place of a block has a weight, zero
    where it fills up. Else the weights of leaf l begin at places[l], and `lanes` numbers follow the last
    ones, so that a vector of them may be read from anywhere. The biases of leaf l begin at bias_firsts[l].
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    leaf: Value
    vectors: Table  # [blocks, d, lanes]; the last may belong to no leaf
    offsets: Table  # [blocks * lanes] for "exp2", else [1]
    starts: IndexTable  # [leaves + 1], in blocks
    members: IndexTable
    firsts: IndexTable
    ends: IndexTable
    weights: Table
    places: IndexTable  # [leaves + 1]
    bias: Table
    bias_firsts: IndexTable  # [leaves + 1]
    rule: LeafRule
    classes: int
    shape: Shape
    degree: int
