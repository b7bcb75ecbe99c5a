"""Nodes of programs in whole numbers: one per C routine, values int8, int16 or int32.

A program whose `number` is "q15" or "q7" turns features into whole numbers once, with `Quantise`, and
computes with these alone; `Dequantise` gives decision values back as float. Type rules hold every sum
against the C type it is computed in, for any row within the limit, so nothing overflows.
Shifts to the right round down.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import whole_numbers as wn
from svmcompile.ir.kinds import IndexTable, Kind, Level, Shape, Table, Type, Value
from svmcompile.ir.node import At, Node, Work, dims, need, standing_for, within
from svmcompile.ir.pairs import class_counts, pair_count
from svmcompile.ir.whole_numbers import INT32, fits, whole


@dataclass(frozen=True, slots=True)
class Quantise(Node):
    """out = round((x - shift) * factor), half away from zero, held within +-limit; NaN becomes -limit."""

    level: ClassVar = Level.MACHINE
    quantises: ClassVar = True
    flops: ClassVar = 3
    out: Value
    x: Value
    shift: Table = field(metadata=dims("d", "float32"))  # or [1] for all features
    factor: Table = field(metadata=dims("d"))  # or [1] for all features
    bits: int  # of the whole numbers: 8 or 16
    limit: int

    def result(self, at: At) -> Type:
        shift, factor = (1 if table.size == 1 else at.d for table in (at.shift, at.factor))
        at.fit(shift=(shift,), factor=(factor,))
        return wn.quantised_features(at)

    def run(self, at: At) -> NDArray[Any]:
        x = at.x.astype(np.float32)
        t = ((x - at.shift) * at.factor).astype(np.float64)  # in which half a unit more is exact
        t = np.where(t > -self.limit, np.minimum(t, self.limit), -self.limit)
        return np.asarray(np.trunc(np.where(t < 0, t - 0.5, t + 0.5)), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class StridePick(Node):
    """out[k] = x[strides[0] + ... + strides[k]]: a `Pick` of features in their order, by small numbers."""

    level: ClassVar = Level.MACHINE
    leaves_out: ClassVar = True
    out: Value
    x: Value
    strides: IndexTable = field(metadata=dims("picks"))

    def result(self, at: At) -> Type:
        floats = at.x.kind not in (Kind.INDEX, Kind.LABEL) and not at.x.whole
        need(floats, f"%{self.x} is no vector of floats")
        at.fit()
        need(at.strides.size > 0, "no columns are picked")
        within(self._columns(at), at.x.width, "a column")
        return Type(at.x.kind, len(at.strides))

    def run(self, at: At) -> NDArray[Any]:
        return at.x[:, self._columns(at)]

    def _columns(self, at: At) -> NDArray[np.int64]:
        return np.cumsum(whole(at.strides))


@dataclass(frozen=True, slots=True)
class Requantise(Node):
    """out = ((x - shift) * factor) / 2^scale_bits to the nearest, held within +-limit; x is whole."""

    level: ClassVar = Level.MACHINE
    quantises: ClassVar = True
    is_whole: ClassVar = True
    flops: ClassVar = 3
    out: Value
    x: Value
    shift: Table = field(metadata=dims("d"))
    factor: Table = field(metadata=dims("d"))
    scale_bits: int
    bits: int  # of the result: 8 or 16
    limit: int

    def result(self, at: At) -> Type:
        at.fit(d=wn.whole_features(at))
        wn.sound_shift(self.scale_bits)
        reach = at.x.limit + np.abs(whole(at.shift))
        sizes = reach * np.abs(whole(at.factor)) + ((1 << self.scale_bits) >> 1)
        fits(int(sizes.max()), INT32, "a scaled feature")
        return wn.quantised_features(at)

    def run(self, at: At) -> NDArray[Any]:
        t = (at.x - whole(at.shift)) * whole(at.factor)
        return np.clip(wn.rounded_shift(t, self.scale_bits), -self.limit, self.limit)


@dataclass(frozen=True, slots=True)
class FixedSum(Node):
    """Kernel sums in whole numbers: t_i from x . vectors[i], k_i from t_i, then weighted sums.

    "exp2": t_i = |x|^2 + offsets[i] * 2^offset_shift - 2 x . vectors[i], not below 0; k_i = curve(t_i).
    "tanh": t_i = x . vectors[i] + offsets[i], not below 0; k_i = curve(t_i).
    "power": u_i = t_i / 2^cell_bits to the nearest, k_i = u_i^degree in units of 2^(15 degree - 30).
    "identity": k_i = t_i.
    The curve goes straight from point to point, 2^cell_bits apart, and stays at its last point.
    out = bias + (sum_i weights[i] k_i) / 2^shift to the nearest; with `counts` one sum per pair of classes.
    """

    level: ClassVar = Level.MACHINE
    is_whole: ClassVar = True
    out: Value
    x: Value
    vectors: Table = field(metadata=dims("n d"))
    offsets: Table = field(metadata=dims("n"))
    curve: Table = field(metadata=dims("points"))  # or [1] where there is none
    weights: Table = field(metadata=dims("n columns"))  # m, or k - 1
    bias: Table = field(metadata=dims("m"))
    counts: tuple[int, ...]
    shape: Shape
    degree: int
    cell_bits: int
    offset_shift: int
    shift: int

    def result(self, at: At) -> Type:
        k = len(self.counts)
        if self.counts:
            class_counts(self.counts)
            fit = sum(self.counts) == len(at.vectors) and at.m == pair_count(k)
            need(fit, "counts do not fit the tables")
        at.fit(columns=k - 1 if k else at.m)
        largest = wn.weighted_limit(at.weights, wn.kernel_limit(at), self.counts)
        return wn.summed_scores(at, at.m, largest, "a weighted sum")

    def run(self, at: At) -> NDArray[Any]:
        values = wn.fixed_kernel(at, at.x.astype(np.int64))
        sums = wn.weighted(values, whole(at.weights), self.counts)
        return wn.rounded_shift(sums, self.shift) + whole(at.bias)

    def work(self, at: At, rows: At | None) -> Work:
        n, d = at.vectors.shape
        return Work(n, n * (2 * d + wn.kernel_flops(self) + 2 * at.weights.shape[1]))


@dataclass(frozen=True, slots=True)
class FixedAffine(Node):
    """out = (weights x) / 2^shift to the nearest, + bias, in whole numbers; x may be sums."""

    level: ClassVar = Level.MACHINE
    is_whole: ClassVar = True
    out: Value
    x: Value
    weights: Table = field(metadata=dims("m d"))
    bias: Table = field(metadata=dims("m"))
    shift: int

    def result(self, at: At) -> Type:
        at.fit(d=wn.whole_width(at))
        wn.sound_shift(self.shift)
        reach = at.x.limit * wn.sizes(whole(at.weights)) + ((1 << self.shift) >> 1)
        fits(int(reach.max()), INT32, "a dot product")
        scores = (reach >> self.shift) + np.abs(whole(at.bias)) + (self.shift > 0)
        return Type(Kind.SCORES, at.m, whole="i32", limit=fits(int(scores.max()), INT32, "a score"))

    def run(self, at: At) -> NDArray[Any]:
        dots = wn.whole_dots(at.x.astype(np.int64), whole(at.weights))
        return wn.rounded_shift(dots, self.shift) + whole(at.bias)

    def work(self, at: At, rows: At | None) -> Work:
        m, d = at.weights.shape
        return Work(0, 2 * m * d)


@dataclass(frozen=True, slots=True)
class FixedProjection(Node):
    """out = (weights x + bias) / 2^shift, held within +-limit: features of features.

    It rounds down, so the bias holds half a step where the nearest is meant.
    """

    level: ClassVar = Level.MACHINE
    is_whole: ClassVar = True
    out: Value
    x: Value
    weights: Table = field(metadata=dims("m d"))
    bias: Table = field(metadata=dims("m"))
    shift: int
    bits: int  # of the result: 8 or 16
    limit: int

    def result(self, at: At) -> Type:
        at.fit(d=wn.whole_features(at))
        wn.sound_shift(self.shift)
        reach = at.x.limit * wn.sizes(whole(at.weights)) + np.abs(whole(at.bias))
        fits(int(reach.max()), INT32, "a projection")
        return replace(wn.quantised_features(at), width=at.m)

    def run(self, at: At) -> NDArray[Any]:
        dots = wn.whole_dots(at.x.astype(np.int64), whole(at.weights)) + whole(at.bias)
        return np.clip(dots >> self.shift, -self.limit, self.limit)

    def work(self, at: At, rows: At | None) -> Work:
        m, d = at.weights.shape
        return Work(0, 2 * m * d)


@dataclass(frozen=True, slots=True)
class NibbleProjection(Node):
    """A `FixedProjection` whose weights, from -8 to 7, take four bits: two are in a byte, with 8 added.

    Of d features the byte j of a row holds the weight of feature j in its low bits and that of feature
    j + (d + 1) / 2 in its high ones, which are zero in the last byte if d is odd.
    """

    level: ClassVar = Level.MACHINE
    is_whole: ClassVar = True
    out: Value
    x: Value
    weights: Table = field(metadata=dims("m bytes"))
    bias: Table = field(metadata=dims("m"))
    shift: int
    bits: int  # of the result: 8 or 16
    limit: int

    def result(self, at: At) -> Type:
        d = wn.whole_features(at)
        at.fit(bytes=(d + 1) // 2)
        need(at.weights.dtype == np.uint8, f"weights @{self.weights} are no bytes")
        need(d % 2 == 0 or bool((at.weights[:, -1] < 16).all()), f"@{self.weights} has a weight too many")
        nibbles = wn.from_nibbles(at.weights, d) + wn.NIBBLE_ZERO  # which are summed up as they are
        dots = wn.sizes(nibbles).max() + wn.NIBBLE_ZERO * d
        fits(int(at.x.limit * dots), INT32, "a projection")
        plain = self._plain(at, d)
        return plain.node.result(plain)

    def run(self, at: At) -> NDArray[Any]:
        plain = self._plain(at, at.x.shape[1])
        return plain.node.run(plain)

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, 2 * len(at.weights) * at.x.width)

    def _plain(self, at: At, width: int) -> At:
        tables = {**at.tables, self.weights: wn.from_nibbles(at.weights, width)}
        return At(standing_for(FixedProjection, self), tables, at.read)


@dataclass(frozen=True, slots=True)
class FixedQuadratic(Node):
    """out = sums / 2^shift to the nearest, + bias, with one quadratic form per sum.

    sums[j] = sum_a x_a (weights[j, a] + sum_{b >= a} squares[j, ab] x_b)
    """

    level: ClassVar = Level.MACHINE
    is_whole: ClassVar = True
    out: Value
    x: Value
    squares: Table = field(metadata=dims("m triangle"))  # d (d + 1) / 2, upper triangle row by row
    weights: Table = field(metadata=dims("m d"))
    bias: Table = field(metadata=dims("m"))
    shift: int

    def result(self, at: At) -> Type:
        d = wn.whole_features(at)
        at.fit(triangle=d * (d + 1) // 2)
        limit, weights = at.x.limit, np.abs(whole(at.weights))
        starts = np.concatenate([[0], np.cumsum(np.arange(d, 1, -1))])
        slopes = limit * np.add.reduceat(np.abs(whole(at.squares)), starts, axis=1) + weights
        fits(int(slopes.max()), INT32, "a slope")
        return wn.summed_scores(at, at.m, int(slopes.sum(axis=1).max()) * limit, "a form")

    def run(self, at: At) -> NDArray[Any]:
        x, squares = at.x.astype(np.int64), whole(at.squares)
        sums = x @ whole(at.weights).T
        first = 0
        for a in range(x.shape[1]):  # row a of the upper triangle
            end = first + x.shape[1] - a
            sums += x[:, a : a + 1] * (x[:, a:] @ squares[:, first:end].T)
            first = end
        return wn.rounded_shift(sums, self.shift) + whole(at.bias)

    def work(self, at: At, rows: At | None) -> Work:
        m, d = at.weights.shape
        return Work(0, m * (d * (d + 1) + 2 * d))


@dataclass(frozen=True, slots=True)
class Dequantise(Node):
    """out = x * unit: whole numbers as float."""

    level: ClassVar = Level.MACHINE
    may_be_whole: ClassVar = True
    flops: ClassVar = 3
    out: Value
    x: Value
    unit: float

    def result(self, at: At) -> Type:
        need(bool(at.x.whole), f"%{self.x} is not in whole numbers")
        need(float(np.float32(self.unit)) == self.unit and self.unit > 0, "the unit is no float above zero")
        return Type(at.x.kind, at.x.width)

    def whole_error(self, at: At, error: float) -> tuple[Any, NDArray[np.bool_]] | None:
        return error, (np.abs(at.out) <= error).any(axis=1)

    def run(self, at: At) -> NDArray[Any]:
        return np.asarray(at.x.astype(np.float32) * np.float32(self.unit))
