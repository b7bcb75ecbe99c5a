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
from svmcompile.ir.kernel import Kernel, kernel_errors, packed_values, poisoned, shaped, summing_error
from svmcompile.ir.kinds import Floats, IndexTable, Kind, LeafRule, Level, Shape, Table, Type, Value
from svmcompile.ir.layout import check_compressed, compressed, rows_of
from svmcompile.ir.leaf_layout import Leaf, columns_of, sums_of
from svmcompile.ir.node import At, Node, Result, Work, dims, mean_or_most, need, rising, shape_flops, within
from svmcompile.ir.whole_numbers import Wholes, whole

MOST_CLASSES = 1 << 15  # pairs of them are counted in 32 bits


class SumsOfLeaves(Node):
    """Kernel sums over the vectors of leaves; how these are stored is the difference."""

    __slots__ = ()
    flat_tables: ClassVar[tuple[str, ...]] = ("weights",)
    is_adaptive: ClassVar = True

    @abstractmethod
    def leaf_vectors(self, at: At) -> Wholes:
        """Vectors of each leaf, without what fills up."""

    def product_flops(self, at: At) -> Wholes:
        """Flops of the dot products of each leaf; of a row that has every feature."""
        if hasattr(self, "vector_starts"):
            entries = whole(at.vector_starts)[whole(at.starts)]
            return np.asarray(2 * np.diff(entries))
        return np.asarray(self.leaf_vectors(at) * 2 * at.x.width)

    def work(self, at: At, rows: At | None) -> Work:
        columns, vectors = columns_of(at.rule, np.diff(whole(at.firsts))), self.leaf_vectors(at)
        flops = self.product_flops(at) + vectors * (shape_flops(at.shape, at.degree) + 2 * columns)
        met, flops_met = (mean_or_most(n, rows, "leaf") for n in (vectors, flops))
        return Work(met, flops_met + at.out.width)


class KernelSumsOfLeaves(SumsOfLeaves):
    """What `LeafSums` and `CsrLeaves` share; how vectors are stored is the difference."""

    __slots__ = ()
    level: ClassVar = Level.MATH
    kernel: Kernel

    @property
    def shape(self) -> str:
        return self.kernel.shape

    @property
    def degree(self) -> int:
        return self.kernel.degree

    @abstractmethod
    def vectors_met(self, at: At, leaf: Leaf, width: int) -> Any:
        """The vectors of a leaf: an array, or compressed rows."""

    @abstractmethod
    def vector_count(self, at: At) -> int:
        """Vectors of all leaves."""

    def result(self, at: At) -> Type:
        need(at.kernel.kind != "precomputed", "leaves have vectors, which a precomputed kernel has not")
        vectors, classes = sound_leaves(at, self.vector_count(at))
        coefficients = int((vectors * columns_of(at.rule, classes)).sum())
        at.fit(coefficients=coefficients, sums=int(sums_of(at.rule, classes).sum()))
        return _scores(at)

    def leaf_vectors(self, at: At) -> Wholes:
        return np.diff(whole(at.starts))

    def run(self, at: At) -> NDArray[Any]:
        x, fallen = at.x, at.leaf
        out = layout.empty_scores(at.rule, at.classes, len(x), x.dtype)
        for leaf in layout.leaves(at):
            rows = np.flatnonzero(fallen == leaf.number)
            if len(rows):
                values = at.kernel.values(x[rows], self.vectors_met(at, leaf, x.shape[1]))
                weights = layout.own_weights(leaf, at.weights)
                sums = layout.leaf_sums(at.rule, values, weights, leaf.counts)
                found = layout.leaf_scores(at.rule, sums + at.bias[leaf.bias], leaf.members)
                out[np.ix_(rows, layout.leaf_columns(at.rule, leaf.members))] = found
        return poisoned(x, out)

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x = self.value(at), at.x
        error, unstable = np.zeros(value.shape), np.zeros(len(value), dtype=bool)
        for leaf in layout.leaves(at):
            rows = np.flatnonzero(at.leaf.value == leaf.number)
            if len(rows) and (leaf.has_sums or at.rule == "sum"):
                part = Bounded(x.value[rows], x.error[rows], x.unstable[rows])
                sums, errors = self._sums(at, leaf, part, a)
                if at.rule == "vote":
                    unstable[rows] = ~(np.abs(sums) > errors).all(axis=1)
                else:
                    error[np.ix_(rows, layout.leaf_columns(at.rule, leaf.members))] = errors
        return value, error, unstable

    def _sums(self, at: At, leaf: Leaf, x: Bounded, a: Arithmetic) -> tuple[Floats, Array]:
        """The sums of a leaf and bounds on their errors."""
        vectors, bias = self.vectors_met(at, leaf, x.value.shape[1]), at.bias[leaf.bias]
        weights = layout.own_weights(leaf, at.weights)
        kernel, errors = kernel_errors(at.kernel, x, vectors, a)
        sums = layout.leaf_sums(at.rule, kernel, weights, leaf.counts) + bias

        def over(sizes: Array) -> Array:
            return layout.leaf_sums(at.rule, sizes, np.abs(weights), leaf.counts).astype(np.float64)

        return sums, summing_error(kernel, errors, over, sums, bias, a)


