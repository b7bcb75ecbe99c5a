"""Kernel sums, and affine and quadratic functions, as what they compute and as C lays them out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.kernel import Kernel, kernel_errors, packed_values, poisoned, shaped, summing_error
from svmcompile.ir.kinds import OWN_OFFSETS, Floats, IndexTable, Kind, Level, Shape, Table, Type, Value
from svmcompile.ir.layout import (
    check_compressed,
    check_inverted,
    compressed,
    filled_up,
    rows_of,
    stored_vectors,
    vectors_and_lanes,
)
from svmcompile.ir.node import At, Node, Result, Work, dims, kernel_sum_flops, need, shape_flops
from svmcompile.ir.pairs import class_counts, pair_count, pair_sums


class KernelSums(Node):
    """Weighted sums of kernel values; which of them a sum weighs is the difference."""

    __slots__ = ()
    level: ClassVar = Level.MATH
    sums_kernels: ClassVar = True

    @abstractmethod
    def over(self, kernel: Floats, weights: Floats) -> Any:
        """Weighted sums of kernel values."""

    def vectors_met(self, at: At, width: int) -> Any:
        """The vectors: an array, or compressed rows."""
        return at.vectors

    def run(self, at: At) -> NDArray[Any]:
        values = at.kernel.values(at.x, self.vectors_met(at, at.x.shape[1]))
        met = values if at.kernel.kind == "precomputed" else at.x
        return poisoned(met, self.over(values, at.weights) + at.bias)

    def work(self, at: At, rows: At | None) -> Work:
        n, d = at.vectors.shape
        return Work(n, kernel_sum_flops(at.kernel, n, d, len(at.weights)))

    def error(self, at: At, a: Arithmetic) -> Result:
        vectors = self.vectors_met(at, at.x.value.shape[1])
        kernel, error = kernel_errors(at.kernel, at.x, vectors, a)
        value = self.over(kernel, at.weights) + at.bias

        def by_size(sizes: Array) -> Array:
            return self.over(sizes, np.abs(at.weights))

        return value, summing_error(kernel, error, by_size, value, at.bias, a), False


@dataclass(frozen=True, slots=True)
class KernelSum(KernelSums):
    """out[j] = bias[j] + sum_i weights[j, i] * kernel(x, vectors[i])."""

    out: Value
    x: Value
    vectors: Table = field(metadata=dims("n d"))
    weights: Table = field(metadata=dims("m n"))
    bias: Table = field(metadata=dims("m"))
    kernel: Kernel

    def result(self, at: At) -> Type:
        at.fit(d=at.vector_width)
        return Type(Kind.SCORES, at.m)

    def over(self, kernel: Floats, weights: Floats) -> Any:
        return kernel @ weights.T


@dataclass(frozen=True, slots=True)
class PairSum(KernelSums):
    """One sum per pair of classes (i < j) over the vectors of the two, kernel values shared.

    out[i, j] = bias[i, j] + sum_{v in i} weights[j - 1, v] k(x, v) + sum_{v in j} weights[i, v] k(x, v)
    """

    out: Value
    x: Value
    vectors: Table = field(metadata=dims("n d"))  # grouped by class
    weights: Table = field(metadata=dims("k-1 n"))
    bias: Table = field(metadata=dims("pairs"))
    counts: tuple[int, ...]  # vectors per class
    kernel: Kernel

    def result(self, at: At) -> Type:
        class_counts(self.counts)
        k = len(self.counts)
        at.fit(d=at.vector_width, n=sum(self.counts), k=k, pairs=pair_count(k))
        return Type(Kind.SCORES, pair_count(k))

    def over(self, kernel: Floats, weights: Floats) -> Any:
        return pair_sums(kernel, weights.T, self.counts)


@dataclass(frozen=True, slots=True)
class CsrSum(KernelSums):
    """`KernelSum`, or with `counts` `PairSum`, over vectors of which zeros are not stored.

    Vector i has `values` from starts[i] to starts[i + 1] - 1, in the features that `columns` tells there,
    ascending.
    """

    flat_tables: ClassVar = ("columns", "values")
    out: Value
    x: Value
    starts: IndexTable = field(metadata=dims("n+1"))
    columns: IndexTable = field(metadata=dims("entries"))
    values: Table = field(metadata=dims("entries"))
    weights: Table  # [m, n], or with counts [k - 1, n]
    bias: Table = field(metadata=dims("m"))
    counts: tuple[int, ...]  # vectors per class
    kernel: Kernel

    def result(self, at: At) -> Type:
        need(self.kernel.kind != "precomputed", "a precomputed kernel has no vectors")
        k, n = len(self.counts), len(at.starts) - 1
        if self.counts:
            class_counts(self.counts)
            need(sum(self.counts) == n and at.m == pair_count(k), "counts do not fit the tables")
        at.fit(weights=(k - 1 if k else at.m, n))
        check_compressed(at.starts, at.columns, at.d)
        return Type(Kind.SCORES, at.m)

    def vectors_met(self, at: At, width: int) -> Any:
        return compressed(at.starts, at.columns, at.values, width)

    def over(self, kernel: Floats, weights: Floats) -> Any:
        return pair_sums(kernel, weights.T, self.counts) if self.counts else kernel @ weights.T

    def work(self, at: At, rows: At | None) -> Work:
        """For a row that has every feature; one with fewer skips the entries of the others."""
        n = len(at.starts) - 1
        return Work(n, 2 * at.values.size + kernel_sum_flops(at.kernel, n, 0, len(at.weights)))


@dataclass(frozen=True, slots=True)
class Prepare(Node):
    """out = (x - shift) * factor, held within +-limit; NaN where x is not finite."""

    level: ClassVar = Level.MACHINE
    flops: ClassVar = 2
    in_place: ClassVar = True
    out: Value
    x: Value
    shift: Table = field(metadata=dims("d", "float32"))
    factor: Table = field(metadata=dims("d"))
    limit: float

    def result(self, at: At) -> Type:
        at.fit()
        need(self.limit > 0, "limit must be above zero")
        return Type(Kind.FEATURES, at.d)

    def run(self, at: At) -> NDArray[Any]:
        x = at.x
        z = (x - at.shift) * at.factor
        limit = x.dtype.type(self.limit)
        return np.asarray(np.where(np.isfinite(x), np.clip(z, -limit, limit), x.dtype.type(np.nan)))


@dataclass(frozen=True, slots=True)
class PackedSum(Node):
    """Kernel sums from folded tables: t_i = x . vectors[i] + offsets[i], k_i = shape(t_i).

    For "exp2" half the squared norm of x is taken from t_i as well, and x comes
    from `Prepare`. For "distance" k_i is 2^(offsets[0] |x - vectors[i]|^2), by differences, as LIBSVM
    takes them. For "given" k_i is x[vectors[i]], which the caller computes.
    With `counts` the sums are one per pair of classes, as in `PairSum`; without,
    one per column of `weights`.
    """

    level: ClassVar = Level.MACHINE
    small_tables: ClassVar = {"vectors": ("int32",)}
    out: Value
    x: Value
    vectors: Table = field(metadata=dims("n d"))  # [n, 1] int32 for "given"
    offsets: Table = field(metadata=dims("n"))  # for "exp2", "cosine", else [1]: the kernel's constant
    weights: Table = field(metadata=dims("n columns"))  # m, or k - 1
    bias: Table = field(metadata=dims("m"))
    counts: tuple[int, ...]
    shape: Shape
    degree: int  # of "power"

    def result(self, at: At) -> Type:
        n, k = at.vectors.shape[0], len(self.counts)
        if self.counts:
            class_counts(self.counts)
            need(sum(self.counts) == n and at.m == pair_count(k), "counts do not fit the tables")
        d, offsets = 1 if self.shape == "given" else at.d, n if self.shape in OWN_OFFSETS else 1
        at.fit(d=d, offsets=(offsets,), columns=k - 1 if k else at.m)
        return Type(Kind.SCORES, at.m)

    def run(self, at: At) -> NDArray[Any]:
        weights = at.weights.astype(np.float64)
        values = packed_values(at, at.x, at.vectors, at.offsets)
        sums = pair_sums(values, weights, self.counts) if self.counts else values @ weights
        met = values if self.shape == "given" else at.x
        return poisoned(met, (sums + at.bias).astype(at.x.dtype))

    def work(self, at: At, rows: At | None) -> Work:
        n, d = at.vectors.shape
        per_vector = shape_flops(self.shape, self.degree) + 2 * at.weights.shape[1]
        return Work(n, n * ((3 if self.shape == "distance" else 2) * d + per_vector))


class BlockedSum(Node):
    """A kernel sum whose weights lie in blocks of lanes; how vectors are stored is the difference.

    Few weights per vector: weights are [blocks, columns, lanes] and each class fills
    whole blocks. More: weights are [vectors, columns filled up to lanes].
    """

    __slots__ = ()
    level: ClassVar = Level.MACHINE

    def fit(self, at: At, vectors: int, lanes: int, **shapes: tuple[int, ...]) -> Type:
        """Hold counts and tables against so many vectors, what fills up included."""
        k = len(at.counts)
        need(k >= 1 and min(at.counts) >= 0, "counts make no sense")
        need(k == 1 or at.m == pair_count(k), "counts do not fit the tables")
        need(sum(at.counts) <= vectors, "more vectors counted than stored")
        columns = k - 1 if k > 1 else at.m
        by_lane = (vectors // lanes, columns, lanes)
        weights = by_lane if at.weights.ndim == 3 else (vectors, filled_up(columns, lanes))
        at.fit(weights=weights, offsets=(vectors if at.shape in OWN_OFFSETS else 1,), **shapes)
        return Type(Kind.SCORES, at.m)

    def sums(self, at: At, values: Floats) -> Floats:
        """The sums of kernel values [rows, vectors], what fills up blocks included."""
        weights, counts = at.weights.astype(np.float64), list(at.counts)
        vectors, lanes = vectors_and_lanes(weights)
        if weights.ndim == 3:
            weights = rows_of(weights)
            counts = [filled_up(count, lanes) for count in counts]
        counts[-1] += vectors - sum(counts)
        if len(counts) > 1:
            sums = pair_sums(values, weights, tuple(counts))
        else:
            sums = (values @ weights)[:, : len(at.bias)]
        return np.asarray(sums + at.bias)

    @abstractmethod
    def product_flops(self, at: At) -> int:
        """Flops of all dot products."""

    def work(self, at: At, rows: At | None) -> Work:
        n, columns = sum(at.counts), len(at.counts) - 1 or at.out.width
        return Work(n, self.product_flops(at) + n * (shape_flops(at.shape, at.degree) + 2 * columns))


@dataclass(frozen=True, slots=True)
class TiledSum(BlockedSum):
    """`PackedSum` with its vectors in blocks of lanes, for processors with vector instructions.

    Vectors that fill up a block have weight zero. x comes from `Prepare`.
    """

    small_tables: ClassVar = {"vectors": ("float16",)}
    out: Value
    x: Value
    vectors: Table = field(metadata=dims("blocks d lanes"))
    offsets: Table = field(metadata=dims("vectors"))  # for "exp2", else [1]
    weights: Table
    bias: Table = field(metadata=dims("m"))
    counts: tuple[int, ...]  # vectors per class, or one number; without what fills up
    shape: Shape
    degree: int

    def result(self, at: At) -> Type:
        need(at.vectors.ndim == 3, "vectors are not in blocks")
        blocks, _, lanes = at.vectors.shape
        return self.fit(at, blocks * lanes, lanes)

    def run(self, at: At) -> NDArray[Any]:
        values = packed_values(at, at.x, rows_of(at.vectors).astype(at.x.dtype), at.offsets)
        return poisoned(at.x, self.sums(at, values).astype(at.x.dtype))

    def product_flops(self, at: At) -> int:
        return sum(self.counts) * 2 * at.x.width


@dataclass(frozen=True, slots=True)
class SparseSum(BlockedSum):
    """`TiledSum` over vectors that are mostly zeros, stored by feature: who has it, and how much.

    t_i = z . vectors[i] + offsets[i] with z = x * factor, held within +-limit; x is the row as it comes.
    Vectors go in segments, so that their dot products fit a scratch of fixed size. Bit j % 32 of
    `marks[j / 32]` tells whether any vector has feature j, `ranks[j / 32]` counts the bits before that
    word; together they number the features that occur. Feature c of segment s has the entries
    `starts[s, c]` to `starts[s, c + 1]` - 1 of `indices` (vectors within the segment, ascending) and
    `values`. Weights and offsets are as in `TiledSum`; lanes of one make plain code.
    """

    out: Value
    x: Value
    factor: Table = field(metadata=dims("d"))  # or [1] for all features
    marks: IndexTable  # [d / 32]
    ranks: IndexTable  # [d / 32]
    starts: IndexTable  # [segments, features that occur + 1]
    indices: IndexTable = field(metadata=dims("entries"))
    values: Table = field(metadata=dims("entries"))
    offsets: Table = field(metadata=dims("vectors"))  # for "exp2", else [1]
    weights: Table
    bias: Table = field(metadata=dims("m"))
    counts: tuple[int, ...]  # vectors per class, or one number; without what fills up
    shape: Shape
    degree: int
    segment: int  # vectors of a segment; the last may have fewer
    limit: float

    def result(self, at: At) -> Type:
        need(self.limit > 0, "limit must be above zero")
        vectors, lanes = vectors_and_lanes(at.weights)
        need(self.segment > 0 and self.segment % lanes == 0, f"segment {self.segment} has no whole blocks")
        found = self.fit(at, vectors, lanes, factor=(at.d if at.factor.size > 1 else 1,))
        check_inverted(at, at.d, vectors)
        return found

    def run(self, at: At) -> NDArray[Any]:
        x, limit = at.x, at.x.dtype.type(self.limit)
        z = np.clip(x * at.factor, -limit, limit)
        t = (stored_vectors(at, x.shape[1]) @ z.T).T + at.offsets
        return poisoned(x, self.sums(at, shaped(at, z, t)).astype(x.dtype))

    def product_flops(self, at: At) -> int:
        """For a row that has every feature; one with fewer skips the entries of the others."""
        return 2 * int(at.values.size)
