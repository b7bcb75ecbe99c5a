"""Sums of products in twice the precision, so that tables of collapsed kernels are rounded once.

Large coefficients of opposite signs cancel. In plain double what is left would be off by far more than its
own rounding, which is all that error bounds know of. A `Pair` is a number as the sum of two doubles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from svmcompile.data.csr import Csr
from svmcompile.ir.arithmetic import Array

PARTS = 4  # of a factor; their products go down to some 2^-70 of the largest
SPLIT = 2.0**27 + 1


class Pair(NamedTuple):
    """high + low, the second no more than the rounding of the first."""

    high: Array
    low: Array

    def __mul__(self, other: object) -> Pair:
        """Times a pair, or plain numbers."""
        factor = other if isinstance(other, Pair) else pair(np.asarray(other, dtype=np.float64))
        high, low = _two_product(self.high, factor.high)
        return Pair(high, low + (self.high * factor.low + self.low * factor.high))

    def plus(self, other: Pair) -> Pair:
        high, low = _two_sum(self.high, other.high)
        return Pair(*_two_sum(high, low + (self.low + other.low)))

    def rounded(self) -> Array:
        return np.asarray(self.high + self.low)


def pair(numbers: Array | float) -> Pair:
    """Plain numbers."""
    numbers = np.asarray(numbers, dtype=np.float64)
    return Pair(numbers, np.zeros_like(numbers))


def product(a: Pair | Array, b: Pair | Array) -> Pair:
    """The matrix product a @ b.

    Each factor is cut into parts of so few bits that BLAS adds up their products without rounding (Ozaki).
    """
    left, right = (one if isinstance(one, Pair) else pair(one) for one in (a, b))
    bits = (53 - math.ceil(math.log2(max(2, right.high.shape[0])))) // 2
    rows, columns = _parts(left.high, bits, -1), _parts(right.high, bits, 0)
    found = pair(left.high @ right.low + left.low @ right.high)
    for order in reversed(range(PARTS)):  # the smallest first
        for i in range(order + 1):
            found = found.plus(pair(rows[i] @ columns[order - i]))
    return found


def sparse_products(weights: Array, vectors: Csr) -> Iterator[Pair]:
    """weights @ vectors row by row, as `product` computes it, of vectors without their zeros."""
    bits = (53 - math.ceil(math.log2(max(2, len(vectors))))) // 2
    columns = _column_parts(vectors, bits)
    for row in weights:
        rows = _parts(row[None], bits, -1)
        found = pair(np.zeros((1, vectors.shape[1])))
        for order in reversed(range(PARTS)):
            for i in range(order + 1):
                found = found.plus(pair(rows[i] @ columns[order - i]))
        yield found


def _column_parts(vectors: Csr, bits: int) -> list[Csr]:
    """`_parts` along the columns."""
    left, found = vectors.data, []
    for _ in range(PARTS):
        largest = np.zeros(vectors.shape[1])
        np.maximum.at(largest, vectors.indices, np.abs(left))
        raised = np.ldexp(0.75, np.frexp(largest)[1] + 54 - bits)[vectors.indices]
        part = (left + raised) - raised
        found.append(Csr((part, vectors.indices, vectors.indptr), shape=vectors.shape))
        left = left - part
    return found


def _parts(matrix: Array, bits: int, axis: int) -> list[Array]:
    """Matrices that add up to nearly this one, each of so many bits along the axis."""
    found = []
    for _ in range(PARTS):
        largest = np.abs(matrix).max(axis=axis, keepdims=True, initial=0.0)
        raised = np.ldexp(0.75, np.frexp(largest)[1] + 54 - bits)  # whose last bit others are rounded to
        found.append((matrix + raised) - raised)
        matrix = matrix - found[-1]
    return found


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    found = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return found, a2 * b2 - (((found - a1 * b1) - a2 * b1) - a1 * b2)


def _halves(a: Array) -> tuple[Array, Array]:
    """Two numbers of 26 bits each."""
    raised = SPLIT * a
    high = raised - (raised - a)
    return high, a - high
