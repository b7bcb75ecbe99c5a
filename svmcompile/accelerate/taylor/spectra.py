"""What the orders of a Taylor expansion can contribute: weights and vectors go in, bounds come out.

With s = sqrt(2 gamma) (vector - centre), h likewise of the row, z = |h| and
a_i = weight_i exp(-|s_i|^2 / 2), an RBF sum is

    f(x) = bias + exp(-z^2 / 2) sum_n B_n(h),   B_n(h) = 1/n! sum_i a_i (h . s_i)^n.

B_n is a form of degree n. Cut in two halves of degree k and n - k it is a matrix,
and its extreme eigenvalues (singular values, where the halves differ) bound it:
B_n(h) lies in z^n [low_n, high_n]. What all orders above N can add is bounded in
the kernel's own space, by Cauchy and Schwarz: exp(-z^2 / 2) |sum_{n > N} B_n| <=
residual_N sqrt(P(N + 1, z^2)), with P the regularised incomplete gamma function.
The orders are orthogonal there, and |B_n|^2 is the squared sum of that matrix's
entries over n!, so each leaves a smaller residual.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.taylor.halves import Half, root, roundings
from svmcompile.accelerate.taylor.squares import FEW_PRODUCTS, cubic_bound, quartic_window
from svmcompile.ir.kernel import Array

MOST_FEATURES = 2500  # orders whose halves have more are left to the residual
BLOCK = 2048  # vectors at a time


@dataclass(frozen=True, slots=True)
class Spectra:
    """Windows of the orders (index n; 0 and 1 are not used), and residuals after each order."""

    low: Array  # [N + 1]
    high: Array  # [N + 1]
    residual: Array  # [N + 1]


def spectra(
    points: Array,
    weights: Array,
    norm: float,
    orders: int,
    sharpen: int = FEW_PRODUCTS,
    mass: float | None = None,
) -> Spectra:
    """Bounds of the orders up to `orders`, or to as many as can be afforded.

    `points` are the scaled differences s, `weights` the a_i, `norm` the squared norm of the whole sum
    in the kernel's space, `sharpen` up to how many products of features orders 3 and 4 are bounded more
    sharply, `mass` the sum of its absolute weights, without which it is found from the a_i.
    """
    low, high = [0.0, 0.0], [0.0, 0.0]
    left = [norm - float(weights.sum()) ** 2]
    left.append(left[0] - float(np.square(weights @ points).sum()))
    halves: dict[int, Half | None] = {}
    for n in range(2, orders + 1):
        found = _order(points, weights, n, halves)
        if found is None:
            break
        bottom, top, square = found
        low.append(bottom / math.factorial(n))
        high.append(top / math.factorial(n))
        left.append(left[-1] - square / math.factorial(n))
    d = points.shape[1]
    if d * (d + 1) // 2 <= sharpen:
        _sharpen(points, weights, low, high)
    if mass is None:
        mass = float(np.abs(weights) @ np.exp(0.5 * np.square(points).sum(axis=1)))
    # Of the norm and of what is taken off it: their own rounding.
    rounding = roundings(len(points) + 8 * points.shape[1]) * mass**2
    return Spectra(np.array(low), np.array(high), np.sqrt(np.maximum(left, 0.0) + rounding))


def window(points: Array, weights: Array, n: int, sharpen: int = FEW_PRODUCTS) -> tuple[float, float]:
    """Bounds of 1/n! sum_i weights_i (h . s_i)^n for |h| = 1, of one order by itself; zero is within."""
    found, d = _order(points, weights, n, {}), points.shape[1]
    if found is None:
        size = float(np.abs(weights) @ np.linalg.norm(points, axis=1) ** n)
        found = -size, size, 0.0
    low, high = [found[0] / math.factorial(n)], [found[1] / math.factorial(n)]
    if d * (d + 1) // 2 <= sharpen and n in (3, 4):
        bottom, top = _sharper(points, weights, n)
        low.append(bottom)
        high.append(top)
    return max(low), min(high)


def _order(
    points: Array, weights: Array, n: int, halves: dict[int, Half | None]
) -> tuple[float, float, float] | None:
    """The window of an order times n!, and the squared sum of its entries; None if it costs too much."""
    k = n // 2
    for degree in (k, n - k):
        if degree not in halves:
            halves[degree] = _half(points, np.sqrt(np.abs(weights)), degree)
    left, right = halves[k], halves[n - k]
    if left is not None and right is not None:
        return _window(left, right, np.sign(weights), even=n % 2 == 0)
    if n == 3 and points.shape[1] <= MOST_FEATURES:
        return _cubic_window(points, weights)
    return None


def _sharpen(points: Array, weights: Array, low: list[float], high: list[float]) -> None:
    """Replace the windows of orders 3 and 4 by narrower ones, where those can be afforded."""
    for n in range(3, min(len(low), 5)):
        bottom, top = _sharper(points, weights, n)
        low[n], high[n] = max(low[n], bottom), min(high[n], top)


def _sharper(points: Array, weights: Array, n: int) -> tuple[float, float]:
    """The window of order 3 or 4 by sums of squares."""
    if n == 4:
        return quartic_window(points, weights)
    cubic = cubic_bound(points, weights)
    return -cubic, cubic


def _half(points: Array, scale: Array, degree: int) -> Half | None:
    """Products of a degree, G_ij = scale_i scale_j (s_i . s_j)^degree; None where that costs too much."""
    m, d = points.shape
    if degree == 1 and d <= max(m, MOST_FEATURES):
        return Half.of(scale[:, None] * points)
    if degree == 2 and d * (d + 1) // 2 <= min(m, MOST_FEATURES):
        first, second = np.triu_indices(d)
        products = points[:, first] * points[:, second] * np.where(first == second, 1, math.sqrt(2))
        return Half.of(scale[:, None] * products)
    if m > MOST_FEATURES:
        return None
    return root(np.outer(scale, scale) * (points @ points.T) ** degree, degree * d)


def _window(left: Half, right: Half, signs: Array, even: bool) -> tuple[float, float, float]:
    """The least and the largest value of the form on the unit sphere, or bounds on them; zero is within."""
    matrix = left.matrix.T @ (signs[:, None] * right.matrix)
    unseen = left.unseen(right)
    if not matrix.size:  # every vector is at the centre
        return -unseen, unseen, 0.0
    square = float(np.square(matrix).sum())
    if even:
        values = np.linalg.eigvalsh(matrix)
        return min(0.0, float(values[0])) - unseen, max(0.0, float(values[-1])) + unseen, square
    largest = float(np.linalg.norm(matrix, 2)) + unseen
    return -largest, largest, square


def _cubic_window(points: Array, weights: Array) -> tuple[float, float, float]:
    """The same for order 3 of many vectors with many features, from the d x d product T T' alone."""
    product = np.zeros((points.shape[1],) * 2)
    for at in range(0, len(points), BLOCK):
        part = points[at : at + BLOCK]
        inner = np.square(part @ points.T) * np.outer(weights[at : at + BLOCK], weights)
        product += part.T @ (inner @ points)
    size = float(np.abs(weights) @ np.linalg.norm(points, axis=1) ** 3)
    found = float(np.linalg.eigvalsh(0.5 * (product + product.T))[-1])
    largest = math.sqrt(max(0.0, found) + roundings(len(points) + 2 * points.shape[1]) * size**2)
    return -largest, largest, float(np.trace(product))
