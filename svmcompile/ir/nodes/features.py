"""Nodes of preprocessing: features in, features out. All stand on both levels.

`Pick` and `Join` take scores and probabilities, too.

A projection (PCA) is an `Affine` and a kernel map (Nystroem) a `KernelSum`,
whose scores `AsFeatures` hands on as features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import ARITHMETIC, Arithmetic, Bounded, nearest_float32, split_shift
from svmcompile.ir.kinds import IndexTable, Kind, Norm, Table, Type, Value
from svmcompile.ir.node import SHAPE_FLOPS, At, Node, Result, RowError, Work, dims, need, norms, within

NORM_ROUNDINGS = 5  # of a division by a norm that is in the number type itself


@dataclass(frozen=True, slots=True)
class Scale(Node):
    """out = (x - shift) * factor + offset, feature by feature."""

    flops: ClassVar = 2
    in_place: ClassVar = True
    out: Value
    x: Value
    shift: Table = field(metadata=dims("d", "float32"))
    factor: Table = field(metadata=dims("d"))
    offset: Table = field(metadata=dims("d"))

    def result(self, at: At) -> Type:
        at.fit()
        return Type(Kind.FEATURES, at.d)

    def run(self, at: At) -> NDArray[Any]:
        return (at.x - at.shift) * at.factor + at.offset

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x = self.value(at), at.x
        factor, offset = np.abs(at.factor), np.abs(at.offset)
        product = np.abs(x.value - at.shift) * factor
        error = factor * x.error + a.u * (3 * product + (offset != 0) * (np.abs(value) + offset))
        return value, error + a.tiny * (np.abs(x.value - at.shift) + 3), False

    def row_error(self, at: At, a: Arithmetic) -> RowError:
        relative, constant = at.x
        shift, offset = split_shift(at.shift, at.factor)
        factor, offset = np.abs(at.factor), np.abs(offset)
        moved = factor * np.abs(shift)
        in_double = 8 * ARITHMETIC["f64"].u * moved
        constant = factor * constant + relative * (offset + moved) + 4 * a.u * offset + in_double
        return relative + 4 * a.u, constant


@dataclass(frozen=True, slots=True)
class Clip(Node):
    """out = min(max(x, low), high); NaN stays NaN."""

    flops: ClassVar = 2
    in_place: ClassVar = True
    out: Value
    x: Value
    low: float
    high: float

    def result(self, at: At) -> Type:
        need(self.low <= self.high, f"low {self.low} is above high {self.high}")
        return Type(Kind.FEATURES, at.d)

    def run(self, at: At) -> NDArray[Any]:
        return np.clip(at.x, self.low, self.high)

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        return value, at.x.error + a.u * np.abs(value) + a.tiny, False

    def row_error(self, at: At, a: Arithmetic) -> RowError:
        return at.x[0] + a.u, at.x[1]


@dataclass(frozen=True, slots=True)
class AsFeatures(Node):
    """The scores, read as features from here on."""

    makes_features: ClassVar = True
    in_place: ClassVar = True
    out: Value
    scores: Value

    def result(self, at: At) -> Type:
        need(at.scores.kind is Kind.SCORES, f"%{self.scores} is not scores")
        return Type(Kind.FEATURES, at.scores.width)

    def run(self, at: At) -> NDArray[Any]:
        return at.scores

    def error(self, at: At, a: Arithmetic) -> Result:
        return at.scores.value, at.scores.error, False


@dataclass(frozen=True, slots=True)
class Pick(Node):
    """out[k] = x[columns[k]]; what is not picked does not matter, NaN or not."""

    leaves_out: ClassVar = True
    out: Value
    x: Value
    columns: IndexTable = field(metadata=dims("picks"))

    def result(self, at: At) -> Type:
        given = _numbers(at, "x")
        at.fit()
        need(at.columns.size > 0, "no columns are picked")
        within(at.columns, given.width, "a column")
        return Type(given.kind, len(at.columns))

    def run(self, at: At) -> NDArray[Any]:
        return at.x[:, at.columns]

    def error(self, at: At, a: Arithmetic) -> Result:
        return at.x.value[:, at.columns], at.x.error[:, at.columns], False

    def row_error(self, at: At, a: Arithmetic) -> RowError:
        return at.x[0], at.x[1][at.columns]


@dataclass(frozen=True, slots=True)
class Normalize(Node):
    """out = x / norm, or x itself where the norm is below `least`; NaN if a feature is not finite."""

    flops: ClassVar = 3
    in_place: ClassVar = True
    out: Value
    x: Value
    norm: Norm
    least: float

    def result(self, at: At) -> Type:
        need(math.isfinite(self.least) and self.least > 0, "the least norm is not above zero")
        return Type(Kind.FEATURES, at.d)

    def run(self, at: At) -> NDArray[Any]:
        size = norms(at.x, self.norm)
        size = np.where(size < self.least, 1.0, size)
        size = np.where(np.isfinite(at.x).all(axis=1), size, np.nan)
        return np.asarray((at.x / size[:, None]).astype(at.x.dtype))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x = self.value(at), at.x
        size, in_double = norms(x.value, self.norm), (value.shape[1] + 6) * ARITHMETIC["f64"].u
        moved = norms(x.error, self.norm) + in_double * size
        small = size < self.least
        divisor = np.where(small, 1.0, np.maximum(size - moved, 0.0))[:, None]
        error = (x.error + np.abs(value) * np.where(small, 0.0, moved)[:, None]) / divisor
        error = np.where(small[:, None], error, np.fmin(error, 2.0))  # no feature is above its row's norm
        unstable = ~(np.abs(size - self.least) > moved) & np.isfinite(size)
        return value, error + NORM_ROUNDINGS * a.u * np.abs(value) + a.tiny, unstable


@dataclass(frozen=True, slots=True)
class Powers(Node):
    """out[k] = the product over l of x[factors[k, l]], where x[d], behind the last, is the number one."""

    out: Value
    x: Value
    factors: IndexTable = field(metadata=dims("products degree"))

    def result(self, at: At) -> Type:
        at.fit()
        need(at.factors.size > 0, "no products are asked for")
        within(at.factors, at.d + 1, "a factor")
        return Type(Kind.FEATURES, len(at.factors))

    def run(self, at: At) -> NDArray[Any]:
        wide = _with_column(at.x, 1.0)
        out = wide[:, at.factors[:, 0]]
        for column in at.factors.T[1:]:
            out = out * wide[:, column]
        return out

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, at.out.width * (at.factors.shape[1] - 1))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, degree = self.value(at), at.factors.shape[1]
        sizes, errors = np.abs(at.x.value), at.x.error
        size, error = np.ones_like(value), np.zeros_like(value)
        for column in at.factors.T:
            factor, e = (_with_column(part, end)[:, column] for part, end in ((sizes, 1.0), (errors, 0.0)))
            error = error * (factor + e) + size * e
            size = size * factor
        return value, error + degree * (a.u * (size + error) + a.tiny * (1 + size)), False


@dataclass(frozen=True, slots=True)
class Cosine(Node):
    """out = factor * cos(2 pi x), feature by feature: x counts turns."""

    flops: ClassVar = SHAPE_FLOPS["exp2"]
    in_place: ClassVar = True
    out: Value
    x: Value
    factor: float

    def result(self, at: At) -> Type:
        need(math.isfinite(self.factor), "the factor is not finite")
        return Type(Kind.FEATURES, at.d)

    def run(self, at: At) -> NDArray[Any]:
        turns = 2 * np.pi * at.x.astype(np.float64)
        return np.asarray((self.factor * np.cos(turns)).astype(at.x.dtype))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x = self.value(at), at.x
        # A backend may multiply by 2 pi before it takes the cosine.
        moved = 2 * np.pi * (x.error + 2 * a.u * np.abs(x.value))
        error = np.fmin(moved + a.cos_error, 2.0)
        return value, abs(self.factor) * (error + 2 * a.u) + a.tiny, False


@dataclass(frozen=True, slots=True)
class LogCounts(Node):
    """out = 1 + ln x where x is above zero, 0 for 0 and NaN below: counts that grow slowly."""

    flops: ClassVar = SHAPE_FLOPS["exp2"]
    in_place: ClassVar = True
    out: Value
    x: Value

    def result(self, at: At) -> Type:
        return Type(Kind.FEATURES, at.d)

    def run(self, at: At) -> NDArray[Any]:
        logs = 1 + np.log(np.where(at.x == 0, 1.0, at.x.astype(np.float64)))
        return np.asarray(np.where(at.x == 0, 0.0, logs).astype(at.x.dtype))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x = self.value(at), at.x
        least = np.maximum(x.value - x.error, 0.0)
        with np.errstate(all="ignore"):
            moved = np.where(x.error > 0, x.error / least, 0.0)
        # A number that rounding may bring to zero jumps.
        unstable = ((x.error > 0) & (least <= 0)).any(axis=1)
        return value, moved + a.log_error * (1 + np.abs(value)) + a.tiny, unstable


@dataclass(frozen=True, slots=True)
class Fill(Node):
    """values[j] where x[j] is missing, else x[j]; missing is NaN (`nan`), or what equals the marker."""

    fills: ClassVar = True
    flops: ClassVar = 1
    in_place: ClassVar = True
    out: Value
    x: Value
    values: Table = field(metadata=dims("d"))
    nan: bool
    marker: float  # a float32 number

    def result(self, at: At) -> Type:
        at.fit()
        return _missing_result(at)

    def run(self, at: At) -> NDArray[Any]:
        return np.where(_is_missing(self, at.x), at.values.astype(at.x.dtype), at.x)

    def error(self, at: At, a: Arithmetic) -> Result:
        gone = _is_missing(self, at.x.value)
        rounded = at.values != nearest_float32(at.values)
        error = np.where(gone, np.where(rounded, a.u * np.abs(at.values) + a.tiny, 0.0), at.x.error)
        return self.value(at), error, _in_doubt(self, at.x)

    def row_error(self, at: At, a: Arithmetic) -> RowError | None:
        return (at.x[0], at.x[1] + a.u * np.abs(at.values)) if self.nan else None


@dataclass(frozen=True, slots=True)
class Missing(Node):
    """1 where x[j] is missing, else 0; missing as in `Fill`."""

    flops: ClassVar = 1
    out: Value
    x: Value
    nan: bool
    marker: float

    def result(self, at: At) -> Type:
        return _missing_result(at)

    def run(self, at: At) -> NDArray[Any]:
        return _is_missing(self, at.x).astype(at.x.dtype)

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        return value, np.zeros_like(value), _in_doubt(self, at.x)

    def row_error(self, at: At, a: Arithmetic) -> RowError | None:
        return (at.x[0], np.zeros_like(at.x[1])) if self.nan else None


@dataclass(frozen=True, slots=True)
class Join(Node):
    """The numbers of the left, then those of the right, which are of one kind."""

    compares: ClassVar = True
    joins: ClassVar = True
    out: Value
    left: Value
    right: Value

    def result(self, at: At) -> Type:
        left, right = _numbers(at, "left"), _numbers(at, "right")
        need(left.kind is right.kind, f"{left.kind.value} stand beside {right.kind.value}")
        need(left.wide == right.wide, "one side is in double, the other is not")
        return Type(left.kind, left.width + right.width)

    def run(self, at: At) -> NDArray[Any]:
        return np.hstack([at.left, at.right])

    def error(self, at: At, a: Arithmetic) -> Result:
        return self.value(at), np.hstack([at.left.error, at.right.error]), False

    def row_error(self, at: At, a: Arithmetic) -> RowError:
        return max(at.left[0], at.right[0]), np.concatenate([at.left[1], at.right[1]])


@dataclass(frozen=True, slots=True)
class Products(Node):
    """h = x - centre, then the products h_a h_b, a <= b, upper triangle row by row."""

    flops: ClassVar = 1
    out: Value
    x: Value
    centre: Table = field(metadata=dims("d", "float32"))

    def result(self, at: At) -> Type:
        at.fit()
        return Type(Kind.FEATURES, at.d + at.d * (at.d + 1) // 2)

    def run(self, at: At) -> NDArray[Any]:
        h = at.x - at.centre
        first, second = np.triu_indices(h.shape[1])
        return np.hstack([h, h[:, first] * h[:, second]])

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        h = np.abs(at.x.value - at.centre)
        e = at.x.error + a.u * h + a.tiny
        first, second = np.triu_indices(h.shape[1])
        moved = h[:, first] * e[:, second] + h[:, second] * e[:, first] + e[:, first] * e[:, second]
        products = moved + a.u * h[:, first] * h[:, second] + a.tiny
        return value, np.hstack([e, products]), False


def _numbers(at: At, field: str) -> Type:
    """Features, scores or probabilities."""
    given: Type = getattr(at, field)
    need(given.kind not in (Kind.INDEX, Kind.LABEL), f"%{getattr(at.node, field)} is no vector")
    return given


def _missing_result(at: At) -> Type:
    same = math.isfinite(at.marker) and float(np.float32(at.marker)) == at.marker
    need(same, "the marker is not a finite float32 number")
    return Type(Kind.FEATURES, at.d)


def _is_missing(node: Fill | Missing, x: NDArray[Any]) -> NDArray[np.bool_]:
    return np.isnan(x) if node.nan else np.asarray(x == node.marker)


def _with_column(part: NDArray[Any], end: float) -> NDArray[Any]:
    return np.hstack([part, np.full((len(part), 1), end, part.dtype)])


def _in_doubt(node: Fill | Missing, x: Bounded) -> NDArray[np.bool_]:
    """Rows in which rounding decides whether a number is the marker."""
    if node.nan:
        return np.zeros(len(x.value), dtype=bool)
    return np.asarray(((np.abs(x.value - node.marker) <= x.error) & (x.error > 0)).any(axis=1))
