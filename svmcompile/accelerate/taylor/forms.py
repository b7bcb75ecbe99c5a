"""Forms sum_i weights_i (h . s_i)^n of any degree on the unit sphere: bounds of their values.

Halves of forms: products of a row with vectors as coordinates, and what is not seen in those.
A form sum_i sign_i v_i w_i of two vectors of products, such as v_i = scale_i (h . s_i)^k for |h| = 1, is
bounded through their Gram matrices: v v' <= G, where G_ij = scale_i scale_j (s_i . s_j)^k. With G at most
M M' + lost^2, v = M q + lost r for some |q|^2 + |r|^2 <= 1. The scales are the square roots of the
absolute weights, so that far vectors, which weigh nothing, do not drown near ones.

M are the products themselves where they are fewer than the vectors, else a Cholesky factor of G, with the
largest pivots first. An odd form may do with one of its halves: the square of the matrix M' S N of both is
M' S G S M, with G the Gram matrix of the other.

Eigenvalues are not computed where the ends of a spectrum are enough: a few steps of Lanczos guess an end,
and t I - A, for a t just beyond it, has a Cholesky factor only if no eigenvalue of A is above t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np

from svmcompile.accelerate.taylor.rounding import U64
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import power

KEPT = 1e-14  # of the trace; a vector with less left is lost
MOST_FEATURES = 2500  # of a half; a form whose halves have more is left to the residual
BLOCK_VALUES = 1 << 21  # products of vectors at a time
SMALL = 320  # of a matrix whose eigenvalues are quickly computed
STEPS = 36  # of Lanczos
BEYOND = (1e-3, 1e-2, 0.1)  # of the spectrum's width, beyond its guessed end


def roundings(count: int) -> float:
    """A bound on the rounding, in float64, of sums of `count` terms and of eigenvalues of such matrices.

    Relative to the sum of absolute values. 16 for each term is what is asked of the eigenvalue routines;
    measured, they need less than one.
    """
    return 16 * (count + 32) * U64


def extremes(matrix: Array) -> tuple[float, float]:
    """Bounds below and above on the eigenvalues of a symmetric matrix, but for `roundings` of its size."""
    if len(matrix) <= SMALL:
        values = np.linalg.eigvalsh(matrix)
        return float(values[0]), float(values[-1])
    low, high = _guess_ends(matrix)
    return -_above(-matrix, -low, high - low), _above(matrix, high, high - low)


def largest(matrix: Array) -> float:
    """The upper one alone."""
    if len(matrix) <= SMALL:
        return float(np.linalg.eigvalsh(matrix)[-1])
    low, high = _guess_ends(matrix)
    return _above(matrix, high, high - low)


def guess_largest(matrix: Array) -> float:
    """The largest eigenvalue, or a little less."""
    return _guess_ends(matrix)[1] if len(matrix) > SMALL else float(np.linalg.eigvalsh(matrix)[-1])


def norm(matrix: Array) -> float:
    """A bound on the largest singular value, but for `roundings` of the matrix's size."""
    if not matrix.size:
        return 0.0
    if min(matrix.shape) <= SMALL and max(matrix.shape) <= 2 * SMALL:
        return float(np.linalg.norm(matrix, 2))
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    slip = roundings(wide.shape[1]) * float(np.square(matrix).sum())
    return math.sqrt(max(largest(wide @ wide.T), 0.0) + slip)


def _guess_ends(matrix: Array) -> tuple[float, float]:
    """The ends of the spectrum as Lanczos sees them, from within."""
    from scipy.linalg import eigvalsh_tridiagonal

    steps = min(STEPS, len(matrix))
    basis, diagonal, beside = np.zeros((steps, len(matrix))), np.zeros(steps), np.zeros(steps)
    vector = np.random.default_rng(0).normal(size=len(matrix))
    vector /= np.linalg.norm(vector)
    done = 0
    for at in range(steps):
        basis[at] = vector
        new = matrix @ vector
        diagonal[at], done = new @ vector, at + 1
        for _ in range(2):  # what rounding leaves of the directions before
            new -= basis[:done].T @ (basis[:done] @ new)
        beside[at] = np.linalg.norm(new)
        if beside[at] <= 1e-10 * (abs(diagonal[0]) + beside[0]):
            break
        vector = new / beside[at]
    ends = eigvalsh_tridiagonal(diagonal[:done], beside[: done - 1])
    return float(ends[0]), float(ends[-1])


def _above(matrix: Array, guess: float, width: float) -> float:
    """A number that no eigenvalue is above, near the guess."""
    from scipy.linalg.lapack import dpotrf

    count, size = len(matrix), max(abs(guess), width)
    slip = count * roundings(count) * size
    for beyond in BEYOND:
        shifted = -matrix
        shifted.flat[:: count + 1] += guess + beyond * width
        if dpotrf(shifted, lower=1, clean=0, overwrite_a=1)[1] == 0:
            return guess + beyond * width + slip
    return float(np.linalg.eigvalsh(matrix)[-1])


@dataclass(frozen=True, slots=True)
class Half:
    """A matrix M [m, features], a bound on what it misses, and one on the length of all v."""

    matrix: Array
    lost: float
    size: float

    @classmethod
    def of(cls, features: Array) -> Half:
        """Nothing is missed by the features themselves."""
        return cls(features, 0.0, float(np.linalg.norm(features)))

    def unseen(self, other: Half) -> float:
        """What the form may have beside that of the two matrices, and the rounding of the latter."""
        missed = self.lost * other.size + other.lost * (self.size + self.lost)
        count = len(self.matrix) + self.matrix.shape[1] + other.matrix.shape[1]
        return missed + roundings(count) * self.size * other.size


