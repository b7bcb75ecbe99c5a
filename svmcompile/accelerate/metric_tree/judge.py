"""What counts as right: the original's label, or a value within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.decide import labels_of, margin_rule
from svmcompile.ir.kernel import Array
from svmcompile.ir.nodes.decisions import margins
from svmcompile.model.svm import SVM, LabelRule

Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]

SPREAD_SHARE = 0.05  # of a regressor's spread: the tolerance where none is given


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

    def agreement(self, found: Array, meant: Array) -> float:
        """Share of rows that are right."""
        return float(1 - self.wrong(found, meant).mean())
