"""The rows a tree is built from, with all that is known of them, and the functions of its leaves.

Leaf functions are Taylor, Taylor with a ridge correction, or second order. The rows of a leaf enter; one
affine (or quadratic) function per sum leaves, about the tables' centre, with what it would say of each row
had that row not been there (leave-one-out).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.rows import RowWise, in_blocks, labels_of, margin_rule
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.pairs import favour, pair_indices
from svmcompile.model.svm import SVM, LabelRule

Flags = NDArray[np.bool_]
SPREAD_SHARE = 0.05  # of a regressor's spread: the tolerance where none is given
Indices = NDArray[np.int64]
LEAST_WEIGHT = 0.02  # of rows far from the boundary
TARGETS = 16  # directions kept of the gradients
BASIS_ROWS = 1000  # rows that show the directions in which gradients vary
BLOCK_ROWS = 2048


@dataclass(frozen=True, eq=False)
class Sample(RowWise):
    """Rows in kernel space, their sums and classes, and how much each matters."""

    points: Array
    sums: Array
    classes: Indices
    weights: Array
    targets: Array | None  # gradients in short, where an axis split asks for them

    @classmethod
    def of(cls, field: Field, judge: Judge, points: Array, with_targets: bool) -> Sample:
        sums = field.values(points)
        regressor = field.svm.label_rule is LabelRule.NONE
        classes = np.zeros(len(points), dtype=np.int64) if regressor else labels_of(field.svm, sums)
        weights = np.ones(len(points)) if judge.tol > 0 else boundary_weights(field.svm, sums)
        targets = gradient_targets(field, points, weights) if with_targets else None
        return cls(points, sums, classes, weights, targets)

    @property
    def centre(self) -> Array:
        """The mean, as float32 numbers."""
        return nearest_float32(self.points.mean(axis=0))


def boundary_weights(svm: SVM, sums: Array) -> Array:
    """exp(-margin / width), which counts rows near the boundary most."""
    margin = np.abs(margins(sums, margin_rule(svm)))
    width = float(np.median(margin)) / 2
    return np.asarray(np.exp(-margin / width) if width > 0 else np.ones(len(sums))) + LEAST_WEIGHT


def gradient_targets(field: Field, points: Array, weights: Array) -> Array:
    """The gradients of all rows in the few directions in which they vary most."""
    basis = _directions(field, points, weights)
    step = min(BLOCK_ROWS, max(1, (1 << 24) // (field.n_sums * points.shape[1])))
    return in_blocks(lambda block: _class_gradients(field, block) @ basis, points, step)


def _directions(field: Field, points: Array, weights: Array) -> Array:
    """Principal directions [gradient components, targets], from evenly spaced rows."""
    rows = np.unique(np.linspace(0, len(points) - 1, BASIS_ROWS).astype(np.int64))
    slopes = _class_gradients(field, points[rows])
    some = weights[rows, None]
    spread = (slopes - (some * slopes).sum(axis=0) / some.sum()) * np.sqrt(some)
    if slopes.shape[1] <= TARGETS:
        return np.eye(slopes.shape[1])
    _, _, directions = np.linalg.svd(spread, full_matrices=False)
    return np.asarray(directions[:TARGETS].T)


def _class_gradients(field: Field, points: Array) -> Array:
    """Gradients [rows, components]: of the sums, or of each class's sum over its pairs."""
    slopes = field.gradients(points)
    if field.svm.counts:
        slopes = np.einsum("cp,npd->ncd", favour(len(field.svm.counts)), slopes, optimize=True)
    return np.asarray(slopes.reshape(len(points), -1))


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells which approximated sums are wrong; `tol` 0 means that labels decide."""

    svm: SVM
    tol: float

    @classmethod
    def of(cls, svm: SVM, tol: float, sums: Array) -> Judge:
        """With a regressor's tolerance from the spread of its values, where none is given."""
        if svm.label_rule is LabelRule.NONE and tol == 0:
            tol = SPREAD_SHARE * float(sums.std()) or float(np.abs(sums).max()) * 1e-6 or 1e-12
        return cls(svm, tol)

    def wrong(self, found: Array, meant: Array, classes: Indices | None = None) -> Flags:
        """Rows whose approximated sums do not do. `classes` are those of the sums meant, where known."""
        if self.tol > 0:
            return np.asarray((np.abs(found - meant) > self.tol).any(axis=1))
        classes = labels_of(self.svm, meant) if classes is None else classes
        return np.asarray(labels_of(self.svm, found) != classes)

    def errors(self, found: Array, meant: Array, classes: Indices, weights: Array, by_risk: bool) -> float:
        """How many rows are wrong; `by_risk` at least as many as chance would make wrong.

        A leaf of few rows may have no error by luck. With residuals of spread s
        (weighted mean square), a row of margin f is wrong with a chance of Phi(-|f| / s).
        """
        counted = float(self.wrong(found, meant, classes).sum())
        if not by_risk or self.tol > 0:
            return counted
        from scipy.special import ndtr

        margin = np.abs(margins(meant, margin_rule(self.svm)))
        square = float(np.average(np.square(found - meant).max(axis=1), weights=weights))
        return max(counted, float(ndtr(-margin / np.sqrt(square)).sum()) if square > 0 else 0.0)


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
