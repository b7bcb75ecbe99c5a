"""Kernels as readers meet them: names and parameters in, a checked `Kernel` out; limits of sizes."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.errors import ReadError, UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel, KernelKind
from svmcompile.ir.program import Labels
from svmcompile.model.svm import SVM, LabelRule, Source

UNKNOWN = Source("", "")  # whoever knows the whole model fills it in
WAY_OUT = "retrain with linear, poly, rbf or sigmoid"
MAX_FEATURES = 1 << 24
MAX_ENTRIES = 1 << 28  # of a dense [vectors, features] table: 2 GiB of float64
MAX_DEGREE = 64
FROM_ZERO = "zero-based"  # in the name of a source whose files count features from 0
# Sparse text may stand for a far larger dense table, but not for an absurd one.
ENTRIES_PER_BYTE, FREE_ENTRIES = 256, 1 << 20  # 20 newsgroups, the widest set tried, has 200


def make_kernel(kind: str, gamma: float, coef0: float, degree: int, where: str) -> Kernel:
    """A kernel that keeps only the parameters its kind uses: one of the four that LIBSVM has."""
    if kind == "linear":
        return Kernel("linear")
    if kind == "rbf":
        return falling_kernel("rbf", gamma, where)
    if not math.isfinite(gamma):
        raise ReadError(f"{where}: gamma is {gamma}, not a finite number")
    if not math.isfinite(coef0):
        raise ReadError(f"{where}: coef0 is {coef0}, not a finite number")
    if kind == "sigmoid":
        return Kernel("sigmoid", gamma=gamma, coef0=coef0)
    if kind == "poly":
        return _poly(gamma, coef0, degree, where)
    raise UnsupportedError(f"{where}: kernel {kind!r} is not known; {WAY_OUT}")


def falling_kernel(kind: KernelKind, gamma: float, where: str) -> Kernel:
    """A kernel that is one where row and vector are the same, and falls with their difference."""
    if not math.isfinite(gamma):
        raise ReadError(f"{where}: gamma is {gamma}, not a finite number")
    if gamma < 0:
        raise ReadError(f"{where}: gamma is {gamma}; kernel {kind} needs zero or more")
    return Kernel(kind, gamma=gamma)


def _poly(gamma: float, coef0: float, degree: int, where: str) -> Kernel:
    if degree < 0:
        raise ReadError(f"{where}: degree is {degree}; a polynomial needs zero or more")
    if degree > MAX_DEGREE:
        raise UnsupportedError(
            f"{where}: degree {degree} is above the limit of {MAX_DEGREE}; retrain with a lower degree"
        )
    return Kernel("poly", gamma=gamma, coef0=coef0, degree=degree)


def linear_machine(weights: Array, intercepts: Array, rule: LabelRule, labels: Labels | None = None) -> SVM:
    """Linear functions as an SVM: each is a vector whose kernel value is the score itself."""
    return SVM(Kernel("linear"), weights, np.eye(len(weights)), intercepts, rule, UNKNOWN, labels)


def entries_limit(n_bytes: int) -> int:
    """How many numbers a dense table of a file of so many bytes may hold."""
    return min(MAX_ENTRIES, FREE_ENTRIES + ENTRIES_PER_BYTE * n_bytes)


def check_width(n_features: int, where: str) -> None:
    """Refuse rows that are too wide."""
    if n_features > MAX_FEATURES:
        raise UnsupportedError(
            f"{where}: {n_features} features are more than the limit of {MAX_FEATURES}; "
            "select or hash features before training"
        )


def check_dense_size(n_vectors: int, n_features: int, where: str, limit: int = MAX_ENTRIES) -> None:
    """Refuse vectors that are too many, or too wide, to be held as a dense table."""
    check_width(n_features, where)
    if n_vectors * n_features > limit:
        raise UnsupportedError(
            f"{where}: {n_vectors} vectors of {n_features} features would make a dense table of "
            f"{n_vectors * n_features} numbers, above the limit of {limit} for this model; "
            "use fewer features, or a linear model"
        )
