"""Basis and stages: W in the span of ordered points, and tables of what is left of it after each stage.

Basis: W embedded in the span of ordered points; a sum and points enter, coordinates leave.
With L the Cholesky factor of the points' Gram matrix and M its inverse, q = M k(Z, x) are the
coordinates of Phi(x) and w = M <Phi(Z), W> those of W in one orthonormal system, so that
|f - (b + w[:c] . q[:c])| <= rho_c R_c with rho and R what is left of the two lengths.

The tables are float64 numbers, hence M is not quite the inverse. With E = M K M' - I and the
error of w both bounded afterwards (their own rounding included), eta >= |E|, for every c
    R_c^2   <= k(x, x) - |q|^2 + eta_c k(x, x)
    |P_c W - its estimate| <= (eta_c |w| + error_c) / (1 - eta_c)       (the drift of a score)
    rho_c^2 <= |W|^2 - |w[:c]|^2 + eta_c |w|^2 + 2 error_c |w|
    rho_c^2 <= |W - U w|^2 + (1 + eta) |w[c:]|^2 + 2 (error + eta |w|) |w[c:]|
where U w is the estimate from all points; the second does not cancel where they nearly span W.

Stages: where a bounded sum looks at its error, and the tables for that.
A basis and a form (block, number of points, number of coordinates) enter; the tables of a
`BoundedSum` leave. `Readings` gives scores and errors after every point for many rows at once,
which is what the choice of a form and the tests look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.margins import TEST_ROUNDING, KernelError, coordinate_error, lengths
from svmcompile.accelerate.bounds.sums import Sum
from svmcompile.ir.arithmetic import ARITHMETIC, Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.stages import self_kernel, size_of

U64 = ARITHMETIC["f64"].u
LEAST_DRIFT = 1e-8  # of |W|: what float64 tables are taken to lose at least


@dataclass(frozen=True, eq=False)
class Basis:
    """Ordered points with their coordinates; index c of a [K + 1] array is after c points."""

    points: Array  # [K, d]
    coordinates: Array  # [K, K], lower triangle: M
    projection: Array  # [K]: w
    residuals: Array  # [K + 1]: rho
    drift: Array  # [K + 1], of scores, per sqrt(k(x, x))
    skew: Array  # [K + 1], of R^2, per k(x, x): eta
    norm: float  # |W|

    def __len__(self) -> int:
        return len(self.projection)

    def estimate(self, count: int) -> Array:
        """g with g . k[:count] = w[:count] . q[:count]."""
        return np.asarray(self.projection[:count] @ self.coordinates[:count, :count])


def embed(own: Sum, points: Array) -> Basis:
    """The sum's W in the span of the points, which must be independent."""
    from scipy.linalg import cholesky, solve_triangular

    gram = own.kernel.values(points, points)
    lower = cholesky(gram, lower=True) if len(points) else np.zeros((0, 0))
    inverse = np.tril(solve_triangular(lower, np.eye(len(points)), lower=True)) if len(points) else lower
    products = own.products(points)
    projection = np.asarray(inverse @ products)
    eta, error = _skew(own, inverse, gram), _slips(own, inverse, gram, products, projection)
    square = _square(own)
    length = lengths(projection)
    drift = (eta * length + error) / np.maximum(1 - eta, 1e-9) + LEAST_DRIFT * np.sqrt(square)
    residuals = _residuals(own, points, inverse, projection, square, eta, error)
    return Basis(
        np.asarray(points), inverse, projection, residuals, np.where(eta < 0.5, drift, np.inf), eta,
        float(np.sqrt(square)),
    )  # fmt: skip


def _value_error(kernel: Kernel, n_features: int) -> float:
    """Float64 rounding of a kernel value, beside the largest."""
    return (kernel.degree if kernel.kind == "poly" else 1) * (n_features + 10) * U64


def _skew(own: Sum, inverse: Array, gram: Array) -> Array:
    """Bounds on the norm of M K M' - I for its leading parts."""
    count = len(gram)
    rows = np.abs(inverse).sum(axis=1)
    largest = float(np.abs(gram).max(initial=0.0))
    rounding = (_value_error(own.kernel, own.vectors.shape[1]) + 2 * (count + 2) * U64) * largest
    found = np.abs(inverse @ gram @ inverse.T - np.eye(count)) + rounding * np.outer(rows, rows)
    squares = np.cumsum(np.cumsum(np.square(found), axis=0), axis=1)
    return 1.01 * np.concatenate([[0.0], np.sqrt(np.diag(squares))])


def _slips(own: Sum, inverse: Array, gram: Array, products: Array, projection: Array) -> Array:
    """Bounds on the error of w for its leading parts."""
    rows = np.abs(inverse).sum(axis=1)
    total = float(np.abs(own.weights).sum()) * _largest(own, gram)
    terms = len(own.weights) + len(gram) + 4
    rounding = (_value_error(own.kernel, own.vectors.shape[1]) + terms * U64) * total
    return 1.01 * lengths(np.abs(inverse @ products - projection) + rounding * rows)


def _largest(own: Sum, gram: Array) -> float:
    """The largest kernel value among vectors and points: no larger than the largest of x with itself."""
    largest = float(np.diag(gram).max(initial=0.0))
    return max(largest, float(self_kernel(own.kernel, own.vectors).max(initial=0.0)))