@dataclass(frozen=True, slots=True)
class LeafSums(KernelSumsOfLeaves):
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

    def vectors_met(self, at: At, leaf: Leaf, width: int) -> Any:
        return at.vectors[leaf.vectors]

    def vector_count(self, at: At) -> int:
        return len(at.vectors)


@dataclass(frozen=True, slots=True)
class CsrLeaves(KernelSumsOfLeaves):
    """`LeafSums` over vectors of which zeros are not stored, as in `CsrSum`: vector i has `values` from
    vector_starts[i] to vector_starts[i + 1] - 1, in the features that `columns` tells there.
    """

    flat_tables: ClassVar = ("weights", "columns", "values", "vector_starts")
    out: Value
    x: Value
    leaf: Value
    vector_starts: IndexTable = field(metadata=dims("n+1"))
    columns: IndexTable = field(metadata=dims("entries"))
    values: Table = field(metadata=dims("entries"))
    starts: IndexTable = field(metadata=dims("leaves+1"))
    members: IndexTable = field(metadata=dims("members"))
    firsts: IndexTable = field(metadata=dims("leaves+1"))
    counts: IndexTable = field(metadata=dims("members"))
    weights: Table = field(metadata=dims("coefficients"))
    bias: Table = field(metadata=dims("sums"))
    kernel: Kernel
    rule: LeafRule
    classes: int

    def result(self, at: At) -> Type:
        found = KernelSumsOfLeaves.result(self, at)
        check_compressed(at.vector_starts, at.columns, at.d)
        return found

    @property
    def values_for_cost(self) -> tuple[Value, ...]:
        return (self.out, self.leaf)  # rows are wide

    def vectors_met(self, at: At, leaf: Leaf, width: int) -> Any:
        starts = at.vector_starts[leaf.vectors.start : leaf.vectors.stop + 1]
        own = slice(starts[0], starts[-1])
        return compressed(starts - starts[0], at.columns[own], at.values[own], width)

    def vector_count(self, at: At) -> int:
        return len(at.vector_starts) - 1


