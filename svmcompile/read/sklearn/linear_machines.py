"""scikit-learn's linear estimators: a fitted one in, an SVM with a linear kernel out.

Each row of `coef_` becomes a vector whose kernel value is the score itself, so
the coefficients are the identity.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.labels import Labels
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.read.sklearn.fitted import Fitted
from svmcompile.read.sklearn.kernel_machines import UNKNOWN

HINGES = ("hinge", "squared_hinge")


def read_linear_classifier(fitted: Fitted) -> SVM:
    """LinearSVC, of either `multi_class`: one row for two classes, else one per class."""
    fitted.require("coef_")
    labels = fitted.labels()
    weights = fitted.numbers("coef_", 2)
    rows = 1 if len(labels) == 2 else len(labels)
    if weights.shape[0] != rows:
        raise fitted.damaged(f"coef_ has {weights.shape[0]} rows, expected {rows}")
    rule = LabelRule.POSITIVE_SECOND if rows == 1 else LabelRule.ARGMAX
    return _linear(fitted, weights, rule, labels)


def read_sgd_classifier(fitted: Fitted) -> SVM:
    """SGDClassifier with a loss that makes it a linear SVM."""
    loss = fitted.get("loss")
    if not isinstance(loss, str) or loss not in HINGES:
        raise UnsupportedError(
            f"{fitted.place}: with loss={loss!r:.40} it is no SVM and cannot be compiled; "
            f"train with loss={' or '.join(map(repr, HINGES))}"
        )
    return read_linear_classifier(fitted)


def read_sgd_one_class(fitted: Fitted) -> SVM:
    """SGDOneClassSVM: zero and above is an inlier."""
    fitted.require("coef_")
    offset = fitted.numbers("offset_", 0, 1).ravel()
    if offset.shape != (1,):
        raise fitted.damaged(f"offset_ has {offset.size} values, expected 1")
    weights = fitted.numbers("coef_", 1, 2)
    weights = weights[np.newaxis] if weights.ndim == 1 else weights
    labels = Labels((-1, 1), np.dtype(np.int32).str)
    return SVM(
        kernel=Kernel("linear"),
        vectors=weights,
        coefficients=np.eye(len(weights)),
        intercepts=-offset,
        label_rule=LabelRule.NEGATIVE_FIRST,
        source=UNKNOWN,
        labels=labels,
        sample_offset=float(offset[0]),
    )


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
    "SGDClassifier": read_sgd_classifier,
    "SGDOneClassSVM": read_sgd_one_class,
}
