"""Routes through trees, and functions that belong to their leaves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kernel import dot_error, poisoned, row_dots
from svmcompile.ir.kinds import IndexTable, Indices, Kind, Level, Table, Type, Value
from svmcompile.ir.node import (
    At,
    Node,
    Result,
    Work,
    features,
    float32_only,
    mean_or_most,
    need,
    rising,
    shapes,
    tree_type,
    within,
)
from svmcompile.ir.walks import leaf_depths, leaf_functions, walk
from svmcompile.ir.whole_numbers import whole, whole_dots


@dataclass(frozen=True, slots=True)
class AxisRoute(Node):
    """The leaf of a tree whose node k tests x[features[k]] > thresholds[k]."""

    level: ClassVar = Level.BOTH
    may_be_whole: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    features: IndexTable  # [m]
    thresholds: Table  # [m], float32 numbers
    children: IndexTable  # [m, 2]: left, right

    def result(self, at: At) -> Type:
        found, width = tree_type(at), features(at)
        nodes = (found.width - 1,)
        shapes(at, features=nodes, thresholds=nodes)
        within(at.features, width, "a feature")
        float32_only(at, "thresholds")
        return found

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

    level: ClassVar = Level.BOTH
    may_be_whole: ClassVar = True
    small_tables: ClassVar = {"planes": ("float16", "int8")}
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    planes: Table  # [m, d]; may be float16 or int8
    thresholds: Table  # [m], in units of the stored planes
    children: IndexTable  # [m, 2]: left, right
    centre: Table  # [d]

    def result(self, at: At) -> Type:
        found, width = tree_type(at), features(at)
        nodes = found.width - 1
        shapes(at, planes=(nodes, width), thresholds=(nodes,), centre=(width,))
        float32_only(at, "centre")
        return found

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

    level: ClassVar = Level.BOTH
    small_tables: ClassVar = {"weights": ("float16", "int8")}
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    leaf: Value
    starts: IndexTable  # [leaves + 1]
    sums: IndexTable  # [functions]
    weights: Table  # [functions, d]; may be float16 or int8
    units: Table  # [functions]; ones, unless weights are int8
    bias: Table  # [leaves, m]
    centre: Table  # [d]

    def result(self, at: At) -> Type:
        need(at.leaf.kind is Kind.INDEX, f"%{self.leaf} is not an index")
        leaves, width, starts = at.leaf.width, features(at), at.starts
        functions = len(at.sums)
        need(functions > 0 and at.bias.ndim == 2, "functions or bias are missing")
        m = int(at.bias.shape[1])
        shapes(
            at,
            starts=(leaves + 1,),
            sums=(functions,),
            weights=(functions, width),
            units=(functions,),
            bias=(leaves, m),
            centre=(width,),
        )
        rising(starts, functions)
        within(at.sums, m, "a sum")
        float32_only(at, "centre")
        return Type(Kind.SCORES, m)

    def run(self, at: At) -> NDArray[Any]:
        x, leaf, weights = at.x, at.leaf, at.weights
        h, out = x - at.centre, at.bias[leaf]
        for rows, functions in leaf_functions(leaf, at.starts):
            values = at.units[functions] * row_dots(h[rows], weights[functions])
            out[rows, at.sums[functions]] += values
        return poisoned(x, out)

    def work(self, at: At, rows: At | None) -> Work:
        functions = mean_or_most(np.diff(at.starts), rows, "leaf")
        d = at.x.width
        return Work(0, d + functions * (2 * d + 2))

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        x, leaf, weights = at.x, at.leaf.value, at.weights
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

    level: ClassVar = Level.BOTH
    out: Value
    x: Value

    def result(self, at: At) -> Type:
        features(at)
        return Type(Kind.INDEX, 1)

    def run(self, at: At) -> NDArray[Any]:
        return np.zeros(len(at.x), dtype=np.intp)

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        return value, np.zeros(len(value)), False


def near_route(at: At, values: NDArray[np.int64], slack: NDArray[Any]) -> NDArray[np.bool_]:
    """Rows whose way meets a value, [rows, nodes], as close to its threshold as its slack."""
    thresholds = whole(at.thresholds)
    close, near = np.abs(values - thresholds) <= slack, np.zeros(len(values), dtype=bool)

    def above(rows: Indices, nodes: Indices) -> NDArray[np.bool_]:
        near[rows] |= close[rows, nodes]
        return np.asarray(values[rows, nodes] > thresholds[nodes])

    walk(len(values), at.children, above)
    return near
