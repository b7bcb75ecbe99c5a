"""Basis points anywhere in space, where the paper's orderings pick among vectors and rows.

Each starts from the best candidate and moves downhill (L-BFGS). For a point z with products g = M k(Z, z)
with those before it, d = k(z, z) - |g|^2, c = <Phi(z), W> - g . w and c_n = k(z, x_n) - g . q_n for
query n, it takes a^2 = c^2 / d of |W|^2, and query n gets a coordinate t_n = c_n / sqrt(d). Orderings by W
alone make a^2 large. Those by queries make the wrong ends of their intervals small, the paper's cost (26):

    sum_n max( sqrt(rho^2 - a^2) sqrt(R_n^2 - t_n^2) - sign_n (f_n + a t_n), 0 )

The bound holds for any points, so a label can never change with them. The direct sum knows none of their
values, so a row that needs it pays for them twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile.accelerate.bounds.sums import Sum
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.stages import self_kernel

STEPS = 60  # of the descent
LEAST = 1e-9  # what divides nothing


@dataclass(frozen=True, eq=False)
class Found:
    """Points so far: their inverse factor, W and queries in their span, and what is left of both."""

    points: Array  # [k, d]
    inverse: Array  # [k, k]: M
    projection: Array  # [k]: w
    residual: float  # rho^2
    cross: Array  # [queries, k]: q
    scores: Array  # [queries]
    left: Array  # [queries]: R^2


@dataclass(frozen=True, eq=False)
class Search:
    """What points are judged by: a sum, and queries with their signs, or none."""

    own: Sum
    queries: Array
    signs: Array

    def start(self) -> Found:
        none, count = np.zeros((0, self.own.vectors.shape[1])), len(self.queries)
        square = max(0.0, float(self.own.weights @ self.own.products(self.own.vectors)))
        scores = np.full(count, self.own.bias)
        left = self_kernel(self.own.kernel, self.queries)
        return Found(none, np.zeros((0, 0)), np.zeros(0), square, np.zeros((count, 0)), scores, left)

    def parts(self, found: Found, z: Array) -> tuple[Array, float, float, Array]:
        """g, d, c and c_n of a point."""
        kernel, at = self.own.kernel, z[None]
        g = found.inverse @ kernel.values(at, found.points)[0]
        d = max(float(self_kernel(kernel, at)[0] - g @ g), LEAST)
        c = float(self.own.products(at)[0] - g @ found.projection)
        return g, d, c, kernel.values(at, self.queries)[0] - found.cross @ g

    def cost(self, z: Array, found: Found) -> tuple[float, Array]:
        """The cost of a next point and its gradient."""
        g, d, c, cross = self.parts(found, z)
        root = float(np.sqrt(d))
        a, t = c / root, cross / root
        if len(self.queries):
            value, by_a, by_t = _wrong_ends(found, self.signs, a, t)
        else:
            value, by_a, by_t = -a * a, -2 * a, np.zeros(0)
        by_c, by_cross = by_a / root, by_t / root
        by_d = -0.5 * (by_a * a + float(by_t @ t)) / d
        by_g = -by_c * found.projection - found.cross.T @ by_cross - 2 * by_d * g
        points = np.concatenate([found.points, self.own.vectors, self.queries])
        weights = np.concatenate([found.inverse.T @ by_g, by_c * self.own.weights, by_cross])
        return value, _gradient(self.own.kernel, z, points, weights, by_d)

    def next_point(self, found: Found, candidates: Array) -> Array:
        """From the best candidate downhill."""
        from scipy.optimize import minimize

        costs = [self.cost(point, found)[0] for point in candidates]
        start = candidates[int(np.argmin(costs))]
        done = minimize(
            self.cost, start, args=(found,), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}
        )
        better = np.isfinite(done.x).all() and done.fun < min(costs)
        return nearest_float32(done.x if better else start)

    def taken(self, found: Found, z: Array) -> Found:
        g, d, c, cross = self.parts(found, z)
        root, size = float(np.sqrt(d)), len(found.points)
        inverse = np.zeros((size + 1, size + 1))
        inverse[:size, :size] = found.inverse
        inverse[size] = np.append(-g @ found.inverse, 1.0) / root
        t = cross / root
        return Found(
            np.concatenate([found.points, z[None]]),
            inverse,
            np.append(found.projection, c / root),
            max(0.0, found.residual - c * c / d),
            np.column_stack([found.cross, t]),
            found.scores + c / root * t,
            np.maximum(found.left - t * t, 0.0),
        )


def free_points(own: Sum, candidates: Array, queries: Array, signs: Array, count: int) -> Array:
    """So many points one after the other; without queries by what they leave of W."""
    search = Search(own, queries, signs)
    found = search.start()
    for _ in range(count):
        found = search.taken(found, search.next_point(found, candidates))
    return found.points


def _wrong_ends(found: Found, signs: Array, a: float, t: Array) -> tuple[float, float, Array]:
    """The cost, and its slopes along a and t."""
    rest = max(found.residual - a * a, LEAST)
    left = np.maximum(found.left - t * t, LEAST)
    wrong = np.sqrt(rest * left) - signs * (found.scores + a * t)
    open_ = (wrong > 0).astype(np.float64)
    ratio = np.sqrt(left / rest)
    by_a = float(open_ @ (-ratio * a - signs * t))
    by_t = open_ * (-t / ratio - signs * a)
    return float(open_ @ wrong), by_a, by_t


def _gradient(kernel: Kernel, z: Array, points: Array, weights: Array, by_own: float) -> Any:
    """Of sum_i weights_i k(z, points_i) + by_own k(z, z)."""
    if kernel.kind == "rbf":  # where k(z, z) is one
        terms = weights * kernel.values(z[None], points)[0]
        return 2 * kernel.gamma * (terms @ points - terms.sum() * z)
    base = kernel.gamma * np.append(points @ z, z @ z) + kernel.coef0
    slopes = kernel.gamma * kernel.degree * base ** (kernel.degree - 1)
    return (weights * slopes[:-1]) @ points + 2 * by_own * slopes[-1] * z
