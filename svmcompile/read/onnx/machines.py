"""SVM nodes of ONNX: one of them in, an SVM out.

`rho` is added in ONNX: it is the intercept. With two classes the attributes
have LIBSVM's sign, above zero for the first class; scores are read with the
sign that scikit-learn shows. Attributes are float32 and are kept as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule
from svmcompile.read.kernels import UNKNOWN, check_dense_size, linear_machine, make_kernel
from svmcompile.read.onnx.graph import Attributes, Graph

SHARED = ("coefficients", "kernel_params", "kernel_type", "post_transform", "rho", "support_vectors")
LABELS = ("classlabels_ints", "classlabels_strings")
KERNELS = {"LINEAR": "linear", "POLY": "poly", "RBF": "rbf", "SIGMOID": "sigmoid"}
MOST_CLASSES = 1000


def read_svm_classifier(graph: Graph, node: Any) -> SVM:
    """SVMClassifier with support vectors."""
    own = Attributes(graph, node, (*SHARED, *LABELS, "prob_a", "prob_b", "vectors_per_class"))
    labels, counts = _labels(own), own.integers("vectors_per_class")
    if not counts:
        raise graph.refuse(
            "this SVMClassifier has no vectors_per_class (LIBLINEAR's form), which is not supported"
        )
    own.expect("vectors_per_class", counts, len(labels))
    if min(counts) < 0 or not 0 < sum(counts) <= own.floats("support_vectors").size:
        raise own.error(f"vectors_per_class is {counts[:10]}")
    pairs = len(labels) * (len(labels) - 1) // 2
    coefficients, intercepts = own.floats("coefficients"), own.floats("rho")
    own.expect("coefficients", coefficients, (len(labels) - 1) * sum(counts))
    own.expect("rho", intercepts, pairs)
    kernel, vectors, platt = _kernel(own), _vectors(own, sum(counts)), _platt(own, pairs)
    coefficients = coefficients.reshape(len(labels) - 1, sum(counts))
    if len(labels) > 2:
        parts = kernel, vectors, coefficients, 0.0 + intercepts  # without the sign of a zero
        return SVM(*parts, LabelRule.VOTE, UNKNOWN, labels, tuple(counts), platt=platt)
    parts = kernel, vectors, -coefficients, 0.0 - intercepts
    return SVM(*parts, LabelRule.NEGATIVE_FIRST, UNKNOWN, labels, platt=platt)


def read_svm_regressor(graph: Graph, node: Any) -> SVM:
    """SVMRegressor; without support vectors its coefficients are the weights of a linear function."""
    own = Attributes(graph, node, (*SHARED, "n_supports", "one_class"))
    count, coefficients = own.integer("n_supports", 0), own.floats("coefficients")
    if count < 0 or not coefficients.size:
        raise own.error(f"n_supports is {count}, and there are {coefficients.size} coefficients")
    intercepts = own.floats("rho")
    own.expect("rho", intercepts, 1)
    if own.integer("one_class", 0):
        raise graph.refuse("this SVMRegressor has one_class, and so no values but signs")
    if count == 0:
        _plain(own)
        return linear_machine(coefficients[np.newaxis], intercepts, LabelRule.NONE)
    own.expect("coefficients", coefficients, count)
    vectors = _vectors(own, count)
    return SVM(_kernel(own), vectors, coefficients[np.newaxis], intercepts, LabelRule.NONE, UNKNOWN)


def read_linear_classifier(graph: Graph, node: Any) -> SVM:
    """LinearClassifier as made of a LinearSVC: with two classes, weights twice, with both signs."""
    own = Attributes(graph, node, ("coefficients", "intercepts", "multi_class", "post_transform", *LABELS))
    labels, weights, intercepts = _labels(own), own.floats("coefficients"), own.floats("intercepts")
    _plain(own)
    intercepts = intercepts if intercepts.size else np.zeros(len(labels))
    own.expect("intercepts", intercepts, len(labels))
    if not weights.size or weights.size % len(labels):
        raise own.error(f"{weights.size} coefficients for {len(labels)} classes")
    weights = weights.reshape(len(labels), -1)
    if len(labels) > 2:
        return linear_machine(weights, intercepts, LabelRule.ARGMAX, labels)
    if (weights[0] != -weights[1]).any() or intercepts[0] != -intercepts[1]:
        raise graph.refuse("this LinearClassifier of two classes has two functions, not one with two signs")
    return linear_machine(weights[1:], intercepts[1:], LabelRule.POSITIVE_SECOND, labels)


def read_linear_regressor(graph: Graph, node: Any) -> SVM:
    """LinearRegressor with one target."""
    own = Attributes(graph, node, ("coefficients", "intercepts", "post_transform", "targets"))
    _plain(own)
    weights, intercepts = own.floats("coefficients"), own.floats("intercepts")
    intercepts = intercepts if intercepts.size else np.zeros(1)
    own.expect("intercepts", intercepts, 1)
    if own.integer("targets", 1) != 1 or not weights.size:
        raise graph.refuse("this LinearRegressor has no coefficients or several targets")
    return linear_machine(weights[np.newaxis], intercepts, LabelRule.NONE)


def _labels(own: Attributes) -> Labels:
    whole, text = own.integers(LABELS[0]), own.words(LABELS[1])
    if bool(whole) == bool(text):
        raise own.error("there must be either classlabels_ints or classlabels_strings")
    if not 2 <= len(whole or text) <= MOST_CLASSES:
        raise own.error(f"{len(whole or text)} classes; expected 2 to {MOST_CLASSES}")
    classes = np.array(whole, dtype=np.int64) if whole else np.array(text)
    return Labels.of(classes, own.graph.where)


def _plain(own: Attributes) -> None:
    if own.word("post_transform", "NONE") != "NONE":
        raise own.graph.refuse(f"{own.node.op_type} has a post_transform, which no SVM has")


def _kernel(own: Attributes) -> Kernel:
    _plain(own)
    kind, params = own.word("kernel_type", "LINEAR"), own.floats("kernel_params")
    if kind not in KERNELS:
        raise own.error(f"kernel_type {kind[:20]!r} is not known")
    if kind == "LINEAR":
        return Kernel("linear")
    own.expect("kernel_params", params, 3)
    gamma, coef0, degree = (float(value) for value in params)
    if kind == "POLY" and not degree.is_integer():
        raise own.graph.refuse(f"degree is {degree}, not a whole number")
    whole = int(degree) if kind == "POLY" else 1
    return make_kernel(KERNELS[kind], gamma, coef0, whole, own.graph.where)


def _vectors(own: Attributes, count: int) -> Array:
    vectors = own.floats("support_vectors")
    if not vectors.size or vectors.size % count:
        raise own.error(f"{vectors.size} numbers in support_vectors for {count} vectors")
    check_dense_size(count, vectors.size // count, own.graph.where)
    return vectors.reshape(count, -1)


def _platt(own: Attributes, pairs: int) -> tuple[Array, Array] | None:
    first, second = own.floats("prob_a"), own.floats("prob_b")
    if not first.size and not second.size:
        return None
    own.expect("prob_a", first, pairs)
    own.expect("prob_b", second, pairs)
    if not np.isfinite([first, second]).all():
        raise own.error("prob_a or prob_b hold a NaN or an infinity")
    return first, second


ONNX_MACHINES: dict[str, Callable[[Graph, Any], SVM]] = {
    "SVMClassifier": read_svm_classifier,
    "SVMRegressor": read_svm_regressor,
    "LinearClassifier": read_linear_classifier,
    "LinearRegressor": read_linear_regressor,
}
