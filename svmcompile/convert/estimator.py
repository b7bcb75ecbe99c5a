"""scikit-learn estimators from an SVM of another library.

scikit-learn has no way to make a fitted SVC of given numbers. So an estimator
is fitted to a point or two of the right size, which sets up everything this
version of scikit-learn wants, and then given the model's own numbers. What it
predicts is compared with the SVM before it is handed out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import At
from svmcompile.ir.nodes import Node
from svmcompile.model.libsvm import Layout, layout_of
from svmcompile.model.svm import SVM, LabelRule


def estimator_of(svm: SVM) -> Any:
    """A fitted estimator, in a Pipeline if rows are scaled before."""
    machine = _linear(svm) if _has_scores_by_class(svm) else _machine(svm, layout_of(svm))
    steps = [_scaler(node, svm) for node in svm.front.nodes]
    if svm.feature_names:
        first = steps[0] if steps else machine
        first.feature_names_in_ = np.array(svm.feature_names, dtype=object)
    if not steps:
        return machine
    from sklearn.pipeline import make_pipeline

    return make_pipeline(*steps, machine)


def _has_scores_by_class(svm: SVM) -> bool:
    """Whether the model is one that scikit-learn calls LinearSVC."""
    return (
        svm.labels is not None
        and svm.kernel.kind == "linear"
        and not svm.counts
        and (svm.label_rule is LabelRule.ARGMAX or svm.source.kind.endswith("LinearClassifier"))
    )


def _linear(svm: SVM) -> Any:
    from sklearn.svm import LinearSVC

    assert svm.labels
    rows, classes = _dummy(len(svm.labels), svm.n_features)
    fitted = LinearSVC(max_iter=10_000).fit(rows, classes)
    fitted.coef_ = svm.coefficients @ svm.vectors
    fitted.intercept_ = svm.intercepts.copy()
    fitted.classes_ = svm.labels.array()
    return fitted


def _machine(svm: SVM, layout: Layout) -> Any:
    """SVC, NuSVC, SVR, NuSVR or OneClassSVM."""
    from sklearn import svm as module

    names = {"c_svc": "SVC", "nu_svc": "NuSVC", "epsilon_svr": "SVR", "nu_svr": "NuSVR"}
    make = getattr(module, names.get(layout.svm_type, "OneClassSVM"))
    rows, classes = _dummy(len(layout.labels) or 2, svm.n_features)
    fitted = make(kernel=layout.kernel.kind).fit(rows, classes)
    fitted.set_params(gamma=layout.kernel.gamma, coef0=layout.kernel.coef0, degree=layout.kernel.degree)
    fitted._gamma = layout.kernel.gamma
    _give_numbers(fitted, layout, sign=-1.0 if len(layout.labels) == 2 else 1.0)
    if layout.labels:
        _make_classifier(fitted, svm, layout)
    elif svm.labels:
        fitted.offset_ = -fitted.intercept_
    return fitted


def _give_numbers(fitted: Any, layout: Layout, sign: float) -> None:
    """Vectors, coefficients and intercepts; scikit-learn keeps a copy of these in LIBSVM's sign."""
    count = len(layout.vectors)
    fitted.support_ = np.arange(count, dtype=np.int32)
    fitted.support_vectors_ = np.ascontiguousarray(layout.vectors)
    fitted.shape_fit_ = layout.vectors.shape
    fitted._n_support = np.array(layout.counts or (count, count), dtype=np.int32)
    fitted._dual_coef_ = np.ascontiguousarray(layout.coefficients)
    fitted._intercept_ = layout.intercepts.copy()
    fitted.dual_coef_ = sign * fitted._dual_coef_
    fitted.intercept_ = sign * fitted._intercept_


def _make_classifier(fitted: Any, svm: SVM, layout: Layout) -> None:
    assert svm.labels
    fitted.classes_ = np.array(layout.labels, dtype=svm.labels.array().dtype)
    fitted.class_weight_ = np.ones(len(layout.labels))
    fitted.decision_function_shape = "ovr" if svm.one_vs_rest_scores or not svm.counts else "ovo"
    if layout.platt and hasattr(fitted, "probability"):
        fitted.probability = True
        fitted._probA, fitted._probB = (part.copy() for part in layout.platt)


def _scaler(node: Node, svm: SVM) -> Any:
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    at, (rows, _) = At(node, svm.front.tables), _dummy(2, svm.n_features)
    kind = type(node).__name__
    if kind == "Scale" and at.factor.all():
        fitted = StandardScaler().fit(rows)
        fitted.mean_, fitted.scale_ = at.shift.copy(), 1.0 / at.factor
        fitted.var_ = fitted.scale_**2
        return fitted
    if kind == "Clip":
        fitted = MinMaxScaler(feature_range=(at.low, at.high), clip=True).fit(rows)
        fitted.scale_, fitted.min_ = np.ones(svm.n_features), np.zeros(svm.n_features)
        return fitted
    raise UnsupportedError(
        f"{svm.source.kind}: the preprocessing step {kind} cannot be converted; "
        "convert the model without it, and transform the rows before"
    )


def _dummy(count: int, n_features: int) -> tuple[Array, Array]:
    """Points that any estimator can be fitted to, one of each class."""
    rows = np.zeros((count, n_features))
    rows[:, 0] = np.arange(count)
    return rows, np.arange(count, dtype=np.float64)
