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

Sharper bounds of a Taylor expansion's orders 3 and 4, by sums of squares.
On the unit sphere the square of a cubic form T is at most |T(h, h, .)|^2, a
form of degree four in h: a quadratic form of the products h_j h_k. Many matrices
give that same quartic: theta shares it between two ways of pairing the factors,
and kappa (I - v v') is zero on it, where v . (h h') = |h|^2. The largest eigenvalue
of any of them is a bound, so whatever a search over theta and kappa finds is valid.
What is searched includes the rounding of each matrix, which grows with theta and kappa.

Tables of what a Taylor polynomial leaves out, cell by cell of the row's distance.
u = gamma |h|^2 = z^2 / 2. The tables hold bounds divided by u, which hardly change within a cell.
exp(-u) z^n / u is largest at u = n / 2 - 1 if that lies within the cell, else at the nearer end. The
residual's share sqrt(P(N + 1, 2 u)) / u is bounded by its end over its start, and by
(2 u)^((N + 1) / 2) / (u sqrt((N + 1)!)), which grows with u.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.taylor.forms import Forms, guess_largest, largest, roundings
from svmcompile.accelerate.taylor.rounding import distance_rounding
from svmcompile.ir.arithmetic import Array

FEW_PRODUCTS = 400  # d (d + 1) / 2 of features for which this takes part of a second
MANY_PRODUCTS = 1900  # for which it takes a minute
SLACK = 1 + 1e-7  # for the rounding of roots and quotients
EVALUATIONS, COSTLY_EVALUATIONS = 24, 6
WIDER = 1e-4  # cells overlap by this share at least, and by twice the rounding of u times its step
PARTS = 8  # of a cell, each bounded by itself
LOOSER = 1e-5  # of the bound at least, and twice the rounding of u times the bound


def cubic_bound(points: Array, weights: Array) -> float:
    """A bound on |1/6 sum_i weights_i (h . s_i)^3| for |h| = 1."""
    d = int(points.shape[1])
    one, other, idle = quartics(points, weights)
    mass = float(np.abs(weights / 6) @ np.linalg.norm(points, axis=1) ** 3)
    slip = roundings(len(points) + len(one))
    size = float(np.abs(one).max())

    def matrix(at: Array) -> Array:
        return np.asarray(at[0] * one + (1 - at[0]) * other + at[1] * size * idle)

    def rounding(at: Array) -> float:
        return slip * float((abs(at[0]) + abs(1 - at[0])) * mass**2 + abs(at[1] * size) * (1 + d))

    return SLACK * math.sqrt(max(_least(matrix, rounding, [0.5, 0.0]), 0.0))


