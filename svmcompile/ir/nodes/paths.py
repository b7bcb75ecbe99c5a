"""Trees whose tests are kernel values, which then enter the sum of the leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.kernel import Kernel, chunks, kernel_errors, packed_values, poisoned
from svmcompile.ir.kinds import IndexTable, Kind, Level, Shape, Table, Type, Value
from svmcompile.ir.node import (
    KERNEL_SHAPES,
    At,
    Node,
    Result,
    Work,
    features,
    links_of,
    need,
    rising,
    shape_flops,
    shapes,
    sound_degree,
    sound_kernel,
    vector_width,
)
from svmcompile.ir.walks import Paths, leaf_depths, path_evaluations, path_sums, paths, sound_path


@dataclass(frozen=True, slots=True)
class PathSum(Node):
    """A tree whose tests are kernel values, and sums of the values met on the way to the leaf.

    From node 0 and level 0: value[level] = kernel(x, vectors[picks[node]]), or value[~pick] where
    the pick is negative (met before); value > thresholds[node] goes right. At the leaf
    out = bias[leaf] + sum_l weights[starts[leaf] + l] * value[l]. A node without a test has one leaf twice.
    """

    level: ClassVar = Level.MATH
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    vectors: Table  # [v, d]
    picks: IndexTable  # [nodes]
    thresholds: Table  # [nodes]
    children: IndexTable  # [nodes, 2]: left, right
    starts: IndexTable  # [leaves + 1]
    weights: Table  # [coefficients, m]
    bias: Table  # [leaves, m]
    kernel: Kernel

    def result(self, at: At) -> Type:
        sound_kernel(self.kernel)
        return _path_result(at, vector_width(at))

    @property
    def shape(self) -> str:
        return KERNEL_SHAPES[self.kernel.kind]

    @property
    def degree(self) -> int:
        return self.kernel.degree

    @property
    def is_given(self) -> bool:
        """Does the caller compute the kernel, so that only the values met matter?"""
        return self.kernel.kind == "precomputed"

    def paths(self, at: At, x: NDArray[Any]) -> Paths:
        """The paths of rows."""
        return paths(self.kernel.values(x, at.vectors), at.picks, at.thresholds, at.children)

    def run(self, at: At) -> NDArray[Any]:
        return _path_run(at)

    def work(self, at: At, rows: At | None) -> Work:
        return _path_work(at, rows)

    def error(self, at: At, a: Arithmetic) -> Result:
        kernel, errors = kernel_errors(self.kernel, at.x, at.vectors, a)
        picks, thresholds, children = at.picks, at.thresholds, at.children
        path = paths(kernel, picks, thresholds, children)
        error: Array = path.along(errors, picks).astype(np.float64) + a.smallest
        unstable = _strays(path, error, thresholds, children, a)
        starts, weights, bias = at.starts, at.weights, at.bias
        value = path_sums(path.leaf, path.met, starts, weights, bias)
        error = error + a.u * (path.met.shape[1] + 2) * np.abs(path.met)
        total = path_sums(path.leaf, error, starts, np.abs(weights), a.u * np.abs(bias))
        total += a.u * np.abs(value) + a.tiny * (np.abs(path.met).sum(axis=1, keepdims=True) + 2)
        read = path.met if self.is_given else at.x.value
        value[~np.isfinite(read).all(axis=1)] = np.nan
        return value, total, unstable


@dataclass(frozen=True, slots=True)
class PackedPath(Node):
    """`PathSum` with its kernel folded into the tables, as in `PackedSum`."""

    level: ClassVar = Level.MACHINE
    small_tables: ClassVar = {"vectors": ("int32",)}
    is_adaptive: ClassVar = True
    out: Value
    x: Value
    vectors: Table
    offsets: Table
    picks: IndexTable
    thresholds: Table
    children: IndexTable
    starts: IndexTable
    weights: Table
    bias: Table
    shape: Shape
    degree: int

    def result(self, at: At) -> Type:
        sound_degree(self.degree)
        shapes(at, offsets=(len(at.vectors) if self.shape == "exp2" else 1,))
        return _path_result(at, 1 if self.is_given else features(at))

    @property
    def is_given(self) -> bool:
        return self.shape == "given"

    def paths(self, at: At, x: NDArray[Any]) -> Paths:
        """The paths of rows."""
        values = packed_values(at, x, at.vectors, at.offsets).astype(x.dtype)
        return paths(values, at.picks, at.thresholds, at.children)

    def run(self, at: At) -> NDArray[Any]:
        return _path_run(at)

    def work(self, at: At, rows: At | None) -> Work:
        return _path_work(at, rows)


def _path_result(at: At, width: int) -> Type:
    """The type, for vectors of a width."""
    nodes, vectors = len(links_of(at)), len(at.vectors)
    need(at.bias.ndim == 2 and at.bias.size > 0, "bias is missing")
    leaves, m = at.bias.shape
    coefficients = len(at.weights)
    shapes(
        at,
        vectors=(vectors, width),
        picks=(nodes,),
        thresholds=(nodes,),
        starts=(leaves + 1,),
        weights=(coefficients, m),
    )
    rising(at.starts, coefficients)
    sound_path(at.children, at.picks, at.starts, vectors)
    return Type(Kind.SCORES, int(m))


def _path_run(at: At) -> NDArray[Any]:
    x = at.x
    path = at.node.paths(at, x)
    sums = path_sums(path.leaf, path.met, at.starts, at.weights, at.bias)
    return poisoned(path.met if at.is_given else x, sums.astype(x.dtype))


def _path_work(at: At, rows: At | None) -> Work:
    evaluations = path_evaluations(at.picks, at.children)
    tests = leaf_depths(at.children)
    if rows is None:
        met, levels = float(evaluations.max()), float(tests.max())
    else:
        leaf = _path_leaves(at, rows.x)
        met, levels = float(evaluations[leaf].mean()), float(tests[leaf].mean())
    per_value = 2 * at.x.width + shape_flops(at.shape, at.degree)
    return Work(met, met * per_value + levels * (1 + 2 * at.out.width))


def _path_leaves(at: At, x: NDArray[Any]) -> NDArray[np.intp]:
    return np.concatenate([at.node.paths(at, x[part]).leaf for part in chunks(len(x), len(at.vectors))])


def _strays(
    path: Paths, error: Array, thresholds: Array, children: NDArray[Any], a: Arithmetic
) -> NDArray[np.bool_]:
    """Rows that meet a value closer to its threshold than its error, at a node that tests it."""
    tested = (path.nodes >= 0) & (children[path.nodes, 0] != children[path.nodes, 1])
    threshold = thresholds[path.nodes]
    sure = np.abs(path.met - threshold) > error + a.u * np.abs(threshold)
    return np.asarray((tested & ~sure).any(axis=1))