def root(gram: Array, terms: int) -> Half:
    """A square root of a Gram matrix whose entries were products of sums of so many terms."""
    from scipy.linalg.lapack import dpstrf

    size, slip = float(np.trace(gram)), roundings(len(gram) + terms)
    factor, pivots, rank, _ = dpstrf(gram, tol=KEPT * size, lower=1)
    found = np.zeros((len(gram), rank))
    found[pivots - 1] = np.tril(factor)[:, :rank]
    # What is left is a Gram matrix, none of whose eigenvalues is above its trace.
    lost = max(size - float(np.square(found).sum()), 0.0) + slip * size
    return Half(found, math.sqrt(lost), math.sqrt(size))


class Forms:
    """The forms of all degrees of some points; what several degrees need is computed once."""

    def __init__(self, points: Array, weights: Array) -> None:
        self.points, self.weights = points, weights
        self.scale, self.signs = np.sqrt(np.abs(weights)), np.sign(weights)
        self.lengths = np.linalg.norm(points, axis=1)
        self._halves: dict[int, Half | None] = {}

    def window(self, n: int) -> tuple[float, float, float] | None:
        """Bounds of the form's values, zero within, and the squared sum of its matrix's entries.

        None where that would cost too much.
        """
        half = self.half(n // 2)
        if half is None:
            return None
        if not half.matrix.size:  # every vector is at the centre
            unseen = half.lost * (2 * half.size + self.size(n - n // 2))
            return -unseen, unseen, 0.0
        return self._odd(half, n) if n % 2 else self._even(half)

    def size(self, degree: int) -> float:
        """A bound on the length of all products of a degree."""
        return float(np.linalg.norm(self.scale * self.lengths**degree))

    def half(self, degree: int) -> Half | None:
        if degree not in self._halves:
            self._halves[degree] = self._half(degree)
        return self._halves[degree]

    def _half(self, degree: int) -> Half | None:
        m, d = self.points.shape
        if self._is_short(degree):
            return Half.of(self.scale[:, None] * monomials(self.points, degree))
        if m <= MOST_FEATURES:
            gram = power(self.products, degree) * np.outer(self.scale, self.scale)
            return root(gram, degree * d)
        return Half.of(self.scale[:, None] * self.points) if degree == 1 and d <= MOST_FEATURES else None

    def _is_short(self, degree: int) -> bool:
        """Whether the products themselves are fewer than the vectors."""
        m, d = self.points.shape
        return math.comb(int(d) + degree - 1, degree) <= min(int(m), MOST_FEATURES)

    @cached_property
    def products(self) -> Array:
        return np.asarray(self.points @ self.points.T)

    def _even(self, half: Half) -> tuple[float, float, float]:
        matrix = half.matrix.T @ (self.signs[:, None] * half.matrix)
        unseen, (low, high) = half.unseen(half), extremes(matrix)
        return min(0.0, low) - unseen, max(0.0, high) + unseen, float(np.square(matrix).sum())

    def _odd(self, half: Half, n: int) -> tuple[float, float, float]:
        (m, d), other = self.points.shape, n - n // 2
        beside = self.half(other) if self._is_short(other) else None
        if beside:
            matrix = half.matrix.T @ (self.signs[:, None] * beside.matrix)
            high = norm(matrix) + half.unseen(beside)
            return -high, high, float(np.square(matrix).sum())
        product = np.zeros((half.matrix.shape[1],) * 2)
        signed = self.signs * self.scale
        for rows, inner in self._blocks():
            seen = slice(m - inner.shape[1], m)
            gram = power(inner, other) * np.outer(signed[rows], signed[seen])
            if seen.start == rows.start:  # what is before has been met from the other side
                gram[:, len(gram) :] *= 2
            product += half.matrix[rows].T @ (gram @ half.matrix[seen])
        size = float(np.abs(self.weights) @ self.lengths**n)
        slip = roundings(m + other * d + len(product)) * size**2
        found = largest(0.5 * (product + product.T))
        high = math.sqrt(max(0.0, found) + slip) + half.lost * self.size(other)
        return -high, high, float(np.trace(product))

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Some rows of the products of all points with each other, until there are all of them.

        Of many points each two are multiplied once: by those from the rows on.
        """
        m = len(self.points)
        step = max(1, BLOCK_VALUES // m)
        for at in range(0, m, step):
            rows = slice(at, min(at + step, m))
            few = m <= MOST_FEATURES
            yield rows, self.products[rows] if few else self.points[rows] @ self.points[at:].T


def monomials(points: Array, degree: int) -> Array:
    """Products of so many coordinates, scaled so that (s . t)^degree is the product of two rows."""
    picks = np.array(list(combinations_with_replacement(range(points.shape[1]), degree)))
    found = points[:, picks[:, 0]].copy()
    ways, run = np.full(len(picks), 1.0), np.ones(len(picks))
    for at in range(1, degree):
        found *= points[:, picks[:, at]]
        run = np.where(picks[:, at] == picks[:, at - 1], run + 1, 1.0)
        ways *= (at + 1) / run  # degree! over the factorials of how often each stands there
    found *= np.sqrt(ways)
    return np.asarray(found)
