"""What the orders of a Taylor expansion can contribute: weights and vectors go in, bounds come out.

With s = sqrt(2 gamma) (vector - centre), h likewise of the row, z = |h| and
a_i = weight_i exp(-|s_i|^2 / 2), an RBF sum is

    f(x) = bias + exp(-z^2 / 2) sum_n B_n(h),   B_n(h) = 1/n! sum_i a_i (h . s_i)^n.

B_n is a form of degree n. Cut in two halves of degree k and n - k it is a matrix,
and its extreme eigenvalues (singular values, where the halves differ) bound it:
B_n(h) lies in z^n [low_n, high_n]. What all orders above N can add is bounded in
the kernel's own space, by Cauchy and Schwarz: exp(-z^2 / 2) |sum_{n > N} B_n| <=
residual_N sqrt(P(N + 1, z^2)), with P the regularised incomplete gamma function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.taylor.squares import can_sharpen, cubic_bound, quartic_window
from svmcompile.kernel import Array

MOST_VECTORS = 2500  # above, orders whose halves have more features than this are left to the residual
SAFETY = 1e-12  # of the sum of absolute values: rounding of the spectra in float64


@dataclass(frozen=True, slots=True)
class Spectra:
    """Windows of the orders (index n; 0 and 1 are not used), and residuals after each order."""

    low: Array  # [N + 1]
    high: Array  # [N + 1]
    residual: Array  # [N + 1]


def spectra(points: Array, weights: Array, norm: float, orders: int) -> Spectra:
    """Bounds of the orders up to `orders`, or to as many as can be afforded.

    `points` are the scaled differences s, `weights` the a_i, `norm` the squared norm of the whole sum
    in the kernel's space.
    """
    low, high = [0.0, 0.0], [0.0, 0.0]
    halves = [np.ones((len(points), 1))]
    for n in range(2, orders + 1):
        k = n // 2
        while len(halves) <= n - k:
            half = _half(points, len(halves))
            if half is None:
                _sharpen(points, weights, low, high)
                return _with_residuals(points, weights, norm, low, high)
            halves.append(half)
        bottom, top = _window(halves[k], halves[n - k], weights, even=n % 2 == 0)
        size = SAFETY * float(np.abs(weights) @ np.linalg.norm(points, axis=1) ** n)
        low.append((bottom - size) / math.factorial(n))
        high.append((top + size) / math.factorial(n))
    _sharpen(points, weights, low, high)
    return _with_residuals(points, weights, norm, low, high)


def _sharpen(points: Array, weights: Array, low: list[float], high: list[float]) -> None:
    """Replace the windows of orders 3 and 4 by narrower ones, where those can be afforded."""
    if len(low) <= 3 or not can_sharpen(points.shape[1]):
        return
    cubic = cubic_bound(points, weights)
    low[3], high[3] = max(low[3], -cubic), min(high[3], cubic)
    if len(low) > 4:
        bottom, top = quartic_window(points, weights)
        low[4], high[4] = max(low[4], bottom), min(high[4], top)


def _half(points: Array, degree: int) -> Array | None:
    """A matrix R [m, features] with R R' = (s_i . s_j)^degree; None where that costs too much."""
    m, d = points.shape
    if degree == 1:
        return points if d <= m else _root(points @ points.T)
    if degree == 2 and d * (d + 1) // 2 <= min(m, MOST_VECTORS):
        first, second = np.triu_indices(d)
        return np.asarray(points[:, first] * points[:, second] * np.where(first == second, 1, math.sqrt(2)))
    return _root((points @ points.T) ** degree) if m <= MOST_VECTORS else None


def _root(gram: Array) -> Array:
    """A square root of a positive semidefinite matrix, directions of no weight left out."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-14 * max(values[-1], 0.0)
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def _window(left: Array, right: Array, weights: Array, even: bool) -> tuple[float, float]:
    """The least and the largest value of the form on the unit sphere, or bounds on them; zero is within."""
    matrix = left.T @ (weights[:, None] * right)
    if not matrix.size:  # every vector is at the centre
        return 0.0, 0.0
    if even:
        values = np.linalg.eigvalsh(matrix)
        return min(0.0, float(values[0])), max(0.0, float(values[-1]))
    largest = float(np.linalg.norm(matrix, 2))
    return -largest, largest


def _with_residuals(
    points: Array, weights: Array, norm: float, low: list[float], high: list[float]
) -> Spectra:
    """Residuals: what of the squared norm the orders so far leave, and the rounding of it all."""
    gram = points @ points.T
    power = np.ones_like(gram)
    left = norm
    size = len(points) * float(np.abs(weights) @ np.exp(0.5 * np.square(points).sum(axis=1))) ** 2
    rounding = 4 * 2.0**-53 * size
    residual = []
    for n in range(len(low)):
        if n:
            power *= gram / n
        left -= float(weights @ power @ weights)
        residual.append(math.sqrt(max(left, 0.0) + rounding))
    return Spectra(np.array(low), np.array(high), np.array(residual))
