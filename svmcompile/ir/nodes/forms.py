"""Affine and quadratic functions of a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kernel import poisoned
from svmcompile.ir.kinds import Kind, Level, Norm, Table, Type, Value
from svmcompile.ir.node import At, Node, Result, Work, dims, norms


@dataclass(frozen=True, slots=True)
class Affine(Node):
    """out = weights (x - centre) + bias."""

    takes_floats: ClassVar = True
    out: Value
    x: Value
    weights: Table = field(metadata=dims("m d"))
    bias: Table = field(metadata=dims("m"))
    centre: Table = field(metadata=dims("d", "float32"))

    def result(self, at: At) -> Type:
        at.fit()
        return Type(Kind.SCORES, at.m)

    def run(self, at: At) -> NDArray[Any]:
        h = at.x - at.centre
        return poisoned(at.x, h @ at.weights.T + at.bias)

    def work(self, at: At, rows: At | None) -> Work:
        m, d = at.weights.shape
        return Work(0, d + 2 * m * d)

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x, weights = self.value(at), at.x, np.abs(at.weights).T
        h = np.abs(x.value - at.centre)
        d = h.shape[1]
        size = h @ weights
        sums = x.error @ weights + a.u * (d + 4) * size
        sums += a.tiny * (h.sum(axis=1, keepdims=True) + d + 2)
        sums += 2 * a.u * (np.abs(value) + np.abs(at.bias))
        return value, a.held(size + np.abs(at.bias), sums), False


@dataclass(frozen=True, slots=True)
class SizedAffine(Affine):
    """out = weights (x - centre) + bias, and behind that |x - centre|^2."""

    level: ClassVar = Level.MACHINE

    def result(self, at: At) -> Type:
        return Type(Kind.SCORES, Affine.result(self, at).width + 1)

    def run(self, at: At) -> NDArray[Any]:
        return np.column_stack([Affine.run(self, at), np.square(at.x - at.centre).sum(axis=1)])

    def work(self, at: At, rows: At | None) -> Work:
        return Affine.work(self, at, rows) + Work(0, 2 * at.weights.shape[1])


@dataclass(frozen=True, slots=True)
class TermAffine(Node):
    """out = weights^T v / |v| + bias with v = x * factor: a row of text, which hardly has any features.

    `logs`: of counts x as `LogCounts` has them. |v| is 1 without a `norm`, and where it is below `least`.
    """

    level: ClassVar = Level.MACHINE
    out: Value
    x: Value
    factor: Table = field(metadata=dims("d"))
    weights: Table = field(metadata=dims("d m"))
    bias: Table = field(metadata=dims("m"))
    logs: bool
    norm: str  # l1, l2, max or none
    least: float

    def result(self, at: At) -> Type:
        at.fit()
        return Type(Kind.SCORES, at.m)

    def run(self, at: At) -> NDArray[Any]:
        v = at.x.astype(np.float64)
        v = (np.where(v == 0, 0.0, 1 + np.log(v)) if self.logs else v) * at.factor
        size = np.ones(len(v)) if not self.norm else norms(v, cast("Norm", self.norm))
        size = np.where(size < self.least, 1.0, size)[:, None]
        out = (v @ at.weights.astype(np.float64)) / size + at.bias
        return poisoned(at.x, out.astype(at.x.dtype))

    def work(self, at: At, rows: At | None) -> Work:
        d, m = at.weights.shape
        return Work(0, 3 * d + 2 * m * d)


@dataclass(frozen=True, slots=True)
class Quadratic(Node):
    """out[j] = sum_{a <= b} squares[j, ab] h_a h_b + weights[j] h + bias[j], with h = x - centre."""

    takes_floats: ClassVar = True
    out: Value
    x: Value
    squares: Table = field(metadata=dims("m triangle"))  # d (d + 1) / 2, upper triangle row by row
    weights: Table = field(metadata=dims("m d"))
    bias: Table = field(metadata=dims("m"))
    centre: Table = field(metadata=dims("d", "float32"))

    def result(self, at: At) -> Type:
        at.fit(triangle=at.d * (at.d + 1) // 2)
        return Type(Kind.SCORES, at.m)

    def run(self, at: At) -> NDArray[Any]:
        h = at.x - at.centre
        out = h @ at.weights.T + at.bias
        first = 0
        for a in range(h.shape[1]):  # row a of the upper triangle
            end = first + h.shape[1] - a
            out += h[:, a : a + 1] * (h[:, a:] @ at.squares[:, first:end].T)
            first = end
        return poisoned(at.x, out)

    def work(self, at: At, rows: At | None) -> Work:
        m, d = at.weights.shape
        return Work(0, d + m * (d * (d + 1) + 3 * d))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, x = self.value(at), at.x
        h = np.abs(x.value - at.centre)
        d = h.shape[1]
        sizes = {name: np.abs(at.tables[name]) for name in (self.squares, self.weights, self.bias)}
        sizes[self.centre] = np.zeros(d)
        form = Quadratic("size", "h", self.squares, self.weights, self.bias, self.centre)
        size = form.run(At(form, sizes, {"h": h}))
        # Moving h by e moves the form of absolute values by at most this much.
        moved = form.run(At(form, sizes, {"h": h + x.error})) - size
        # Tables of numbers too small for full precision are off by `tiny`, and so are the products.
        small = a.tiny * (np.square(h.sum(axis=1, keepdims=True) + 1) + 2 * d * d)
        error = moved + a.u * (2 * d + 8) * size + 2 * a.u * np.abs(value) + small
        return value, a.held(size, error), False
