"""The rows a tree is built from, with all that is known of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.rows import RowWise, in_blocks, labels_of, margin_rule
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.pairs import favour
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

    def by_label(self) -> Judge:
        """One that asks for labels alone."""
        return Judge(self.svm, 0.0)

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