def _rounding_of_square(own: Sum) -> float:
    """Float64 rounding of |W|^2 computed from kernel values."""
    total = float(np.abs(own.weights).sum())
    largest = float(self_kernel(own.kernel, own.vectors).max(initial=0.0))
    unit = 2 * len(own.weights) * U64 + _value_error(own.kernel, own.vectors.shape[1])
    return unit * total * total * largest


def _square(own: Sum) -> float:
    """|W|^2, from above."""
    return max(0.0, float(own.weights @ own.products(own.vectors))) + _rounding_of_square(own)


def _residuals(
    own: Sum, points: Array, inverse: Array, projection: Array, square: float, eta: Array, error: Array
) -> Array:
    """rho for every number of points; the smaller of the two bounds."""
    length = lengths(projection)
    left = np.concatenate([np.sqrt(np.cumsum(np.square(projection[::-1])))[::-1], [0.0]])
    by_norm = np.square(left) + max(0.0, square - length[-1] ** 2) + eta * length**2 + 2 * error * length
    # Equal vectors are met once: what cancels does so before any kernel value.
    rest, place = np.unique(np.concatenate([own.vectors, points]), axis=0, return_inverse=True)
    weights = np.concatenate([own.weights, -(projection @ inverse)])
    total: Array = np.bincount(place.ravel(), weights, len(rest)).astype(np.float64)
    beyond = _square(Sum(own.kernel, rest, total, 0.0))
    by_rest = beyond + (1 + eta[-1]) * np.square(left) + 2 * (error[-1] + eta[-1] * length[-1]) * left
    # What is left never grows with another point, whatever rounding does to its bound.
    return np.asarray(np.minimum.accumulate(np.sqrt(np.minimum(by_norm, by_rest))))


@dataclass(frozen=True, slots=True)
class Form:
    """After every `block` values up to `k_max` the error is looked at, from `r_coords` coordinates."""

    block: int
    k_max: int
    r_coords: int

    @property
    def ends(self) -> NDArray[np.int32]:
        """How many values are known at each stage."""
        if not self.k_max:
            return np.zeros(0, dtype=np.int32)
        ends = range(self.block, self.k_max, self.block)
        return np.array([*ends, self.k_max], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Errors:
    """What a basis' scores and residuals lose, by the number of values or coordinates (index 0: none)."""

    score: Array
    estimate: Array
    square: Array

    @classmethod
    def of(cls, basis: Basis, bias: float, error: KernelError, missed: float = 0.0) -> Errors:
        """`missed`: what the sum itself is off by, where its kernel values are not those of the basis."""
        score, estimate, square = coordinate_error(basis.coordinates, basis.projection, bias, error)
        drift = basis.drift + missed
        return cls(score + drift, estimate + drift, square + basis.skew)

    def margins(self, count: NDArray[Any], known: int) -> Array:
        """Of the score from `count` values, of which `known` have coordinates."""
        return np.asarray(np.where(count <= known, self.score[count], self.estimate[count]))


def stage_tables(basis: Basis, errors: Errors, form: Form) -> dict[str, Array]:
    """The tables of a form over the basis, which has at least `k_max` points, by the node's fields.

    Coordinates are a lower triangle row by row; estimates are of stages with fewer coordinates than values.
    """
    ends, known = form.ends, min(form.r_coords, form.k_max)
    estimates = [basis.estimate(int(end)) for end in ends if end > known]
    return {
        "coordinates": basis.coordinates[np.tril_indices(known)],
        "projection": basis.projection[:known],
        "estimates": np.concatenate([*estimates, np.zeros(0 if estimates else 1)]),
        "residuals": TEST_ROUNDING * basis.residuals[ends],
        "slacks": TEST_ROUNDING * errors.square[np.minimum(ends, known)],
        "margins": TEST_ROUNDING * errors.margins(ends, known),
    }


@dataclass(frozen=True, eq=False)
class Readings:
    """Scores and what their errors are made of, for rows x 0..K values."""

    basis: Basis
    errors: Errors
    scores: Array  # [rows, K + 1]
    left: Array  # [rows, K + 1]: R^2
    sizes: Array  # [rows, 1]

    @classmethod
    def of(cls, own: Sum, basis: Basis, errors: Errors, points: Array, reach: float) -> Readings:
        q = own.kernel.values(points, basis.points) @ basis.coordinates.T
        start = np.zeros((len(points), 1))
        scores = np.cumsum(np.hstack([start + own.bias, q * basis.projection]), axis=1)
        spent = np.cumsum(np.hstack([start, np.square(q)]), axis=1)
        left = self_kernel(own.kernel, points)[:, None] - spent
        size = size_of(own.kernel, points, reach)[:, None]
        return cls(basis, errors, scores, np.maximum(left, 0.0), size)

    def gaps(self, known: int) -> Array:
        """|f - score| is at most this, [rows, K + 1], with so many coordinates."""
        count = np.arange(len(self.basis) + 1)
        used = np.minimum(count, known)
        square = self.left[:, used] + self.errors.square[used] * np.square(self.sizes)
        margin = self.errors.margins(count, known) * self.sizes
        return np.asarray(TEST_ROUNDING * (self.basis.residuals * np.sqrt(square) + margin))

    def decided(self, gaps: Array, tolerance: float) -> NDArray[np.bool_]:
        """Which of [rows, K + 1] decide: the sign is clear or (tolerance >= 0) the value known."""
        return np.asarray(np.abs(self.scores) > gaps if tolerance < 0 else gaps <= tolerance)
