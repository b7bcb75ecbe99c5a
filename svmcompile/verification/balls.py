"""Numbers known within balls: real ones, and all that code of a number type can make of them.

A ball of arbitrary precision (python-flint's `arb`) encloses a number. In `Rounded` arithmetic every
result is widened by what rounding can do to it, whatever the order of a sum and whether or not products
are fused; so a ball holds the results of all code there is for an expression.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import ToolchainError
from svmcompile.extras import install
from svmcompile.ir.arithmetic import ARITHMETIC, Number, in_segments

Ball = Any
Balls = list[Any]
BITS = 160  # of the balls' midpoints
UP = 1 + 1e-9  # covers the rounding of radii
FADE_ERROR: dict[Number, float] = {"f32": 2.6e-7, "f64": 1e-15}  # relative, of exp in any emitted form


def flint() -> Any:
    try:
        import flint as found
    except ImportError:
        raise ToolchainError(
            f"certificates are checked with python-flint, which is not installed; run: {install('proof')}"
        ) from None
    return found


@contextmanager
def many_bits() -> Iterator[None]:
    """Balls are computed with enough bits within."""
    context = flint().ctx
    before, context.prec = context.prec, BITS
    try:
        yield
    finally:
        context.prec = before


class Real:
    """Real numbers: nothing is rounded but the balls themselves."""

    def number(self, value: float) -> Ball:
        """A constant as the code has it."""
        return flint().arb(float(value))

    def numbers(self, values: NDArray[Any]) -> Balls:
        return [self.number(value) for value in np.asarray(values).ravel()]

    def add(self, a: Ball, b: Ball) -> Ball:
        return self._rounded(a + b)

    def subtract(self, a: Ball, b: Ball) -> Ball:
        return self._rounded(a - b)

    def multiply(self, a: Ball, b: Ball) -> Ball:
        return self._rounded(a * b)

    def dot(self, a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
        return sum((left * right for left, right in zip(a, b, strict=True)), flint().arb(0))

    def dot_in_segments(self, a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
        """The same by code that adds up segments first."""
        return self.dot(a, b)

    def total(self, terms: Sequence[Ball]) -> Ball:
        return sum(terms, flint().arb(0))

    def fade(self, u: Ball) -> Ball:
        """exp(-u)."""
        return (-u).exp()

    def _rounded(self, value: Ball) -> Ball:
        return value


class Rounded(Real):
    """What code of a number type can make of an expression."""

    def __init__(self, number: Number) -> None:
        known = ARITHMETIC[number]
        self.u, self.tiny, self.fade_error = known.u, known.smallest, FADE_ERROR[number]
        self.held: Any = np.float32 if number == "f32" else np.float64

    def number(self, value: float) -> Ball:
        return flint().arb(float(self.held(value)))

    def dot(self, a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
        """Each product and each sum is rounded, so a term at most as often as there are terms."""
        return super().dot(a, b) + self._slip(len(a), _sizes(a, b))

    def dot_in_segments(self, a: Sequence[Ball], b: Sequence[Ball]) -> Ball:
        """A term is rounded with its segment, and with the sums of segments; zeros may be passed over."""
        return super().dot(a, b) + self._slip(in_segments(len(a)) + 1, _sizes(a, b))

    def total(self, terms: Sequence[Ball]) -> Ball:
        return super().total(terms) + self._slip(len(terms), sum(_above(ball) for ball in terms))

    def _slip(self, count: int, size: float) -> Ball:
        """What so many roundings do to terms of that size."""
        return _within(count * self.u / (1 - count * self.u) * size + 2 * count * self.tiny)

    def fade(self, u: Ball) -> Ball:
        """exp2 of u times a constant; numbers below the normal range may be given as zero."""
        turned = self.multiply(u, self.number(-math.log2(math.e)))
        exact = (turned * flint().arb.const_log2()).exp()
        return exact + _within(self.fade_error * _above(exact) + 2 * self.tiny)

    def _rounded(self, value: Ball) -> Ball:
        return value + _within(self.u * _above(value) + self.tiny)


def _sizes(a: Sequence[Ball], b: Sequence[Ball]) -> float:
    """The sum of the products' absolute values, or more."""
    return float(np.dot([_above(ball) for ball in a], [_above(ball) for ball in b]))


def _above(ball: Ball) -> float:
    """A float that is not below any absolute value in the ball."""
    return UP * float(ball.abs_upper())


def _within(radius: float) -> Ball:
    return flint().arb(0, UP * radius)
