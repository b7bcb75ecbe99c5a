"""OpenCV's ml::SVM: the bytes of a file in, an SVM out.

Scores are sum - rho as OpenCV computes them, in float32 there. Of two classes, above zero is the first
label of the file; of more, pairs of classes vote, and the first class with most votes wins. A one-class
model says 1 above zero, else 0. OpenCV stores a linear machine as one vector per pair of classes (its
`uncompressed_support_vectors` decide nothing). CHI2 is exp(-gamma sum (x - s)^2 / (x + s)) over features
whose x + s is not zero, INTER the sum of min(x, s).
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.read.grouping import grouped_by_class
from svmcompile.read.kernels import MAX_FEATURES, entries_limit, falling_kernel, make_kernel
from svmcompile.read.libsvm.text import INT_MAX, INT_MIN
from svmcompile.read.opencv.storage import Node, read_storage

CLASSIFIERS = ("C_SVC", "NU_SVC")
TYPES = (*CLASSIFIERS, "ONE_CLASS", "EPS_SVR", "NU_SVR")
KERNELS = {
    "LINEAR": "linear", "POLY": "poly", "RBF": "rbf", "SIGMOID": "sigmoid", "CHI2": "chi2",
    "INTER": "intersection",
}  # fmt: skip


def read_opencv(content: bytes, where: str, *, trust_pickle: bool, n_features: int | None) -> SVM:
    """The SVM in a file of OpenCV; an error with its place for any other bytes."""
    node = _machine(read_storage(content, where))
    kind_of = node["svm_type" if "svm_type" in node else "svmType"]
    kind = kind_of.word()
    if kind not in TYPES:
        raise kind_of.error(f"SVM type {kind[:40]!r} is not known; known: {', '.join(TYPES)}")
    if "var_idx" in node:
        raise UnsupportedError(
            f"{node['var_idx'].place}: uses some of the features alone (var_idx); train it on those"
        )
    kernel = _kernel(node)
    vectors = _vectors(node)
    if kernel.kind == "chi2" and (vectors < 0).any():
        raise UnsupportedError(
            f"{node['support_vectors'].place}: a support vector is below zero, and CHI2 is a kernel of "
            "features from zero on alone; shift or clip them and train again"
        )
    source = Source(f"OpenCV {kind}", hashlib.sha256(content).hexdigest())
    svm = SVM(kernel, vectors, np.empty((1, 0)), np.empty(1), LabelRule.NONE, source)
    read = _classifier if kind in CLASSIFIERS else _single
    return read(node, svm, entries_limit(len(content))).check(where)


def _machine(top: Node) -> Node:
    """The first node of the file, which is the one that OpenCV loads."""
    named = top.value if isinstance(top.value, dict) else {}
    name = next(iter(named), "")
    if "svmType" not in named.get(name, top) and "svm_type" not in named.get(name, top):
        raise UnsupportedError(
            f"{top.place}: holds {name[:40] or 'nothing'!r}, which is no SVM; save one with svm.save(...)"
        )
    return named[name]


def _kernel(node: Node) -> Kernel:
    stored = node["kernel"]
    name = stored["type"].word()
    if name not in KERNELS:
        raise UnsupportedError(
            f"{stored.place}: kernel {name[:40]!r} is not known; retrain with {', '.join(KERNELS)}"
        )
    if name == "SIGMOID" and "svm_type" in node:
        raise UnsupportedError(
            f"{stored.place}: OpenCV 2 and later ones differ in the sign of this kernel; "
            "load the model with your OpenCV, check it and save it again"
        )
    kind = KERNELS[name]
    if kind == "intersection":
        return Kernel("intersection")
    gamma = stored["gamma"].decimal() if kind != "linear" else 1.0
    if kind == "chi2":
        return falling_kernel("chi2", gamma, stored.place)
    coef0 = stored["coef0"].decimal() if kind in ("poly", "sigmoid") else 0.0
    degree = stored["degree"].decimal() if kind == "poly" else 1.0
    if degree != int(degree):
        raise UnsupportedError(
            f"{stored['degree'].place}: degree {degree} is not a whole number; retrain with one"
        )
    return make_kernel(kind, gamma, coef0, int(degree), stored.place)


def _vectors(node: Node) -> Array:
    """The support vectors, rounded to float32 as OpenCV holds them."""
    width = node["var_count"].whole(1, MAX_FEATURES)
    total = node["sv_total"].whole(1, INT_MAX)
    stored = node["support_vectors"]
    if isinstance(stored.value, str):
        raise stored.error("expected a sequence of support vectors")
    rows = [row.decimals(width) for row in stored.items(total, "support vectors")]
    with np.errstate(over="ignore"):  # `check` finds what became infinite
        return np.array(rows).astype(np.float32).astype(np.float64)


def _single(node: Node, svm: SVM, limit: int) -> SVM:
    """One sum over all vectors: a regressor, or a one-class model."""
    (decision,) = node["decision_functions"].items(1, "decision functions")
    count = decision["sv_count"].whole(0, INT_MAX)
    if count != svm.n_vectors:
        raise decision.error(f"sv_count is {count}, but there are {svm.n_vectors} support vectors")
    coefficients = decision["alpha"].decimals(count)[None]
    svm = replace(svm, coefficients=coefficients, intercepts=np.array([0.0 - decision["rho"].decimal()]))
    if not svm.source.kind.endswith("ONE_CLASS"):
        return svm
    labels = Labels((0, 1), np.dtype(np.int64).str)
    return replace(svm, label_rule=LabelRule.POSITIVE_SECOND, labels=labels)


def _classifier(node: Node, svm: SVM, limit: int) -> SVM:
    """One sum per pair of classes."""
    labels = _labels(node)
    k = len(labels)
    stored = node["decision_functions"]
    decisions = stored.items(k * (k - 1) // 2, f"decision functions for {k} classes")
    intercepts = 0.0 - np.array([decision["rho"].decimal() for decision in decisions])
    counts = [decision["sv_count"].whole(0, INT_MAX) for decision in decisions]
    pairs = list(zip(decisions, counts, strict=True))
    alphas = np.concatenate([one["alpha"].decimals(count) for one, count in pairs])
    last = svm.n_vectors - 1
    indices = np.array([at for one, count in pairs for at in one["index"].wholes(count, 0, last)], np.int64)
    svm = replace(svm, intercepts=intercepts, labels=labels)
    if k == 2:
        coefficients = np.zeros((1, svm.n_vectors))
        np.add.at(coefficients[0], indices, alphas)
        return replace(svm, coefficients=coefficients, label_rule=LabelRule.POSITIVE_FIRST)
    return grouped_by_class(
        svm, alphas, indices, np.repeat(np.arange(len(counts)), counts), stored.place, limit
    )


def _labels(node: Node) -> Labels:
    count, stored = node["class_count"].whole(0, INT_MAX), node["class_labels"]
    if count < 2:
        raise node["class_count"].error(f"{count} class(es); train with two or more")
    if stored["dt"].word() != "i":
        raise stored.error("the class labels are not integers (dt: i); save the model again")
    values = stored["data"].wholes(count, INT_MIN, INT_MAX)
    if len(set(values)) != count:
        raise stored.error("a label appears twice")
    return Labels(tuple(values), np.dtype(np.int64).str)
