"""Sharper bounds of a Taylor expansion's orders 3 and 4, by sums of squares.

On the unit sphere the square of a cubic form T is at most |T(h, h, .)|^2, a
form of degree four in h: a quadratic form of the products h_j h_k. Many matrices
give that same quartic: theta shares it between two ways of pairing the factors,
and kappa (I - v v') is zero on it, where v . (h h') = |h|^2. The largest eigenvalue
of any of them is a bound, so whatever a search over theta and kappa finds is valid.
What is searched includes the rounding of each matrix, which grows with theta and kappa.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.taylor.halves import roundings
from svmcompile.ir.kernel import Array

FEW_PRODUCTS = 400  # d (d + 1) / 2 of features for which this takes part of a second
MANY_PRODUCTS = 1900  # for which it takes a minute
SLACK = 1 + 1e-7  # for the rounding of roots and quotients
EVALUATIONS, COSTLY_EVALUATIONS = 24, 6


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
