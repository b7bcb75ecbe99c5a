"""Leaf functions: Taylor, Taylor with a ridge correction, second order; and their leave-one-out errors.

The rows of a leaf enter; one affine (or quadratic) function per sum leaves,
about the tables' centre, with what it would say of each row had that row not
been there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.metric_tree.sample import Sample
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.pairs import pair_indices

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """out = bias + weights . h for the sums listed, bias alone for the others; h = z - centre.

    A quadratic leaf has its products behind the d features, as `ir.Products` does.
    """

    sums: Indices
    weights: Array  # [sums listed, features]
    bias: Array  # [all sums]


@dataclass(frozen=True, slots=True)
class Fitter:
    """Makes leaves of samples about the centre.

    `restricted`: only pairs of classes seen in the leaf have a function of their own.
    """

    field: Field
    centre: Array
    correct: bool  # by ridge
    quadratic: bool
    ridge: float
    restricted: bool

    def fit(self, rows: Sample) -> tuple[Leaf, Array]:
        """The leaf of the rows and its leave-one-out predictions [rows, sums]."""
        listed = self.listed(rows.classes)
        place = rows.points.mean(axis=0)
        values, slopes = self.field.expansion(place + self.centre, listed.tolist())
        base = self._expand(place, values[listed], slopes, listed)
        features = products(rows.points) if self.quadratic else rows.points
        left_out = _constants(rows)
        fitted = features @ base[0].T + base[1]
        bias = np.average(rows.sums, axis=0, weights=rows.weights)
        bias[listed] = base[1]
        weights = base[0]
        if self.correct and len(rows.points) > 1:
            # The slope's correction concerns the features themselves, never their products.
            more = Ridge.of(rows.points, rows.sums[:, listed] - fitted, rows.weights, self.ridge)
            weights = weights.copy()
            weights[:, : rows.points.shape[1]] += more.slopes
            bias[listed] += more.offset
            left_out[:, listed] = rows.sums[:, listed] - more.left_out
        else:
            left_out[:, listed] = fitted
        return Leaf(listed, weights, bias), left_out

    def listed(self, classes: Indices) -> Indices:
        """The sums that get a function: all, or the pairs of classes that occur."""
        if not self.restricted:
            return np.arange(self.field.n_sums)
        seen = set(classes.tolist())
        pairs = pair_indices(len(self.field.svm.counts))
        return np.array([p for p, (i, j) in enumerate(pairs) if i in seen and j in seen], dtype=np.int64)

    def taylor(self, places: Array) -> list[Leaf]:
        """Leaves at many places at once, without correction."""
        values, slopes = self.field.values_and_gradients(places + self.centre)
        every = np.arange(self.field.n_sums)
        at = zip(places, values, slopes, strict=True)
        return [Leaf(every, *self._expand(place, f, g, every)) for place, f, g in at]

    def _expand(self, place: Array, values: Array, slopes: Array, listed: Indices) -> tuple[Array, Array]:
        """Weights and bias, about the centre, of the expansion at a place."""
        bias = values - slopes @ place
        if not self.quadratic:
            return slopes, bias
        bend = self.field.hessians(place[None] + self.centre)[0][listed]
        pulled = bend @ place
        upper = np.triu_indices(len(place))
        squares = bend[:, upper[0], upper[1]] * np.where(upper[0] == upper[1], 0.5, 1.0)
        return np.hstack([slopes - pulled, squares]), bias + 0.5 * pulled @ place


def products(places: Array) -> Array:
    """h followed by all h_a h_b, a <= b."""
    a, b = np.triu_indices(places.shape[1])
    return np.hstack([places, places[:, a] * places[:, b]])


def _constants(rows: Sample) -> Array:
    """Leave-one-out weighted means of the sums; the sums themselves where there is one row."""
    if len(rows.sums) == 1:
        return np.array(rows.sums)
    share = (rows.weights / rows.weights.sum())[:, None]
    mean = (share * rows.sums).sum(axis=0)
    return np.asarray(rows.sums - (rows.sums - mean) / (1 - share))


@dataclass(frozen=True, slots=True, eq=False)
class Ridge:
    """Slopes and offset that correct residuals, and each row's residual had it been left out."""

    slopes: Array  # [sums, features]
    offset: Array  # [sums], at h = 0
    left_out: Array  # [rows, sums]

    @classmethod
    def of(cls, places: Array, residuals: Array, weights: Array, strength: float) -> Ridge:
        """min_g sum_j w_j |r_j - rbar - g.z_j|^2 + strength * s |g|^2, z about the weighted mean.

        s is the mean eigenvalue of Z'WZ; the strength is 1 where rows are fewer than features.
        """
        n, d = places.shape
        share = weights / weights.sum()
        z_mean, r_mean = share @ places, share @ residuals
        root = np.sqrt(weights)[:, None]
        z, r = (places - z_mean) * root, (residuals - r_mean) * root
        penalty = (1.0 if n < d else strength) * float(np.square(z).sum()) / d
        if penalty == 0:
            slopes, leverage = np.zeros((d, residuals.shape[1])), np.zeros(n)
        elif n < d:
            slopes, leverage = _dual(z, r, penalty)
        else:
            slopes, leverage = _primal(z, r, penalty)
        left = residuals - r_mean - (places - z_mean) @ slopes
        left /= np.maximum(1 - leverage - share, 1e-12)[:, None]
        return cls(slopes.T, r_mean - z_mean @ slopes, left)


def _primal(z: Array, r: Array, penalty: float) -> tuple[Array, Array]:
    """Slopes and leverages by the features' normal equations."""
    gram = z.T @ z
    gram[np.diag_indices_from(gram)] += penalty
    solved = np.linalg.solve(gram, np.hstack([z.T @ r, z.T]))
    return solved[:, : r.shape[1]], np.einsum("ij,ji->i", z, solved[:, r.shape[1] :])


def _dual(z: Array, r: Array, penalty: float) -> tuple[Array, Array]:
    """The same by the rows' Gram matrix, for fewer rows than features."""
    gram = z @ z.T
    gram[np.diag_indices_from(gram)] += penalty
    inverse = np.linalg.inv(gram)
    return z.T @ (inverse @ r), 1 - penalty * np.diagonal(inverse)
