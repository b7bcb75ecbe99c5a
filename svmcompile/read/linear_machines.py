"""scikit-learn's LIBLINEAR-based estimators: a fitted one in, an SVM with a linear kernel out.

Each row of `coef_` becomes a vector whose kernel value is the score itself, so
the coefficients are the identity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcompile.kernel import Array, Kernel
from svmcompile.labels import Labels
from svmcompile.read.fitted import Fitted
from svmcompile.read.kernel_machines import UNKNOWN
from svmcompile.svm import SVM, LabelRule


def read_linear_classifier(fitted: Fitted) -> SVM:
    """LinearSVC: one row for two classes, else one per class."""
    fitted.require("coef_")
    labels = fitted.labels()
    weights = fitted.numbers("coef_", 2)
    rows = 1 if len(labels) == 2 else len(labels)
    if weights.shape[0] != rows:
        raise fitted.damaged(f"coef_ has {weights.shape[0]} rows, expected {rows}")
    rule = LabelRule.POSITIVE_SECOND if rows == 1 else LabelRule.ARGMAX
    return _linear(fitted, weights, rule, labels)


def read_linear_regressor(fitted: Fitted) -> SVM:
    """LinearSVR: a single output, so `coef_` is one row without a second dimension."""
    fitted.require("coef_")
    weights = fitted.numbers("coef_", 1)
    return _linear(fitted, weights[np.newaxis], LabelRule.NONE, None)


def _linear(fitted: Fitted, weights: Array, rule: LabelRule, labels: Labels | None) -> SVM:
    rows = weights.shape[0]
    return SVM(
        kernel=Kernel("linear"),
        vectors=weights,
        coefficients=np.eye(rows),
        intercepts=_intercepts(fitted, rows),
        label_rule=rule,
        source=UNKNOWN,
        labels=labels,
    )


def _intercepts(fitted: Fitted, rows: int) -> Array:
    """`intercept_`, which is a plain 0.0 for estimators fitted without one."""
    intercepts = fitted.numbers("intercept_", 0, 1)
    if intercepts.ndim == 0:
        return np.full(rows, float(intercepts))
    if intercepts.shape != (rows,):
        raise fitted.damaged(f"intercept_ has {intercepts.size} values, expected {rows}")
    return intercepts


MACHINES: dict[str, Callable[[Fitted], SVM]] = {
    "LinearSVC": read_linear_classifier,
    "LinearSVR": read_linear_regressor,
}
