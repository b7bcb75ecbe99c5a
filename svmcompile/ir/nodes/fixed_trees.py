"""Nodes of trees in whole numbers: functions of leaves, tests by kernel values, sums of leaves.

Routes by planes and axes and lists of half-spaces are the nodes of floats, with tables of whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kinds import IndexTable, Kind, LeafRule, Level, Shape, Table, Type, Value
from svmcompile.ir.leaf_layout import Leaf, columns_of, leaves, running, sums_of
from svmcompile.ir.node import At, Node, Work, links_of, need, rising, shapes, within
from svmcompile.ir.nodes.leaves import sound_leaves
from svmcompile.ir.walks import Paths, leaf_functions, path_evaluations, paths, sound_path
from svmcompile.ir.whole_numbers import (
    INT32,
    INT64,
    Wholes,
    fits,
    fixed_kernel,
    kernel_flops,
    kernel_limit,
    rounded_shift,
    sizes,
    sound_shift,
    weighted,
    whole,
    whole_features,
)

ABSENT = -(1 << 31)  # the score of a class that is not in the leaf, where sums are compared


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
    starts: IndexTable  # [leaves + 1]
    sums: IndexTable  # [functions]
    weights: Table  # [functions, d]
    shifts: IndexTable  # [functions]
    bias: Table  # [leaves, m]

    def result(self, at: At) -> Type:
        need(at.leaf.kind is Kind.INDEX, f"%{self.leaf} is not an index")
        leaves, width = at.leaf.width, whole_features(at)
        functions = len(at.sums)
        need(functions > 0 and at.bias.ndim == 2, "functions or bias are missing")
        m = int(at.bias.shape[1])
        shapes(
            at,
            starts=(leaves + 1,),
            sums=(functions,),
            weights=(functions, width),
            shifts=(functions,),
            bias=(leaves, m),
        )
        rising(at.starts, functions)
        within(at.sums, m, "a sum")
        within(at.shifts, 31, "a shift")
        return Type(Kind.SCORES, m, whole="i32", limit=_leaf_limit(at))

    def run(self, at: At) -> NDArray[Any]:
        x, leaf = at.x.astype(np.int64), at.leaf
        weights, shifts = whole(at.weights), whole(at.shifts)
        out = whole(at.bias)[leaf]
        for rows, functions in leaf_functions(leaf, at.starts):
            dots = np.einsum("ij,ij->i", x[rows], weights[functions])
            out[rows, at.sums[functions]] += shifted(dots, shifts[functions])
        return out

    def work(self, at: At, rows: At | None) -> Work:
        functions = np.diff(whole(at.starts))
        per_row = functions.max() if rows is None else functions[rows.leaf].mean()
        return Work(0, float(per_row) * 2 * at.x.width)


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
    vectors: Table
    offsets: Table
    curve: Table
    picks: IndexTable
    thresholds: Table
    children: IndexTable
    starts: IndexTable
    weights: Table  # [coefficients, m]
    bias: Table  # [leaves, m]
    shape: Shape
    degree: int
    cell_bits: int
    offset_shift: int
    shift: int

    def result(self, at: At) -> Type:
        links = links_of(at)
        most = kernel_limit(at)
        need(at.bias.ndim == 2 and at.bias.size > 0, "bias is missing")
        leaves, m = at.bias.shape
        nodes = (len(links),)
        shapes(
            at,
            picks=nodes,
            thresholds=nodes,
            starts=(leaves + 1,),
            weights=(len(at.weights), m),
            bias=(leaves, m),
        )
        rising(at.starts, len(at.weights), "coefficients")
        sound_path(links, at.picks, at.starts, len(at.vectors))
        sound_shift(self.shift)
        leaf = np.repeat(np.arange(leaves), np.diff(whole(at.starts)))
        sums = np.zeros((leaves, m), dtype=np.int64)
        np.add.at(sums, leaf, np.abs(whole(at.weights)))
        largest = fits(int(sums.max()) * most + ((1 << self.shift) >> 1), INT64, "a weighted sum")
        bias = int(np.abs(whole(at.bias)).max(initial=0))
        limit = fits((largest >> self.shift) + 1 + bias, INT32, "a score")
        return Type(Kind.SCORES, int(m), whole="i32", limit=limit)

    def run(self, at: At) -> NDArray[Any]:
        path = fixed_path(at, at.x)
        weights = whole(at.weights)
        sums = np.zeros((len(path.leaf), weights.shape[1]), dtype=np.int64)
        for level, (rows, functions) in enumerate(leaf_functions(path.leaf, at.starts)):
            sums[rows] += weights[functions] * path.met[rows, level : level + 1].astype(np.int64)
        return rounded_shift(sums, self.shift) + whole(at.bias)[path.leaf]

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
    vectors: Table
    offsets: Table
    curve: Table
    starts: IndexTable  # [leaves + 1]
    members: IndexTable  # [classes of all leaves]
    firsts: IndexTable  # [leaves + 1]
    counts: IndexTable  # [classes of all leaves]
    weights: Table  # [coefficients]
    places: IndexTable  # [leaves + 1]
    bias: Table  # [sums of all leaves]
    bias_firsts: IndexTable  # [leaves + 1]
    rule: LeafRule
    classes: int
    shape: Shape
    degree: int
    cell_bits: int
    offset_shift: int
    shift: int

    def result(self, at: At) -> Type:
        sound_leaves(at)
        most = kernel_limit(at)
        classes, n = np.diff(whole(at.firsts)), np.diff(whole(at.starts))
        places, firsts = running(n * columns_of(self.rule, classes)), running(sums_of(self.rule, classes))
        need(np.array_equal(whole(at.places), places), "places of weights do not fit")
        need(np.array_equal(whole(at.bias_firsts), firsts), "biases do not fit")
        need(
            at.weights.size >= places[-1] and at.bias.size >= firsts[-1],
            "weights are missing",
        )
        sound_shift(self.shift)
        sums = most * int(np.abs(whole(at.weights)).max(initial=0)) * int(n.max(initial=0))
        largest = fits(sums + ((1 << self.shift) >> 1), INT64, "a weighted sum")
        bias = int(np.abs(whole(at.bias)).max(initial=0))
        limit = fits((largest >> self.shift) + 1 + bias, INT32, "a score")
        return Type(Kind.SCORES, 1 if self.rule == "sum" else self.classes, whole="i32", limit=limit)

    def run(self, at: At) -> NDArray[Any]:
        x, fallen = at.x.astype(np.int64), at.leaf
        width = 1 if self.rule == "sum" else self.classes
        out = np.full((len(x), width), -1 if self.rule == "vote" else ABSENT if self.rule == "ovr" else 0)
        kernel = fixed_kernel(at, x)
        for leaf in leaves(at):
            rows = np.flatnonzero(fallen == leaf.number)
            columns = np.zeros(1, dtype=np.int64) if self.rule == "sum" else leaf.members
            out[np.ix_(rows, columns)] = _leaf_scores(at, leaf, kernel[rows])
        return out

    def work(self, at: At, rows: At | None) -> Work:
        n = np.diff(whole(at.starts))
        columns = columns_of(self.rule, np.diff(whole(at.firsts)))
        flops = n * np.array([_per_value(at, int(one)) for one in columns])
        if rows is None:
            return Work(float(n.max()), float(flops.max()))
        leaf = rows.leaf
        return Work(float(n[leaf].mean()), float(flops[leaf].mean()))


def _leaf_limit(at: At) -> int:
    """The largest score of any leaf."""
    shifts = whole(at.shifts)
    reach = at.x.limit * sizes(whole(at.weights)) + ((1 << shifts) >> 1)
    fits(int(reach.max()), INT32, "a dot product")
    bias = np.abs(whole(at.bias))
    total = bias.copy()
    leaf = np.repeat(np.arange(len(bias)), np.diff(whole(at.starts)))
    np.add.at(total, (leaf, at.sums), (reach >> shifts) + 1)
    return fits(int(total.max()), INT32, "a score")


def _per_value(at: At, weights: int) -> int:
    return int(2 * at.x.width + kernel_flops(at) + 2 * weights)


def shifted(values: Wholes, bits: Wholes) -> Wholes:
    """Each divided by its own power of two, to the nearest."""
    return np.asarray((values + ((1 << bits) >> 1)) >> bits)


def fixed_path(at: At, x: NDArray[Any]) -> Paths:
    """The paths of all rows."""
    kernel: Any = fixed_kernel(at, x.astype(np.int64))
    thresholds: Any = whole(at.thresholds)
    return paths(kernel, at.picks, thresholds, at.children)


def _leaf_scores(at: At, leaf: Leaf, kernel: Wholes) -> Wholes:
    """What the sums of a leaf say of its classes."""
    bias = whole(at.bias)[leaf.bias]
    if not leaf.has_sums:
        return np.repeat(bias[None], len(kernel), axis=0) if len(bias) else np.zeros((len(kernel), 1), int)
    weights = whole(at.weights)[leaf.weights].reshape(-1, leaf.columns)
    counts = leaf.counts if at.rule == "vote" else ()
    sums = rounded_shift(weighted(kernel[:, leaf.vectors], weights, counts), at.shift) + bias
    if at.rule != "vote":
        return sums
    votes = np.zeros((len(sums), len(leaf.members)), dtype=np.int64)
    pair = 0
    for i in range(len(leaf.members)):
        for j in range(i + 1, len(leaf.members)):
            votes[:, i] += sums[:, pair] > 0
            votes[:, j] += sums[:, pair] <= 0
            pair += 1
    return votes
