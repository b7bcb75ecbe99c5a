"""Kernels of differences: what is added up over the features of a row and a vector, and made of the sum.

    laplacian      exp(-gamma D)        D = sum_j |x_j - s_j|
    chi2           exp(-gamma D)        D = sum_j (x_j - s_j)^2 / (x_j + s_j)
    additive-chi2  -D                   the same D; where x_j + s_j is not above zero, nothing is added
    intersection   -D                   D = sum_j -min(x_j, s_j)
    matern         p(t) exp(-t)         t = gamma |x - s|; p = 1, 1 + t, 1 + t + t^2 / 3 (degree 0, 1, 2)
    rational       (1 + gamma D)^-coef0 D = |x - s|^2

All of them fall as D rises, so that a bound on the error of D is one of the kernel value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svmcompile.ir.arithmetic import Arithmetic, Array, Bounded

if TYPE_CHECKING:
    from svmcompile.ir.kernel import Kernel

# What is added up, by kind.
TERMS = {
    "laplacian": "absolute", "chi2": "chi2", "additive-chi2": "chi2", "intersection": "least",
    "matern": "square", "rational": "square",
}  # fmt: skip
NEGATED = ("additive-chi2", "intersection")  # the kernel value is -D
MOST_DEGREE = 2  # of a Matern kernel: nu is half more
LOG_ROUNDINGS = 16  # of the logarithm and what it is multiplied by
CHI2_SLOPE = 3.0  # (x - s)^2 / (x + s) rises no faster in x or s, where none is below zero


def is_by_differences(kernel: Kernel) -> bool:
    return kernel.kind in TERMS


def difference_sums(term: str, rows: Array, vectors: Array) -> Array:
    """D of every row with every vector, [rows, vectors]."""
    from scipy.spatial.distance import cdist

    if term == "absolute":
        return np.asarray(cdist(rows, vectors, "cityblock"), dtype=np.float64)
    if term == "square":
        return np.asarray(cdist(rows, vectors, "sqeuclidean"), dtype=np.float64)
    sums = np.zeros((len(rows), len(vectors)))
    for x, s in zip(rows.T.astype(np.float64), vectors.T.astype(np.float64), strict=True):
        if term == "least":
            sums -= np.minimum(x[:, None], s)
            continue
        both = x[:, None] + s
        with np.errstate(all="ignore"):
            sums += np.where(both > 0, np.square(x[:, None] - s) / both, 0.0)
    return sums


def difference_values(kernel: Kernel, rows: Array, vectors: Array) -> Array:
    """Kernel values [rows, vectors]."""
    return of_sums(kernel, difference_sums(TERMS[kernel.kind], rows, vectors))


def of_sums(kernel: Kernel, sums: Array) -> Array:
    """What the kernel makes of D."""
    if kernel.kind in NEGATED:
        return -sums
    if kernel.kind == "rational":
        return np.exp(-kernel.coef0 * np.log1p(kernel.gamma * sums))
    if kernel.kind != "matern":
        return np.exp(-kernel.gamma * sums)
    t = kernel.gamma * np.sqrt(sums)
    factor = 1.0 + t * (1.0 + t / 3.0) if kernel.degree == MOST_DEGREE else 1.0 + t * kernel.degree
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.where(np.isposinf(t), 0.0, factor * np.exp(-t)))


def difference_errors(kernel: Kernel, x: Bounded, vectors: Array, a: Arithmetic) -> tuple[Array, Array]:
    """Kernel values [rows, vectors] and bounds on their errors."""
    term, d = TERMS[kernel.kind], vectors.shape[1]
    sums = difference_sums(term, x.value, vectors)
    sizes = _least_sizes(x.value, vectors) if term == "least" else sums  # other terms are never below zero
    off = _moved(term, x, vectors, sums, a) + (d + 6) * a.u * sizes + a.tiny * (d + 1)
    values = of_sums(kernel, sums)
    if kernel.kind in NEGATED:
        return values, np.where(sizes + off < a.largest, off, np.inf)
    if kernel.kind == "matern":  # sqrt(D + e) - sqrt(D) is at most both of these
        off = off + 8 * a.u * sums
    with np.errstate(invalid="ignore"):
        error = of_sums(kernel, np.maximum(sums - off, 0.0)) - of_sums(kernel, sums + off)
    # The exponent is rounded, and so is what it is made of; a kernel value is one at most.
    size = kernel.gamma * np.sqrt(sums) if kernel.kind == "matern" else kernel.gamma * sums
    if kernel.kind == "rational":
        size = kernel.coef0 * np.log1p(size) * LOG_ROUNDINGS
    error = error + values * (np.expm1(np.minimum(6 * a.u * (1.0 + size), 1.0)) + a.exp_error + 8 * a.u)
    reach = sums + off < a.largest if kernel.kind == "rational" else True
    return values, np.where(reach, error + a.smallest, np.inf)


def _least_sizes(rows: Array, vectors: Array) -> Array:
    """What no sum of some of the terms min(x_j, s_j) exceeds, [rows, vectors]."""
    return np.asarray(np.abs(rows).sum(axis=1)[:, None] + np.abs(vectors).sum(axis=1))


def _moved(term: str, x: Bounded, vectors: Array, sums: Array, a: Arithmetic) -> Array:
    """How far D moves as rows are off by their error, and vectors and differences are rounded."""
    sizes = np.abs(vectors).sum(axis=1)
    if term == "chi2":
        below = np.asarray((x.value < 0) | ((x.value < x.error) & (x.error > 0)))
        off = CHI2_SLOPE * (x.error.sum(axis=1)[:, None] + a.u * sizes)
        return np.asarray(np.where(below.any(axis=1, keepdims=True), np.inf, off))
    if term in ("absolute", "least"):
        return np.asarray(x.error.sum(axis=1)[:, None] + a.u * sizes + a.u * np.abs(sums))
    # |h + delta|^2 - |h|^2 is at most 2 |h| |delta| + |delta|^2, with the lengths of both.
    lengths = np.sqrt(np.square(vectors).sum(axis=1))
    delta = np.sqrt(np.square(x.error).sum(axis=1))[:, None] + a.u * (lengths + np.sqrt(sums))
    return np.asarray(delta * (2 * np.sqrt(sums) + delta))