def quartics(points: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Two matrices that give |T(h, h, .)|^2 of the cubic form, and one that gives zero."""
    first, second, scale, unit = _pairs(int(points.shape[1]))
    tensor = np.einsum("i,ij,ik,il->jkl", weights / 6, points, points, points, optimize=True)
    unfolded = tensor[:, first, second] * scale
    one = unfolded.T @ unfolded
    crossed = np.einsum("ajl,akm->jklm", tensor, tensor, optimize=True)
    crossed = 0.5 * (crossed + crossed.transpose(0, 1, 3, 2))  # factors within a pair change places
    crossed = 0.5 * (crossed + crossed.transpose(1, 0, 2, 3))
    other = crossed[first, second][:, first, second] * np.outer(scale, scale)
    return one, other, np.eye(len(first)) - np.outer(unit, unit)


def quartic_window(points: Array, weights: Array) -> tuple[float, float]:
    """Bounds of 1/24 sum_i weights_i (h . s_i)^4 for |h| = 1; zero is within."""
    d = int(points.shape[1])
    first, second, scale, unit = _pairs(d)
    products = points[:, first] * points[:, second] * scale
    form = (products.T * (weights / 24)) @ products
    idle = np.eye(len(first)) - np.outer(unit, unit)
    size = float(np.abs(form).max())
    mass = float(np.abs(weights / 24) @ np.linalg.norm(points, axis=1) ** 4)
    slip = roundings(len(points) + len(first))

    def rounding(at: Array) -> float:
        return slip * float(mass + abs(at[0] * size) * (1 + d))

    top = _least(lambda at: form + at[0] * size * idle, rounding, [0.0])
    bottom = -_least(lambda at: at[0] * size * idle - form, rounding, [0.0])
    return SLACK * min(bottom, 0.0), SLACK * max(top, 0.0)


def _pairs(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, Array]:
    """Products h_j h_k, j <= k, scaled so that their norm is |h|^2, and the vector that gives |h|^2."""
    first, second = np.triu_indices(d)
    same = first == second
    return first, second, np.where(same, 1.0, math.sqrt(2.0)), same.astype(np.float64)


def _least(
    matrix: Callable[[Array], Array], rounding: Callable[[Array], float], start: list[float]
) -> float:
    """The least bound on the eigenvalues of a matrix that a short search finds; any is valid."""
    from scipy.optimize import minimize

    def guess(at: Array) -> float:
        return guess_largest(matrix(at)) + rounding(at)

    first = np.asarray(start)
    most = EVALUATIONS if len(matrix(first)) <= FEW_PRODUCTS else COSTLY_EVALUATIONS
    found = minimize(guess, start, method="Nelder-Mead", options={"maxfev": most})
    return min(largest(matrix(at)) + rounding(at) for at in (found.x, first))


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
    forms = Forms(points, weights)
    for n in range(2, orders + 1):
        found = forms.window(n)
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
    found, d = Forms(points, weights).window(n), points.shape[1]
    if found is None:
        size = float(np.abs(weights) @ np.linalg.norm(points, axis=1) ** n)
        found = -size, size, 0.0
    low, high = [found[0] / math.factorial(n)], [found[1] / math.factorial(n)]
    if d * (d + 1) // 2 <= sharpen and n in (3, 4):
        bottom, top = _sharper(points, weights, n)
        low.append(bottom)
        high.append(top)
    return max(low), min(high)


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


def widen(value: Any, d: int) -> Any:
    """A place among the cells or a bound, larger by more than rounding can do to it."""
    return value * (1 + max(WIDER, 2 * distance_rounding(d)))


def remainders(bounds: Spectra, order: int, reach: float, cells: int, d: int, off: float = 0.0) -> Array:
    """Bounds over u on what a score of this order exceeds the sum by, and falls below it by, [cells, 2].

    The cells part u from 0 to `reach`; the row has d features, and u may be off by `off` beside that.
    """
    edges = np.linspace(0.0, reach, cells * PARTS + 1)
    wider = max(WIDER, 2 * distance_rounding(d))
    start = np.maximum(edges[:-1] * (1 - wider) - off, 0.0)
    stop = edges[1:] * (1 + wider) + off
    found = np.full((len(start), 2), np.inf)
    blocks = np.zeros((len(start), 2))
    for last in range(order, len(bounds.low)):
        if last > order:
            peak = np.clip(last / 2 - 1, start, stop)
            most = np.exp(-peak) * 2 * (2 * peak) ** (last / 2 - 1)
            blocks[:, 0] += most * max(-bounds.low[last], 0.0)
            blocks[:, 1] += most * max(bounds.high[last], 0.0)
        rest = bounds.residual[last] * _share(last, start, stop)
        found = np.minimum(found, blocks + rest[:, None])
    slack = 1 + max(LOOSER, 2 * distance_rounding(d))
    return np.asarray(slack * found.reshape(cells, PARTS, 2).max(axis=1))


def _share(last: int, start: Array, stop: Array) -> Array:
    """A bound on sqrt(P(last + 1, 2 u)) / u between start and stop."""
    from scipy.special import gammainc

    power = 2 * (2 * stop) ** ((last + 1) / 2 - 1) / math.sqrt(math.factorial(last + 1))
    with np.errstate(divide="ignore"):
        ends = np.sqrt(gammainc(last + 1, 2 * stop)) / start
    return np.asarray(np.minimum(power, ends))
