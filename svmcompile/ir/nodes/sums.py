"""Kernel sums, and affine and quadratic functions, as what they compute and as C lays them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.kernel import Kernel, kernel_errors, packed_values, poisoned, shaped, summing_error
from svmcompile.ir.kinds import Floats, IndexTable, Kind, Level, Shape, Table, Type, Value
from svmcompile.ir.layout import inverted_problems, stored_vectors, vectors_and_lanes
from svmcompile.ir.node import (
    At,
    Node,
    Result,
    Work,
    class_counts,
    features,
    float32_only,
    kernel_sum_flops,
    need,
    pair_count,
    shape_flops,
    shapes,
    sound_degree,
    sound_kernel,
    sum_count,
    vector_width,
)
from svmcompile.ir.pairs import pair_sums


@dataclass(frozen=True, slots=True)
class KernelSum(Node):
    """out[j] = bias[j] + sum_i weights[j, i] * kernel(x, vectors[i])."""

    level: ClassVar = Level.MATH
    sums_kernels: ClassVar = True
    out: Value
    x: Value
    vectors: Table  # [n, d]
    weights: Table  # [m, n]
    bias: Table  # [m]
    kernel: Kernel

    def result(self, at: At) -> Type:
        sound_kernel(self.kernel)
        n, m = at.vectors.shape[0], sum_count(at)
        shapes(at, vectors=(n, vector_width(at)), weights=(m, n), bias=(m,))
        return Type(Kind.SCORES, m)

    def run(self, at: At) -> NDArray[Any]:
        values = self.kernel.values(at.x, at.vectors)
        return poisoned(_met(at, values), values @ at.weights.T + at.bias)

    def over(self, kernel: Array, weights: Array) -> Array:
        """Weighted sums of kernel values."""
        return np.asarray(kernel @ weights.T)

    def work(self, at: At, rows: At | None) -> Work:
        n, d = at.vectors.shape
        return Work(n, kernel_sum_flops(self.kernel, n, d, len(at.weights)))

    def error(self, at: At, a: Arithmetic) -> Result:
        return _sum_error(at, a, self.over)


@dataclass(frozen=True, slots=True)
class PairSum(Node):
    """One sum per pair of classes (i < j) over the vectors of the two, kernel values shared.

    out[i, j] = bias[i, j] + sum_{v in i} weights[j - 1, v] k(x, v) + sum_{v in j} weights[i, v] k(x, v)
    """

    level: ClassVar = Level.MATH
    sums_kernels: ClassVar = True
    out: Value
    x: Value
    vectors: Table  # [n, d], grouped by class
    weights: Table  # [k - 1, n]
    bias: Table  # [k (k - 1) / 2]
    counts: tuple[int, ...]  # vectors per class
    kernel: Kernel

    def result(self, at: At) -> Type:
        sound_kernel(self.kernel)
        class_counts(self.counts)
        k, n = len(self.counts), sum(self.counts)
        shapes(at, vectors=(n, vector_width(at)), weights=(k - 1, n), bias=(pair_count(k),))
        return Type(Kind.SCORES, pair_count(k))

    def run(self, at: At) -> NDArray[Any]:
        values = self.kernel.values(at.x, at.vectors)
        sums = pair_sums(values, at.weights.T, self.counts)
        return poisoned(_met(at, values), sums + at.bias)

    def over(self, kernel: Array, weights: Array) -> Array:
        """Weighted sums of kernel values."""
        return pair_sums(kernel, weights.T, self.counts).astype(np.float64)

    def work(self, at: At, rows: At | None) -> Work:
        n, d = at.vectors.shape
        return Work(n, kernel_sum_flops(self.kernel, n, d, len(at.weights)))

    def error(self, at: At, a: Arithmetic) -> Result:
        return _sum_error(at, a, self.over)


@dataclass(frozen=True, slots=True)
class Prepare(Node):
    """out = (x - shift) * factor, held within +-limit; NaN where x is not finite."""

    level: ClassVar = Level.MACHINE
    flops: ClassVar = 2
    out: Value
    x: Value
    shift: Table  # [d]
    factor: Table  # [d]
    limit: float

    def result(self, at: At) -> Type:
        width = features(at)
        shapes(at, shift=(width,), factor=(width,))
        float32_only(at, "shift")
        need(self.limit > 0, "limit must be above zero")
        return Type(Kind.FEATURES, width)

    def run(self, at: At) -> NDArray[Any]:
        x = at.x
        z = (x - at.shift) * at.factor
        limit = x.dtype.type(self.limit)
        return np.asarray(np.where(np.isfinite(x), np.clip(z, -limit, limit), x.dtype.type(np.nan)))


@dataclass(frozen=True, slots=True)
class PackedSum(Node):
    """Kernel sums from folded tables: t_i = x . vectors[i] + offsets[i], k_i = shape(t_i).

    For "exp2" half the squared norm of x is taken from t_i as well, and x comes
    from `Prepare`. For "given" k_i is x[vectors[i]], which the caller computes.
    With `counts` the sums are one per pair of classes, as in `PairSum`; without,
    one per column of `weights`.
    """

    level: ClassVar = Level.MACHINE
    small_tables: ClassVar = {"vectors": ("int32",)}
    out: Value
    x: Value
    vectors: Table  # [n, d]; [n, 1] int32 for "given"
    offsets: Table  # [n] for "exp2", else [1]: the kernel's constant
    weights: Table  # [n, m] or [n, k - 1]
    bias: Table  # [sums]
    counts: tuple[int, ...]
    shape: Shape
    degree: int  # of "power"

    def result(self, at: At) -> Type:
        sound_degree(self.degree)
        n, sums, k = at.vectors.shape[0], sum_count(at), len(self.counts)
        if self.counts:
            class_counts(self.counts)
            need(sum(self.counts) == n and sums == pair_count(k), "counts do not fit the tables")
        width = 1 if self.shape == "given" else features(at)
        shapes(
            at,
            vectors=(n, width),
            weights=(n, k - 1 if k else sums),
            bias=(sums,),
            offsets=(n if self.shape == "exp2" else 1,),
        )
        return Type(Kind.SCORES, sums)

    def run(self, at: At) -> NDArray[Any]:
        weights = at.weights.astype(np.float64)
        values = packed_values(at, at.x, at.vectors, at.offsets)
        sums = pair_sums(values, weights, self.counts) if self.counts else values @ weights
        met = values if self.shape == "given" else at.x
        return poisoned(met, (sums + at.bias).astype(at.x.dtype))

    def work(self, at: At, rows: At | None) -> Work:
        n, d = at.vectors.shape
        per_vector = shape_flops(self.shape, self.degree) + 2 * at.weights.shape[1]
        return Work(n, n * (2 * d + per_vector))


@dataclass(frozen=True, slots=True)
class TiledSum(Node):
    """`PackedSum` with its vectors in blocks of lanes, for processors with vector instructions.

    Few weights per vector: weights are [blocks, m, lanes] and each class fills
    whole blocks. More: weights are [vectors, m filled up to lanes]. Vectors that
    fill up a block have weight zero. x comes from `Prepare`.
    """

    level: ClassVar = Level.MACHINE
    small_tables: ClassVar = {"vectors": ("float16",)}
    out: Value
    x: Value
    vectors: Table  # [blocks, d, lanes]
    offsets: Table  # [blocks * lanes] for "exp2", else [1]
    weights: Table
    bias: Table  # [sums]
    counts: tuple[int, ...]  # vectors per class, or one number; without what fills up
    shape: Shape
    degree: int

    def result(self, at: At) -> Type:
        d, sums, k = features(at), at.bias.shape[0], len(self.counts)
        need(at.vectors.ndim == 3, "vectors are not in blocks")
        blocks, _, lanes = at.vectors.shape
        columns = k - 1 if k > 1 else sums
        need(k >= 1 and min(self.counts) >= 0 and self.degree >= 0, "counts or degree make no sense")
        need(k == 1 or sums == pair_count(k), "counts do not fit the tables")
        need(sum(self.counts) <= blocks * lanes, "more vectors counted than stored")
        by_lane = at.weights.ndim == 3
        weights = (blocks, columns, lanes) if by_lane else (blocks * lanes, columns + -columns % lanes)
        shapes(
            at,
            vectors=(blocks, d, lanes),
            weights=weights,
            offsets=(blocks * lanes,) if self.shape == "exp2" else (1,),
            bias=(sums,),
        )
        return Type(Kind.SCORES, sums)

    def run(self, at: At) -> NDArray[Any]:
        blocks, d, lanes = at.vectors.shape
        vectors = at.vectors.transpose(0, 2, 1).reshape(blocks * lanes, d).astype(at.x.dtype)
        values = packed_values(at, at.x, vectors, at.offsets)
        return poisoned(at.x, _blocked_sums(at, values).astype(at.x.dtype))

    def work(self, at: At, rows: At | None) -> Work:
        n, columns = sum(self.counts), len(self.counts) - 1 or at.out.width
        per_vector = shape_flops(self.shape, self.degree) + 2 * columns
        return Work(n, n * (2 * at.x.width + per_vector))


@dataclass(frozen=True, slots=True)
class SparseSum(Node):
    """`TiledSum` over vectors that are mostly zeros, stored by feature: who has it, and how much.

    t_i = z . vectors[i] + offsets[i] with z = x * factor, held within +-limit; x is the row as it comes.
    Vectors go in segments, so that their dot products fit a scratch of fixed size. Bit j % 32 of
    `marks[j / 32]` tells whether any vector has feature j, `ranks[j / 32]` counts the bits before that
    word; together they number the features that occur. Feature c of segment s has the entries
    `starts[s, c]` to `starts[s, c + 1]` - 1 of `indices` (vectors within the segment, ascending) and
    `values`. Weights and offsets are as in `TiledSum`; lanes of one make plain code.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    factor: Table  # [d], or [1] for all features
    marks: IndexTable  # [d / 32]
    ranks: IndexTable  # [d / 32]
    starts: IndexTable  # [segments, features that occur + 1]
    indices: IndexTable  # [entries]
    values: Table  # [entries]
    offsets: Table  # [vectors] for "exp2", else [1]
    weights: Table  # [blocks, m, lanes] or [vectors, m filled up to lanes]
    bias: Table  # [sums]
    counts: tuple[int, ...]  # vectors per class, or one number; without what fills up
    shape: Shape
    degree: int
    segment: int  # vectors of a segment; the last may have fewer
    limit: float

    def result(self, at: At) -> Type:
        d, sums, k = features(at), sum_count(at), len(self.counts)
        need(k >= 1 and min(self.counts) >= 0, "counts make no sense")
        sound_degree(self.degree)
        need(k == 1 or sums == pair_count(k), "counts do not fit the tables")
        need(self.limit > 0, "limit must be above zero")
        vectors, lanes = vectors_and_lanes(at.weights)
        columns = k - 1 if k > 1 else sums
        by_lane = at.weights.ndim == 3
        need(sum(self.counts) <= vectors, "more vectors counted than stored")
        need(self.segment > 0 and self.segment % lanes == 0, f"segment {self.segment} has no whole blocks")
        shapes(
            at,
            factor=(d,) if at.factor.size > 1 else (1,),
            weights=(vectors // lanes, columns, lanes)
            if by_lane
            else (vectors, columns + -columns % lanes),
            offsets=(vectors,) if self.shape == "exp2" else (1,),
            values=at.indices.shape,
        )
        for problem in inverted_problems(at, d, vectors):
            raise ValueError(problem)
        return Type(Kind.SCORES, sums)

    def run(self, at: At) -> NDArray[Any]:
        x, limit = at.x, at.x.dtype.type(self.limit)
        z = np.clip(x * at.factor, -limit, limit)
        t = (stored_vectors(at, x.shape[1]) @ z.T).T + at.offsets
        return poisoned(x, _blocked_sums(at, shaped(at, z, t)).astype(x.dtype))

    def work(self, at: At, rows: At | None) -> Work:
        """For a row that has every feature; one with fewer skips the entries of the others."""
        n, columns = sum(self.counts), len(self.counts) - 1 or at.out.width
        per_vector = shape_flops(self.shape, self.degree) + 2 * columns
        return Work(n, 2 * int(at.values.size) + n * per_vector)


def _sum_error(at: At, a: Arithmetic, over: Callable[[Array, Array], Array]) -> Result:
    """The error of sums of kernel values; `over` weighs these."""
    kernel, error = kernel_errors(at.kernel, at.x, at.vectors, a)
    value = over(kernel, at.weights) + at.bias

    def by_size(sizes: Array) -> Array:
        return over(sizes, np.abs(at.weights))

    return value, summing_error(kernel, error, by_size, value, at.bias, a), False


def _met(at: At, values: Floats) -> Floats:
    """What must be finite: the row, or the kernel values that were taken from it."""
    return values if at.kernel.kind == "precomputed" else at.x


def _blocked_sums(at: At, values: Floats) -> Floats:
    """The sums of kernel values [rows, vectors], what fills up blocks included."""
    weights, counts = at.weights.astype(np.float64), list(at.counts)
    vectors, lanes = vectors_and_lanes(weights)
    if weights.ndim == 3:
        weights = weights.transpose(0, 2, 1).reshape(vectors, -1)
        counts = [count + -count % lanes for count in counts]
    counts[-1] += vectors - sum(counts)
    if len(counts) > 1:
        sums = pair_sums(values, weights, tuple(counts))
    else:
        sums = (values @ weights)[:, : len(at.bias)]
    return np.asarray(sums + at.bias)
