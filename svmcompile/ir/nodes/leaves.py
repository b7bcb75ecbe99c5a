"""Nodes of kernel sums that belong to the leaves of a tree, on both levels.

A leaf has vectors and classes of its own: vectors in the order of its classes, classes ascending.
How many weights a vector has and how many sums there are goes by the rule and by the number k of
the leaf's classes: "sum" 1 and 1, "vote" k - 1 and k (k - 1) / 2, "ovr" k and k; a leaf of one
class is constant and has no vectors (and, but for "sum", no sums).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import leaf_layout as layout
from svmcompile.ir.arithmetic import Arithmetic, Array, Bounded
from svmcompile.ir.kernel import Kernel, kernel_errors, poisoned, summing_error
from svmcompile.ir.kinds import Floats, IndexTable, Kind, LeafRule, Level, Shape, Table, Type, Value
from svmcompile.ir.leaf_layout import Leaf, columns_of, sums_of
from svmcompile.ir.node import At, Node, Result, Work, dims, mean_or_most, need, rising, shape_flops, within
from svmcompile.ir.whole_numbers import Wholes, whole

MOST_CLASSES = 1 << 15  # pairs of them are counted in 32 bits


class SumsOfLeaves(Node):
    """Kernel sums over the vectors of leaves; how these are stored is the difference."""

    __slots__ = ()
    flat_tables: ClassVar = ("weights",)
    is_adaptive: ClassVar = True

    @abstractmethod
    def leaf_vectors(self, at: At) -> Wholes:
        """Vectors of each leaf, without what fills up."""

    def work(self, at: At, rows: At | None) -> Work:
        columns, vectors = columns_of(at.rule, np.diff(whole(at.firsts))), self.leaf_vectors(at)
        per_vector = 2 * at.x.width + shape_flops(at.shape, at.degree) + 2 * columns
        met, flops_met = (mean_or_most(n, rows, "leaf") for n in (vectors, vectors * per_vector))
        return Work(met, flops_met + at.out.width)


@dataclass(frozen=True, slots=True)
class LeafSums(SumsOfLeaves):
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
    vectors: Table = field(metadata=dims("n d"))
    starts: IndexTable = field(metadata=dims("leaves+1"))
    members: IndexTable = field(metadata=dims("members"))  # classes of all leaves
    firsts: IndexTable = field(metadata=dims("leaves+1"))
    counts: IndexTable = field(metadata=dims("members"))
    weights: Table = field(metadata=dims("coefficients"))
    bias: Table = field(metadata=dims("sums"))  # of all leaves
    kernel: Kernel
    rule: LeafRule
    classes: int

    def result(self, at: At) -> Type:
        need(self.kernel.kind != "precomputed", "leaves have vectors, which a precomputed kernel has not")
        vectors, classes = sound_leaves(at)
        coefficients = int((vectors * columns_of(self.rule, classes)).sum())
        at.fit(coefficients=coefficients, sums=int(sums_of(self.rule, classes).sum()))
        return _scores(at)

    @property
    def shape(self) -> str:
        return self.kernel.shape

    @property
    def degree(self) -> int:
        return self.kernel.degree

    def leaf_vectors(self, at: At) -> Wholes:
        return np.diff(whole(at.starts))

    def run(self, at: At) -> NDArray[Any]:
        x, fallen = at.x, at.leaf
        out = layout.empty_scores(self.rule, self.classes, len(x), x.dtype)
        for leaf in layout.leaves(at):
            rows = np.flatnonzero(fallen == leaf.number)
            if len(rows):
                values = self.kernel.values(x[rows], at.vectors[leaf.vectors])
                weights = layout.own_weights(leaf, at.weights)
                sums = layout.leaf_sums(self.rule, values, weights, leaf.counts)
                found = layout.leaf_scores(self.rule, sums + at.bias[leaf.bias], leaf.members)
                out[np.ix_(rows, layout.leaf_columns(self.rule, leaf.members))] = found
        return poisoned(x, out)

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x = self.value(at), at.x
        error, unstable = np.zeros(value.shape), np.zeros(len(value), dtype=bool)
        for leaf in layout.leaves(at):
            rows = np.flatnonzero(at.leaf.value == leaf.number)
            if len(rows) and (leaf.has_sums or self.rule == "sum"):
                part = Bounded(x.value[rows], x.error[rows], x.unstable[rows])
                sums, errors = _sums(at, leaf, part, a)
                if self.rule == "vote":
                    unstable[rows] = ~(np.abs(sums) > errors).all(axis=1)
                else:
                    error[np.ix_(rows, layout.leaf_columns(self.rule, leaf.members))] = errors
        return value, error, unstable


@dataclass(frozen=True, slots=True)
class PackedLeaves(SumsOfLeaves):
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
    vectors: Table = field(metadata=dims("blocks d lanes"))  # the last may belong to no leaf
    offsets: Table  # [blocks * lanes] for "exp2", else [1]
    starts: IndexTable = field(metadata=dims("leaves+1"))  # in blocks
    members: IndexTable = field(metadata=dims("members"))
    firsts: IndexTable = field(metadata=dims("leaves+1"))
    ends: IndexTable = field(metadata=dims("members"))
    weights: Table = field(metadata=dims("coefficients"))
    places: IndexTable = field(metadata=dims("leaves+1"))
    bias: Table = field(metadata=dims("sums"))
    bias_firsts: IndexTable = field(metadata=dims("leaves+1"))
    rule: LeafRule
    classes: int
    shape: Shape
    degree: int

    def result(self, at: At) -> Type:
        need(self.shape != "given", "leaves have vectors")
        need(at.vectors.ndim == 3, "vectors are not in blocks")
        blocks, _, lanes = at.vectors.shape
        need(lanes > 0, "blocks have no lanes")
        at.fit(offsets=(blocks * lanes if self.shape == "exp2" else 1,))
        classes = _leaf_classes(at)
        starts = whole(at.starts)
        rising(starts, int(starts[-1]), "blocks")
        need(bool(starts[-1] <= blocks), "leaves have more blocks than there are")
        _ends(at, classes, np.diff(starts) * lanes)
        packed = layout.packed_layout(at)
        need(np.array_equal(whole(at.places), packed.places), "places of weights do not fit")
        need(np.array_equal(whole(at.bias_firsts), packed.bias_firsts), "biases do not fit")
        held = blocks * lanes if self.rule == "sum" else int(packed.places[-1]) + lanes
        need(at.weights.size >= held, "weights are missing")
        need(at.bias.size >= packed.bias_firsts[-1], "biases are missing")
        return _scores(at)

    def leaf_vectors(self, at: At) -> Wholes:
        return layout.packed_layout(at).vectors

    def run(self, at: At) -> NDArray[Any]:
        x, fallen = at.x, at.leaf
        out = layout.empty_scores(self.rule, self.classes, len(x), x.dtype)
        firsts, members = whole(at.firsts), whole(at.members)
        for leaf in range(len(firsts) - 1):
            rows = np.flatnonzero(fallen == leaf)
            if len(rows):
                own = members[firsts[leaf] : firsts[leaf + 1]]
                found = layout.leaf_scores(self.rule, layout.packed_sums(at, x[rows], leaf), own)
                out[np.ix_(rows, layout.leaf_columns(self.rule, own))] = found.astype(x.dtype)
        return poisoned(x, out)


def sound_leaves(at: At) -> tuple[Wholes, Wholes]:
    """How many vectors and classes each leaf has."""
    at.fit()
    classes, n = _leaf_classes(at), len(at.vectors)
    rising(at.starts, n, "vectors")
    within(at.counts, n + 1, "a number of vectors")
    vectors = np.diff(whole(at.starts))
    total = np.add.reduceat(whole(at.counts), whole(at.firsts)[:-1])
    need(np.array_equal(total, vectors), "counts of classes do not make up the vectors of their leaf")
    need(not vectors[classes == 1].any(), "a leaf of one class has vectors")
    return vectors, classes


def _leaf_classes(at: At) -> Wholes:
    """How many classes each leaf has."""
    need(2 <= at.classes <= MOST_CLASSES, f"{at.classes} classes are too few or too many")
    need(at.rule != "sum" or at.classes == 2, "the rule of sums is for two classes")
    members, firsts = at.members, at.firsts
    rising(firsts, len(members), "classes of leaves")
    within(members, at.classes, "a class")
    classes = np.diff(whole(firsts))
    need(bool((classes > 0).all()), "a leaf has no class")
    inside = np.ones(len(members), dtype=bool)
    inside[whole(firsts)[:-1]] = False  # the first of each leaf has none before it
    steps = np.diff(whole(members), prepend=-1)
    need(bool((steps[inside] > 0).all()), "the classes of a leaf are not ascending")
    return classes


def _scores(at: At) -> Type:
    return Type(Kind.SCORES, 1 if at.rule == "sum" else at.classes)


def _ends(at: At, classes: Wholes, room: Wholes) -> None:
    """Vectors of a leaf's classes follow each other within its blocks."""
    ends, firsts = whole(at.ends), whole(at.firsts)
    within(ends, int(room.max(initial=0)) + 1, "an end")
    before = np.concatenate([[0], ends[:-1]])
    before[firsts[:-1]] = 0
    need(bool((ends >= before).all()), "the ends of a leaf's classes do not rise")
    vectors = ends[firsts[1:] - 1]
    need(bool((vectors <= room).all()), "a leaf counts more vectors than it has")
    need(not vectors[classes == 1].any(), "a leaf of one class has vectors")


def _sums(at: At, leaf: Leaf, x: Bounded, a: Arithmetic) -> tuple[Floats, Array]:
    """The sums of a leaf and bounds on their errors."""
    vectors, bias = at.vectors[leaf.vectors], at.bias[leaf.bias]
    weights = layout.own_weights(leaf, at.weights)
    kernel, errors = kernel_errors(at.kernel, x, vectors, a)
    sums = layout.leaf_sums(at.rule, kernel, weights, leaf.counts) + bias

    def over(sizes: Array) -> Array:
        return layout.leaf_sums(at.rule, sizes, np.abs(weights), leaf.counts).astype(np.float64)

    return sums, summing_error(kernel, errors, over, sums, bias, a)
