"""Nodes of trees in whole numbers: functions of leaves, tests by kernel values, sums of leaves.

Routes by planes and axes and lists of half-spaces are the nodes of floats, with tables of whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import leaf_layout as layout
from svmcompile.ir import whole_numbers as wn
from svmcompile.ir.kinds import IndexTable, Kind, LeafRule, Level, Shape, Table, Type, Value
from svmcompile.ir.leaf_layout import Leaf, columns_of, sums_of
from svmcompile.ir.node import At, Node, Work, dims, mean_or_most, need, within
from svmcompile.ir.nodes.leaves import sound_leaves
from svmcompile.ir.nodes.paths import fit_path
from svmcompile.ir.nodes.trees import fit_functions
from svmcompile.ir.walks import Paths, leaf_functions, path_evaluations, paths
from svmcompile.ir.whole_numbers import INT32, Wholes, fits, whole

LOWEST = -(1 << 31)  # the score of a class that is not in the leaf, where sums are compared


@dataclass(frozen=True, slots=True)
class FixedLeaves(Node):
    """`LeafAffine` in whole numbers.

    out = bias[leaf]; for r from starts[leaf] to starts[leaf + 1] - 1:
    out[sums[r]] += (weights[r] . x) / 2^shifts[r] to the nearest
    """

    level: ClassVar = Level.MACHINE
    is_whole: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    leaf: Value
    starts: IndexTable = field(metadata=dims("leaves+1"))
    sums: IndexTable = field(metadata=dims("functions"))
    weights: Table = field(metadata=dims("functions d"))
    shifts: IndexTable = field(metadata=dims("functions"))
    bias: Table = field(metadata=dims("leaves scores"))

    def result(self, at: At) -> Type:
        wn.whole_features(at)
        scores = fit_functions(at)
        within(at.shifts, 31, "a shift")
        return Type(Kind.SCORES, scores, whole="i32", limit=_leaf_limit(at))

    def run(self, at: At) -> NDArray[Any]:
        x, leaf = at.x.astype(np.int64), at.leaf
        weights, shifts = whole(at.weights), whole(at.shifts)
        out = whole(at.bias)[leaf]
        for rows, functions in leaf_functions(leaf, at.starts):
            dots = np.einsum("ij,ij->i", x[rows], weights[functions])
            out[rows, at.sums[functions]] += shifted(dots, shifts[functions])
        return out

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, mean_or_most(np.diff(whole(at.starts)), rows, "leaf") * 2 * at.x.width)


@dataclass(frozen=True, slots=True)
class FixedPath(Node):
    """`PathSum` in whole numbers: kernel values as in `FixedSum`, thresholds and weights to match.

    At the leaf out = bias[leaf] + (sum_l weights[starts[leaf] + l] * value[l]) / 2^shift to the nearest.
    """

    level: ClassVar = Level.MACHINE
    is_whole: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    vectors: Table = field(metadata=dims("n d"))
    offsets: Table = field(metadata=dims("n"))
    curve: Table = field(metadata=dims("points"))
    picks: IndexTable = field(metadata=dims("nodes"))
    thresholds: Table = field(metadata=dims("nodes"))
    children: IndexTable = field(metadata=dims("nodes 2"))
    starts: IndexTable = field(metadata=dims("leaves+1"))
    weights: Table = field(metadata=dims("coefficients scores"))
    bias: Table = field(metadata=dims("leaves scores"))
    shape: Shape
    degree: int
    cell_bits: int
    offset_shift: int
    shift: int

    def result(self, at: At) -> Type:
        scores = fit_path(at, wn.whole_features(at))
        leaf = np.repeat(np.arange(len(at.bias)), np.diff(whole(at.starts)))
        sums = np.zeros(at.bias.shape, dtype=np.int64)
        np.add.at(sums, leaf, np.abs(whole(at.weights)))
        return wn.summed_scores(at, scores, int(sums.max()) * wn.kernel_limit(at), "a weighted sum")

    def run(self, at: At) -> NDArray[Any]:
        path = fixed_path(at, at.x)
        weights = whole(at.weights)
        sums = np.zeros((len(path.leaf), weights.shape[1]), dtype=np.int64)
        for level, (rows, functions) in enumerate(leaf_functions(path.leaf, at.starts)):
            sums[rows] += weights[functions] * path.met[rows, level : level + 1].astype(np.int64)
        return wn.rounded_shift(sums, self.shift) + whole(at.bias)[path.leaf]

    def near(self, at: At, slack: NDArray[Any]) -> NDArray[np.bool_]:
        path, thresholds = fixed_path(at, at.x), whole(at.thresholds)
        met = np.maximum(path.nodes, 0)
        close = np.abs(path.met - thresholds[met]) <= slack[met]
        return np.asarray((close & (path.nodes >= 0)).any(axis=1))

    def work(self, at: At, rows: At | None) -> Work:
        most = int(path_evaluations(at.picks, at.children).max())
        return Work(most, most * _per_value(at, at.weights.shape[1]))


@dataclass(frozen=True, slots=True)
class FixedLeafSums(Node):
    """`LeafSums` in whole numbers: kernel values as in `FixedSum`; for absent classes the lowest int32.

    `places` and `bias_firsts` tell where the weights and biases of each leaf begin.
    """

    level: ClassVar = Level.MACHINE
    is_whole: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    leaf: Value
    vectors: Table = field(metadata=dims("n d"))
    offsets: Table = field(metadata=dims("n"))
    curve: Table = field(metadata=dims("points"))
    starts: IndexTable = field(metadata=dims("leaves+1"))
    members: IndexTable = field(metadata=dims("members"))  # classes of all leaves
    firsts: IndexTable = field(metadata=dims("leaves+1"))
    counts: IndexTable = field(metadata=dims("members"))
    weights: Table = field(metadata=dims("coefficients"))
    places: IndexTable = field(metadata=dims("leaves+1"))
    bias: Table = field(metadata=dims("sums"))  # of all leaves
    bias_firsts: IndexTable = field(metadata=dims("leaves+1"))
    rule: LeafRule
    classes: int
    shape: Shape
    degree: int
    cell_bits: int
    offset_shift: int
    shift: int

    def result(self, at: At) -> Type:
        n, classes = sound_leaves(at, len(at.vectors))
        places = layout.running(n * columns_of(self.rule, classes))
        firsts = layout.running(sums_of(self.rule, classes))
        need(np.array_equal(whole(at.places), places), "places of weights do not fit")
        need(np.array_equal(whole(at.bias_firsts), firsts), "biases do not fit")
        need(at.weights.size >= places[-1] and at.bias.size >= firsts[-1], "weights are missing")
        largest = (
            wn.kernel_limit(at) * int(np.abs(whole(at.weights)).max(initial=0)) * int(n.max(initial=0))
        )
        return wn.summed_scores(at, 1 if self.rule == "sum" else self.classes, largest, "a weighted sum")

    def run(self, at: At) -> NDArray[Any]:
        out = layout.empty_scores(self.rule, self.classes, len(at.x), np.int64, lowest=LOWEST)
        kernel = wn.fixed_kernel(at, at.x.astype(np.int64))
        for leaf in layout.leaves(at):
            rows = np.flatnonzero(at.leaf == leaf.number)
            scores = layout.leaf_scores(self.rule, _leaf_sums(at, leaf, kernel[rows]), leaf.members)
            out[np.ix_(rows, layout.leaf_columns(self.rule, leaf.members))] = scores
        return out

    def work(self, at: At, rows: At | None) -> Work:
        n = np.diff(whole(at.starts))
        columns = columns_of(self.rule, np.diff(whole(at.firsts)))
        flops = n * np.array([_per_value(at, int(one)) for one in columns])
        return Work(*(mean_or_most(part, rows, "leaf") for part in (n, flops)))


def _leaf_limit(at: At) -> int:
    """The largest score of any leaf."""
    shifts = whole(at.shifts)
    reach = at.x.limit * wn.sizes(whole(at.weights)) + ((1 << shifts) >> 1)
    fits(int(reach.max()), INT32, "a dot product")
    bias = np.abs(whole(at.bias))
    total = bias.copy()
    leaf = np.repeat(np.arange(len(bias)), np.diff(whole(at.starts)))
    np.add.at(total, (leaf, at.sums), (reach >> shifts) + 1)
    return fits(int(total.max()), INT32, "a score")


def _per_value(at: At, weights: int) -> int:
    return int(2 * at.x.width + wn.kernel_flops(at) + 2 * weights)


def shifted(values: Wholes, bits: Wholes) -> Wholes:
    """Each divided by its own power of two, to the nearest."""
    return np.asarray((values + ((1 << bits) >> 1)) >> bits)


def fixed_path(at: At, x: NDArray[Any]) -> Paths:
    """The paths of all rows."""
    kernel: Any = wn.fixed_kernel(at, x.astype(np.int64))
    thresholds: Any = whole(at.thresholds)
    return paths(kernel, at.picks, thresholds, at.children)


def _leaf_sums(at: At, leaf: Leaf, kernel: Wholes) -> Wholes:
    """The sums of a leaf, bias included."""
    bias = whole(at.bias)[leaf.bias]
    if not leaf.has_sums:
        return np.repeat(bias[None], len(kernel), axis=0)
    counts = leaf.counts if at.rule == "vote" else ()
    sums = wn.weighted(kernel[:, leaf.vectors], layout.own_weights(leaf, whole(at.weights)), counts)
    return wn.rounded_shift(sums, at.shift) + bias
