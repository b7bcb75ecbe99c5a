"""scikit-learn's linear machines: whatever has `coef_` and `intercept_`, by its label rule and link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Link
from svmcompile.read.kernels import linear_machine
from svmcompile.read.sklearn.fitted import Fitted
from svmcompile.read.sklearn.targets import indicator_labels, is_indicator

MULTI_CLASS = ("auto", "deprecated", "warn", "ovr", "multinomial")
SGD_LINKS = {"log_loss": Link.LOGISTIC, "log": Link.LOGISTIC, "modified_huber": Link.CLIPPED}
CLASSIFIERS = (
    "LinearSVC", "RidgeClassifier", "RidgeClassifierCV", "Perceptron", "PassiveAggressiveClassifier",
)  # fmt: skip
REGRESSORS = (
    "LinearSVR", "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV",
    "Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC", "OrthogonalMatchingPursuit",
    "OrthogonalMatchingPursuitCV", "BayesianRidge", "ARDRegression", "HuberRegressor", "TheilSenRegressor",
    "QuantileRegressor", "SGDRegressor", "PassiveAggressiveRegressor", "MultiTaskLasso", "MultiTaskLassoCV",
    "MultiTaskElasticNet", "MultiTaskElasticNetCV",
)  # fmt: skip


def read_linear_classifier(fitted: Fitted) -> SVM:
    """One row of weights for two classes, else one per class; the largest score wins."""
    fitted.require("coef_")
    labels = fitted.labels()
    weights = fitted.numbers("coef_", 1, 2)
    weights = weights[np.newaxis] if weights.ndim == 1 else weights
    binarizer = fitted.optional("_label_binarizer")
    if binarizer is not None and is_indicator(fitted, binarizer):
        return _of_many_labels(fitted, weights, len(labels))
    rows = 1 if len(labels) == 2 else len(labels)
    if weights.shape[0] != rows:
        raise fitted.damaged(f"coef_ has {weights.shape[0]} rows, expected {rows}")
    rule = LabelRule.POSITIVE_SECOND if rows == 1 else LabelRule.ARGMAX
    return linear_machine(weights, _intercepts(fitted, rows), rule, labels)


def _of_many_labels(fitted: Fitted, weights: Array, count: int) -> SVM:
    """RidgeClassifier of an indicator matrix: every row of weights decides on a label of its own."""
    if weights.shape[0] != count:
        raise fitted.damaged(f"coef_ has {weights.shape[0]} rows, expected {count}")
    return linear_machine(weights, _intercepts(fitted, count), LabelRule.EACH, indicator_labels(count))


def read_sgd_classifier(fitted: Fitted) -> SVM:
    """SGDClassifier: two of its losses give probabilities."""
    loss = fitted.get("loss")
    if not isinstance(loss, str):
        raise fitted.damaged(f"loss is {loss!r:.40}")
    return replace(read_linear_classifier(fitted), link=SGD_LINKS.get(loss, Link.NONE))


def read_logistic_regression(fitted: Fitted) -> SVM:
    """LogisticRegression: softmax, unless an older scikit-learn trained each class against all others."""
    machine = read_linear_classifier(fitted)
    kind, solver = fitted.optional("multi_class"), fitted.get("solver")
    if kind is not None and (not isinstance(kind, str) or kind not in MULTI_CLASS):
        raise fitted.damaged(f"multi_class is {kind!r:.40}")
    if not isinstance(solver, str):
        raise fitted.damaged(f"solver is {solver!r:.40}")
    if kind == "multinomial" and machine.n_sums == 1:
        raise UnsupportedError(
            f"{fitted.place}: with multi_class='multinomial' and two classes, probabilities are those of "
            "twice the score, which scikit-learn no longer supports; leave multi_class out and fit again"
        )
    rest = kind in ("ovr", "warn") or (solver == "liblinear" and kind != "multinomial")
    return replace(machine, link=Link.LOGISTIC if rest or machine.n_sums == 1 else Link.SOFTMAX)


def read_discriminant(fitted: Fitted) -> SVM:
    """LinearDiscriminantAnalysis."""
    machine = read_linear_classifier(fitted)
    return replace(machine, link=Link.LOGISTIC if machine.n_sums == 1 else Link.SOFTMAX)


def read_sgd_one_class(fitted: Fitted) -> SVM:
    """SGDOneClassSVM: zero and above is an inlier."""
    fitted.require("coef_")
    offset = fitted.numbers("offset_", 0, 1).ravel()
    if offset.shape != (1,):
        raise fitted.damaged(f"offset_ has {offset.size} values, expected 1")
    weights = fitted.numbers("coef_", 1, 2)
    weights = weights[np.newaxis] if weights.ndim == 1 else weights
    labels = Labels((-1, 1), np.dtype(np.int32).str)
    svm = linear_machine(weights, -offset, LabelRule.NEGATIVE_FIRST, labels)
    return replace(svm, sample_offset=float(offset[0]))


def read_linear_regressor(fitted: Fitted) -> SVM:
    """A row of weights for each value; one may stand without a second dimension."""
    fitted.require("coef_")
    weights = fitted.numbers("coef_", 1, 2)
    weights = weights[np.newaxis] if weights.ndim == 1 else weights
    return linear_machine(weights, _intercepts(fitted, len(weights)), LabelRule.NONE)


def _intercepts(fitted: Fitted, rows: int) -> Array:
    """`intercept_`, which is a plain 0.0 for estimators fitted without one."""
    intercepts = fitted.numbers("intercept_", 0, 1)
    if intercepts.ndim == 0:
        return np.full(rows, float(intercepts))
    if intercepts.shape != (rows,):
        raise fitted.damaged(f"intercept_ has {intercepts.size} values, expected {rows}")
    return intercepts


LINEAR_MACHINES: dict[str, Callable[[Fitted], SVM]] = {
    **dict.fromkeys(CLASSIFIERS, read_linear_classifier),
    "SGDClassifier": read_sgd_classifier,
    "LogisticRegression": read_logistic_regression,
    "LogisticRegressionCV": read_logistic_regression,
    "LinearDiscriminantAnalysis": read_discriminant,
    "SGDOneClassSVM": read_sgd_one_class,
    **dict.fromkeys(REGRESSORS, read_linear_regressor),
}
