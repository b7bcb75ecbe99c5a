"""Trees whose tests are kernel values, which then enter the sum of the leaf."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.kernel import Kernel, chunks, kernel_errors, packed_values, poisoned
from svmcompile.ir.kinds import IndexTable, Kind, Level, Shape, Table, Type, Value
from svmcompile.ir.node import At, Node, Result, Work, dims, need, rising, shape_flops
from svmcompile.ir.walks import Paths, leaf_depths, path_evaluations, path_sums, paths, sound_path


class KernelPath(Node):
    """A tree whose tests are kernel values; how these are computed is the difference."""

    __slots__ = ()
    is_adaptive: ClassVar = True

    @property
    @abstractmethod
    def is_given(self) -> bool:
        """Does the caller compute the kernel, so that only the values met matter?"""

    @abstractmethod
    def paths(self, at: At, x: NDArray[Any]) -> Paths:
        """The paths of rows."""

    def run(self, at: At) -> NDArray[Any]:
        path = self.paths(at, at.x)
        sums = path_sums(path.leaf, path.met, at.starts, at.weights, at.bias)
        return poisoned(path.met if self.is_given else at.x, sums.astype(at.x.dtype))

    def work(self, at: At, rows: At | None) -> Work:
        evaluations, tests = path_evaluations(at.picks, at.children), leaf_depths(at.children)
        if rows is None:
            met, levels = float(evaluations.max()), float(tests.max())
        else:
            parts = chunks(len(rows.x), len(at.vectors))
            leaf = np.concatenate([self.paths(at, rows.x[part]).leaf for part in parts])
            met, levels = float(evaluations[leaf].mean()), float(tests[leaf].mean())
        per_value = 2 * at.x.width + shape_flops(at.shape, at.degree)
        return Work(met, met * per_value + levels * (1 + 2 * at.out.width))


@dataclass(frozen=True, slots=True)
class PathSum(KernelPath):
    """A tree whose tests are kernel values, and sums of the values met on the way to the leaf.

    From node 0 and level 0: value[level] = kernel(x, vectors[picks[node]]), or value[~pick] where
    the pick is negative (met before); value > thresholds[node] goes right. At the leaf
    out = bias[leaf] + sum_l weights[starts[leaf] + l] * value[l]. A node without a test has one leaf twice.
    """

    level: ClassVar = Level.MATH
    out: Value
    x: Value
    vectors: Table = field(metadata=dims("n d"))
    picks: IndexTable = field(metadata=dims("nodes"))
    thresholds: Table = field(metadata=dims("nodes"))
    children: IndexTable = field(metadata=dims("nodes 2"))  # left, right
    starts: IndexTable = field(metadata=dims("leaves+1"))
    weights: Table = field(metadata=dims("coefficients scores"))
    bias: Table = field(metadata=dims("leaves scores"))
    kernel: Kernel

    def result(self, at: At) -> Type:
        return Type(Kind.SCORES, fit_path(at, at.vector_width))

    @property
    def shape(self) -> str:
        return self.kernel.shape

    @property
    def degree(self) -> int:
        return self.kernel.degree

    @property
    def is_given(self) -> bool:
        return self.kernel.kind == "precomputed"

    def paths(self, at: At, x: NDArray[Any]) -> Paths:
        return paths(self.kernel.values(x, at.vectors), at.picks, at.thresholds, at.children)

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
class PackedPath(KernelPath):
    """`PathSum` with its kernel folded into the tables, as in `PackedSum`."""

    level: ClassVar = Level.MACHINE
    small_tables: ClassVar = {"vectors": ("int32",)}
    out: Value
    x: Value
    vectors: Table = field(metadata=dims("n d"))
    offsets: Table
    picks: IndexTable = field(metadata=dims("nodes"))
    thresholds: Table = field(metadata=dims("nodes"))
    children: IndexTable = field(metadata=dims("nodes 2"))
    starts: IndexTable = field(metadata=dims("leaves+1"))
    weights: Table = field(metadata=dims("coefficients scores"))
    bias: Table = field(metadata=dims("leaves scores"))
    shape: Shape
    degree: int

    def result(self, at: At) -> Type:
        offsets = len(at.vectors) if self.shape == "exp2" else 1
        return Type(Kind.SCORES, fit_path(at, 1 if self.is_given else at.d, offsets=(offsets,)))

    @property
    def is_given(self) -> bool:
        return self.shape == "given"

    def paths(self, at: At, x: NDArray[Any]) -> Paths:
        values = packed_values(at, x, at.vectors, at.offsets).astype(x.dtype)
        return paths(values, at.picks, at.thresholds, at.children)


def fit_path(at: At, width: int, **shapes: tuple[int, ...]) -> int:
    """Hold the tables of a path against each other, for vectors of a width; how many scores there are."""
    need(at.bias.ndim == 2 and at.bias.size > 0, "bias is missing")
    leaves, scores = at.bias.shape
    at.fit(d=width, nodes=len(at.children), leaves=leaves, scores=scores, **shapes)
    rising(at.starts, len(at.weights), "coefficients")
    sound_path(at)
    return int(scores)


def _strays(
    path: Paths, error: Array, thresholds: Array, children: NDArray[Any], a: Arithmetic
) -> NDArray[np.bool_]:
    """Rows that meet a value closer to its threshold than its error, at a node that tests it."""
    tested = (path.nodes >= 0) & (children[path.nodes, 0] != children[path.nodes, 1])
    threshold = thresholds[path.nodes]
    sure = np.abs(path.met - threshold) > error + a.u * np.abs(threshold)
    return np.asarray((tested & ~sure).any(axis=1))
