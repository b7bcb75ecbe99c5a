"""Kernel values: from folded tables, and with bounds on their rounding; the formulas are in `bounds`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import ARITHMETIC, BLOCK, Arithmetic, Bounded
from svmcompile.ir.kernel import Array, Kernel, power, squared_distances
from svmcompile.ir.kinds import Floats
from svmcompile.ir.node import At
from svmcompile.ir.row_functions import row_dots


def packed_values(at: At, x: Floats, vectors: Floats, offsets: Floats) -> Floats:
    """Kernel values [rows, n] of a packed sum."""
    if at.shape == "given":
        return x[:, vectors[:, 0]].astype(np.float64)
    return shaped(at, x, x @ vectors.T + offsets)


def shaped(at: At, x: Floats, t: Any) -> Floats:
    """Kernel values [rows, n] from dot products."""
    if at.shape == "exp2":
        half = 0.5 * np.square(x, dtype=np.float64).sum(axis=1, keepdims=True)
        t = np.exp2(np.minimum(t - half.astype(x.dtype), 0))  # above zero only by rounding
    elif at.shape == "power":
        t = power(t, at.degree)
    elif at.shape == "tanh":
        t = np.tanh(t)
    return np.asarray(t, dtype=np.float64)


def summing_error(
    kernel: Array,
    error: Array,
    over: Callable[[Array], Array],
    sums: NDArray[Any],
    bias: NDArray[Any],
    a: Arithmetic,
) -> Array:
    """The error of weighted sums of kernel values that are off by `error`.

    `over` sums up numbers of vectors by the sizes of the weights.
    """
    in_double = (kernel.shape[1] / BLOCK + 1) * ARITHMETIC["f64"].u
    adding = (BLOCK + 2) * a.u + in_double
    found = over(error + adding * np.abs(kernel) + a.smallest)
    found += a.tiny * (np.abs(kernel) + 1).sum(axis=1, keepdims=True) + a.tiny
    size = np.abs(bias)  # the sums may start from it
    return np.asarray(found + a.u * (np.abs(sums) + size) + in_double * size)


def kernel_errors(kernel: Kernel, x: Bounded, vectors: Array, a: Arithmetic) -> tuple[Array, Array]:
    """Kernel values [rows, n] and bounds on their errors."""
    if kernel.kind == "rbf":
        return _rbf_errors(kernel.gamma, x, vectors, a)
    values = kernel.values(x.value, vectors)
    if kernel.kind == "precomputed":
        return values, kernel.values(x.error, vectors)
    d = vectors.shape[1]
    products = np.abs(x.value) @ np.abs(vectors).T
    moved = x.error @ np.abs(vectors).T
    gamma, constant = (1.0, 0.0) if kernel.kind == "linear" else (abs(kernel.gamma), abs(kernel.coef0))
    t = gamma * (moved + a.u * (d + 3) * products) + 2 * a.u * constant
    t += a.tiny * (np.abs(x.value).sum(axis=1, keepdims=True) + d + 1)
    if kernel.kind == "linear":
        return values, t
    if kernel.kind == "sigmoid":
        return values, t + a.tanh_error
    base = np.abs(kernel.gamma * (x.value @ vectors.T) + kernel.coef0)
    p = kernel.degree
    # (base + t)^p - base^p is at most this, and this does not cancel.
    return values, p * t * (base + t) ** max(p - 1, 0) + 2 * p * a.u * np.abs(values)


def _rbf_errors(gamma: float, x: Bounded, vectors: Array, a: Arithmetic) -> tuple[Array, Array]:
    """K = 2^exponent, the exponent off by t; no backend's K is above one."""
    exponent = -gamma * np.log2(np.e) * squared_distances(x.value, vectors)
    values = np.exp2(exponent)
    sizes, e = np.abs(x.value), x.error
    norms = np.square(x.value).sum(axis=1)[:, None] + np.square(vectors).sum(axis=1)
    rounding = a.u * ((vectors.shape[1] + 4) * (sizes @ np.abs(vectors).T) + 2.5 * norms)
    moved = e @ np.abs(vectors).T + ((sizes + e) * e).sum(axis=1)[:, None]
    t = 2 * abs(gamma) * np.log2(np.e) * (rounding + moved)
    # Far out t is huge and K is nothing: zero times infinity, which `fmin` leaves out.
    error = np.fmin(values * np.expm1(np.log(2) * t), np.exp2(np.minimum(exponent + t, 0.0)))
    return values, error + (values + error) * (a.exp_error + a.u)


def dot_error(h: Array, e: Array, weights: NDArray[Any], a: Arithmetic) -> Array:
    """Bound on the error of dot products row by row; h = x - centre, where x is off by e."""
    sizes, d = np.abs(weights.astype(np.float64)), h.shape[1]
    error = row_dots(e, sizes) + a.u * (d + 4) * row_dots(np.abs(h), sizes)
    return np.asarray(error + a.tiny * (np.abs(h).sum(axis=1) + d + 2))
