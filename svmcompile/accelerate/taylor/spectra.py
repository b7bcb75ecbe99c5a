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

Halves of forms: products of a row with vectors as coordinates, and what is not seen in those.
A form sum_i sign_i v_i w_i of two vectors of products, such as v_i = scale_i (h . s_i)^k for |h| = 1, is
bounded through their Gram matrices: v v' <= G, where G_ij = scale_i scale_j (s_i . s_j)^k. With G at most
M M' + lost^2, v = M q + lost r for some |q|^2 + |r|^2 <= 1. The scales are the square roots of the
absolute weights, so that far vectors, which weigh nothing, do not drown near ones.

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

from svmcompile.accelerate.taylor.rounding import U64, distance_rounding
from svmcompile.ir.arithmetic import Array

KEPT = 1e-14  # of the largest eigenvalue; smaller ones are lost
FEW_PRODUCTS = 400  # d (d + 1) / 2 of features for which this takes part of a second
MANY_PRODUCTS = 1900  # for which it takes a minute
SLACK = 1 + 1e-7  # for the rounding of roots and quotients
EVALUATIONS, COSTLY_EVALUATIONS = 24, 6
MOST_FEATURES = 2500  # orders whose halves have more are left to the residual
BLOCK = 2048  # vectors at a time
WIDER = 1e-4  # cells overlap by this share at least, and by twice the rounding of u times its step
PARTS = 8  # of a cell, each bounded by itself
LOOSER = 1e-5  # of the bound at least, and twice the rounding of u times the bound


def roundings(count: int) -> float:
    """A bound on the rounding, in float64, of sums of `count` terms and of eigenvalues of such matrices.

    Relative to the sum of absolute values. 16 for each term is what is asked of the eigenvalue routines;
    measured, they need less than one.
    """
    return 16 * (count + 32) * U64


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
    values, vectors = np.linalg.eigh(gram)
    kept = values > KEPT * max(values[-1], 0.0)
    size = float(np.trace(gram))
    lost = max(float(values[~kept].max(initial=0.0)), 0.0) + roundings(len(gram) + terms) * size
    return Half(np.asarray(vectors[:, kept] * np.sqrt(values[kept])), math.sqrt(lost), math.sqrt(size))


def cubic_bound(points: Array, weights: Array) -> float:
    """A bound on |1/6 sum_i weights_i (h . s_i)^3| for |h| = 1."""
    d = int(points.shape[1])
    one, other, idle = quartics(points, weights)
    mass = float(np.abs(weights / 6) @ np.linalg.norm(points, axis=1) ** 3)
    slip = roundings(len(points) + len(one))

    def largest(theta: float, kappa: float) -> float:
        rounding = slip * ((abs(theta) + abs(1 - theta)) * mass**2 + abs(kappa) * (1 + d))
        return _largest(theta * one + (1 - theta) * other + kappa * idle) + rounding

    size = float(np.abs(one).max())
    found = _least(lambda at: largest(at[0], at[1] * size), [0.5, 0.0], len(one))
    return SLACK * math.sqrt(max(found, 0.0))


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

    def largest(sign: float, kappa: float) -> float:
        rounding = slip * (mass + abs(kappa) * (1 + d))
        return _largest(sign * form + kappa * idle) + rounding

    top = _least(lambda at: largest(1.0, at[0] * size), [0.0], len(first))
    bottom = -_least(lambda at: largest(-1.0, at[0] * size), [0.0], len(first))
    return SLACK * min(bottom, 0.0), SLACK * max(top, 0.0)


def _pairs(d: int) -> tuple[NDArray[np.intp], NDArray[np.intp], Array, Array]:
    """Products h_j h_k, j <= k, scaled so that their norm is |h|^2, and the vector that gives |h|^2."""
    first, second = np.triu_indices(d)
    same = first == second
    return first, second, np.where(same, 1.0, math.sqrt(2.0)), same.astype(np.float64)


def _largest(matrix: Array) -> float:
    return float(np.linalg.eigvalsh(matrix)[-1])


def _least(function: Callable[[Array], float], start: list[float], products: int) -> float:
    """The least value a short search finds; any value is a valid bound."""
    from scipy.optimize import minimize

    most = EVALUATIONS if products <= FEW_PRODUCTS else COSTLY_EVALUATIONS
    found = minimize(function, start, method="Nelder-Mead", options={"maxfev": most})
    return min(float(found.fun), function(np.asarray(start)))


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
        first, second, twice, _ = _pairs(d)
        return Half.of(scale[:, None] * (points[:, first] * points[:, second] * twice))
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
