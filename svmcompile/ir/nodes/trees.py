"""Routes through trees, and functions that belong to their leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kernel import dot_error, poisoned, row_dots
from svmcompile.ir.kinds import IndexTable, Indices, Kind, Table, Type, Value
from svmcompile.ir.node import At, Node, Result, Work, dims, mean_or_most, need, rising, tree_type, within
from svmcompile.ir.walks import leaf_depths, leaf_functions, walk
from svmcompile.ir.whole_numbers import whole, whole_dots


@dataclass(frozen=True, slots=True)
class AxisRoute(Node):
    """The leaf of a tree whose node k tests x[features[k]] > thresholds[k]."""

    may_be_whole: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    features: IndexTable = field(metadata=dims("nodes"))
    thresholds: Table = field(metadata=dims("nodes", "float32"))
    children: IndexTable = field(metadata=dims("nodes 2"))  # left, right

    def result(self, at: At) -> Type:
        at.fit()
        within(at.features, at.d, "a feature")
        return tree_type(at)

    def run(self, at: At) -> NDArray[Any]:
        x, features, thresholds = at.x, at.features, at.thresholds

        def above(rows: Indices, nodes: Indices) -> NDArray[np.bool_]:
            return np.asarray(x[rows, features[nodes]] > thresholds[nodes])

        return walk(len(x), at.children, above)

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, mean_or_most(leaf_depths(at.children), rows, "out"))

    def near(self, at: At, slack: NDArray[Any]) -> NDArray[np.bool_]:
        return near_route(at, at.x[:, at.features.astype(np.intp)].astype(np.int64), slack)

    def error(self, at: At, a: Arithmetic) -> Result:
        x, features, thresholds = at.x, at.features, at.thresholds
        unstable = np.zeros(len(x.value), dtype=bool)

        def above(rows: Indices, nodes: Indices) -> NDArray[np.bool_]:
            value, error = (part[rows, features[nodes]] for part in (x.value, x.error))
            # The threshold is a float32 number: with no error in x the comparison is exact.
            unstable[rows] |= (np.abs(value - thresholds[nodes]) <= error) & (error > 0)
            return np.asarray(value > thresholds[nodes])

        leaf = walk(len(x.value), at.children, above)
        return leaf, np.zeros(len(leaf)), unstable


@dataclass(frozen=True, slots=True)
class PlaneRoute(Node):
    """The leaf of a tree whose node k tests planes[k] . (x - centre) > thresholds[k]."""

    may_be_whole: ClassVar = True
    small_tables: ClassVar = {"planes": ("float16", "int8")}
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    planes: Table = field(metadata=dims("nodes d"))  # may be float16 or int8
    thresholds: Table = field(metadata=dims("nodes"))  # in units of the stored planes
    children: IndexTable = field(metadata=dims("nodes 2"))  # left, right
    centre: Table = field(metadata=dims("d", "float32"))

    def result(self, at: At) -> Type:
        at.fit()
        return tree_type(at)

    def run(self, at: At) -> NDArray[Any]:
        h = at.x - at.centre
        planes, thresholds = at.planes, at.thresholds

        def above(rows: Indices, nodes: Indices) -> NDArray[np.bool_]:
            return np.asarray(row_dots(h[rows], planes[nodes]) > thresholds[nodes])

        return walk(len(h), at.children, above)

    def work(self, at: At, rows: At | None) -> Work:
        tests, d = mean_or_most(leaf_depths(at.children), rows, "out"), at.x.width
        return Work(0, d + tests * (2 * d + 1))

    def near(self, at: At, slack: NDArray[Any]) -> NDArray[np.bool_]:
        return near_route(at, whole_dots(at.x.astype(np.int64), whole(at.planes)), slack)

    def error(self, at: At, a: Arithmetic) -> Result:
        x, planes, thresholds = at.x, at.planes, at.thresholds
        h = x.value - at.centre
        unstable = np.zeros(len(h), dtype=bool)

        def above(rows: Indices, nodes: Indices) -> NDArray[np.bool_]:
            value = row_dots(h[rows], planes[nodes])
            error = dot_error(h[rows], x.error[rows], planes[nodes], a) + a.u * np.abs(thresholds[nodes])
            unstable[rows] |= ~(np.abs(value - thresholds[nodes]) > error)
            return np.asarray(value > thresholds[nodes])

        leaf = walk(len(h), at.children, above)
        return leaf, np.zeros(len(leaf)), unstable


@dataclass(frozen=True, slots=True)
class LeafAffine(Node):
    """Scores of the row's leaf: constants, and affine functions that are added to some of them.

    out = bias[leaf]; for r from starts[leaf] to starts[leaf + 1] - 1:
    out[sums[r]] += units[r] * (weights[r] . (x - centre))
    """

    small_tables: ClassVar = {"weights": ("float16", "int8")}
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    leaf: Value
    starts: IndexTable = field(metadata=dims("leaves+1"))
    sums: IndexTable = field(metadata=dims("functions"))
    weights: Table = field(metadata=dims("functions d"))  # may be float16 or int8
    units: Table = field(metadata=dims("functions"))  # ones, unless weights are int8
    bias: Table = field(metadata=dims("leaves scores"))
    centre: Table = field(metadata=dims("d", "float32"))

    def result(self, at: At) -> Type:
        return Type(Kind.SCORES, fit_functions(at))

    def run(self, at: At) -> NDArray[Any]:
        h, out = at.x - at.centre, at.bias[at.leaf]
        for rows, functions in leaf_functions(at.leaf, at.starts):
            dots = row_dots(h[rows], at.weights[functions])
            out[rows, at.sums[functions]] += at.units[functions] * dots
        return poisoned(at.x, out)

    def work(self, at: At, rows: At | None) -> Work:
        functions = mean_or_most(np.diff(at.starts), rows, "leaf")
        d = at.x.width
        return Work(0, d + functions * (2 * d + 2))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x, leaf, weights = self.value(at), at.x, at.leaf.value, at.weights
        h = x.value - at.centre
        error = 2 * a.u * (np.abs(value) + np.abs(at.bias[leaf]))
        for rows, functions in leaf_functions(leaf, at.starts):
            unit = np.abs(at.units[functions])
            part = unit * dot_error(h[rows], x.error[rows], weights[functions], a)
            part += 2 * a.u * unit * np.abs(row_dots(h[rows], weights[functions]))
            error[rows, at.sums[functions]] += part
        return value, error + a.tiny, False


@dataclass(frozen=True, slots=True)
class OneLeaf(Node):
    """The leaf of a tree without a test: every row falls into leaf 0."""

    out: Value
    x: Value

    def result(self, at: At) -> Type:
        at.fit(d=at.d)
        return Type(Kind.INDEX, 1)

    def run(self, at: At) -> NDArray[Any]:
        return np.zeros(len(at.x), dtype=np.intp)

    def error(self, at: At, a: Arithmetic) -> Result:
        return self.sure_value(at)


def fit_functions(at: At) -> int:
    """Hold the tables of functions that leaves add up against each other; how many scores there are."""
    need(at.sums.size > 0 and at.bias.ndim == 2, "functions or bias are missing")
    at.fit()
    rising(at.starts, len(at.sums))
    scores = int(at.bias.shape[1])
    within(at.sums, scores, "a sum")
    return scores


def near_route(at: At, values: NDArray[np.int64], slack: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows whose way meets a value, [rows, nodes], as close to its threshold as its slack."""
    thresholds = whole(at.thresholds)
    close, near = np.abs(values - thresholds) <= slack, np.zeros(len(values), dtype=bool)

    def above(rows: Indices, nodes: Indices) -> NDArray[np.bool_]:
        near[rows] |= close[rows, nodes]
        return np.asarray(values[rows, nodes] > thresholds[nodes])

    walk(len(values), at.children, above)
    return near