class FoldedLeaves(SumsOfLeaves):
    """What `PackedLeaves` and `SparseLeaves` share."""

    __slots__ = ()
    level: ClassVar = Level.MACHINE

    @abstractmethod
    def extent(self, at: At) -> tuple[int, int]:
        """Blocks, and the vectors of one."""

    @abstractmethod
    def leaf_values(self, at: At, x: Floats, leaf: int) -> Floats:
        """Kernel values of rows with the vectors of a leaf, what fills up included."""

    def result(self, at: At) -> Type:
        need(at.shape != "given", "leaves have vectors")
        blocks, lanes = self.extent(at)
        need(lanes > 0, "blocks have no lanes")
        at.fit(offsets=(blocks * lanes if at.shape == "exp2" else 1,))
        classes = _leaf_classes(at)
        starts = whole(at.starts)
        rising(starts, int(starts[-1]), "blocks")
        need(bool(starts[-1] <= blocks), "leaves have more blocks than there are")
        _ends(at, classes, np.diff(starts) * lanes)
        packed = layout.packed_layout(at, self.extent(at)[1])
        need(np.array_equal(whole(at.places), packed.places), "places of weights do not fit")
        need(np.array_equal(whole(at.bias_firsts), packed.bias_firsts), "biases do not fit")
        held = blocks * lanes if at.rule == "sum" else int(packed.places[-1]) + lanes
        need(at.weights.size >= held, "weights are missing")
        need(at.bias.size >= packed.bias_firsts[-1], "biases are missing")
        return _scores(at)

    def leaf_vectors(self, at: At) -> Wholes:
        return layout.packed_layout(at, self.extent(at)[1]).vectors

    def run(self, at: At) -> NDArray[Any]:
        x, fallen = at.x, at.leaf
        out = layout.empty_scores(at.rule, at.classes, len(x), x.dtype)
        firsts, members, lanes = whole(at.firsts), whole(at.members), self.extent(at)[1]
        for leaf in range(len(firsts) - 1):
            rows = np.flatnonzero(fallen == leaf)
            if len(rows):
                own = members[firsts[leaf] : firsts[leaf + 1]]
                found = layout.leaf_scores(
                    at.rule, layout.packed_sums(at, self.leaf_values(at, x[rows], leaf), leaf, lanes), own
                )
                out[np.ix_(rows, layout.leaf_columns(at.rule, own))] = found.astype(x.dtype)
        return poisoned(x, out)


@dataclass(frozen=True, slots=True)
class PackedLeaves(FoldedLeaves):
    """`LeafSums` with its kernel folded into the tables as in `PackedSum`, vectors in blocks of lanes.

    Every leaf fills whole blocks; lanes of one make plain code. ends[c] counts the vectors of the
    leaf up to and with the class members[c]. With "sum" every place of a block has a weight, zero
    where it fills up. Else the weights of leaf l begin at places[l], and `lanes` numbers follow the last
    ones, so that a vector of them may be read from anywhere. The biases of leaf l begin at bias_firsts[l].
    """

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

    def extent(self, at: At) -> tuple[int, int]:
        need(at.vectors.ndim == 3, "vectors are not in blocks")
        blocks, _, lanes = at.vectors.shape
        return int(blocks), int(lanes)

    def leaf_values(self, at: At, x: Floats, leaf: int) -> Floats:
        starts, lanes = whole(at.starts), at.vectors.shape[2]
        vectors = rows_of(at.vectors[starts[leaf] : starts[leaf + 1]])
        return packed_values(at, x, vectors, layout.own_offsets(at, leaf, lanes))


@dataclass(frozen=True, slots=True)
class SparseLeaves(FoldedLeaves):
    """`PackedLeaves` with lanes of one and vectors of which zeros are not stored, as in `CsrLeaves`."""

    flat_tables: ClassVar = ("weights", "features", "entries", "vector_starts")
    out: Value
    x: Value
    leaf: Value
    vector_starts: IndexTable = field(metadata=dims("n+1"))
    features: IndexTable = field(metadata=dims("count"))
    entries: Table = field(metadata=dims("count"))
    offsets: Table  # [n] for "exp2", else [1]
    starts: IndexTable = field(metadata=dims("leaves+1"))
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
        found = FoldedLeaves.result(self, at)
        check_compressed(at.vector_starts, at.features, at.d)
        return found

    @property
    def values_for_cost(self) -> tuple[Value, ...]:
        return (self.out, self.leaf)  # rows are wide

    def extent(self, at: At) -> tuple[int, int]:
        return len(at.vector_starts) - 1, 1

    def leaf_values(self, at: At, x: Floats, leaf: int) -> Floats:
        first, last = whole(at.starts)[leaf : leaf + 2]
        starts = whole(at.vector_starts)[first : last + 1]
        own = slice(starts[0], starts[-1])
        vectors = compressed(
            starts - starts[0], at.columns[own].astype(np.int64), at.values[own], x.shape[1]
        )
        return shaped(at, x, x @ vectors.T + layout.own_offsets(at, leaf, 1))


def sound_leaves(at: At, n: int) -> tuple[Wholes, Wholes]:
    """How many of n vectors, and how many classes, each leaf has."""
    at.fit()
    classes = _leaf_classes(at)
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
