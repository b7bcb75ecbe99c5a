"""Kernels and other functions of rows: what k(x, s) means, from folded tables, and with its rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import ARITHMETIC, BLOCK, Arithmetic, Bounded
from svmcompile.ir.arithmetic import Array as Array
from svmcompile.ir.differences import difference_errors, difference_values, is_by_differences
from svmcompile.ir.kinds import Floats, Shape

if TYPE_CHECKING:
    from svmcompile.ir.node import At

DotKind = Literal["linear", "poly", "rbf", "sigmoid", "precomputed"]
KernelKind = Literal[DotKind, "laplacian", "chi2", "additive-chi2", "intersection", "matern", "rational"]
KERNEL_KINDS: tuple[str, ...] = get_args(DotKind)  # the others are those of `differences`
KERNEL_SHAPES: dict[str, Shape] = {
    "rbf": "exp2", "sigmoid": "tanh", "linear": "identity", "poly": "power", "precomputed": "given",
}  # fmt: skip
SPARSE_ZEROS = 0.7  # share of zeros from which vectors are worth treating as sparse
LEAST, MOST = 0.001, 0.999  # of an inlier, below and above all marks
CHUNK_VALUES = 1 << 20  # intermediate values per chunk of rows, which bounds memory


@dataclass(frozen=True, slots=True)
class Kernel:
    """One of the kernels LIBSVM and scikit-learn share, or one of differences (see `differences`).

    linear   x.s
    poly     (gamma x.s + coef0) ^ degree
    rbf      exp(-gamma |x - s|^2)
    sigmoid  tanh(gamma x.s + coef0)

    With "precomputed" the row itself holds kernel values, one for each training
    point, and a vector is the number of its point: k(x, s) = x[s]. Bounds read gamma and coef0 of such
    a kernel as `BoundedSum` says.
    """

    kind: KernelKind
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1

    def values(self, rows: Any, vectors: Any) -> Array:
        """Kernel of every row with every vector, shape [rows, vectors]."""
        if self.kind == "precomputed":
            return np.asarray(rows[:, vectors[:, 0].astype(np.intp)])
        if self.kind == "rbf":
            return np.exp(-self.gamma * squared_distances(rows, vectors))
        if is_by_differences(self):
            return difference_values(self, rows, vectors)
        dots = products(rows, vectors)
        if self.kind == "linear":
            return dots
        dots = self.gamma * dots + self.coef0
        return power(dots, self.degree) if self.kind == "poly" else np.tanh(dots)

    def diagonal(self, rows: Array, own: float) -> Array:
        """k(x, x) of a precomputed kernel: `own` or, where that is 0, no number; a row does not tell.

        coef0 is added to it, which makes bounds of indefinite kernels.
        """
        return np.full(len(rows), (own or np.inf) + self.coef0)

    @property
    def shape(self) -> Shape:
        """The function that makes a kernel value of its argument."""
        return KERNEL_SHAPES[self.kind]

    def text(self) -> str:
        """Stable form for listings: `rbf(gamma=0.25)`."""
        known = {"poly": ("gamma", "coef0", "degree"), "sigmoid": ("gamma", "coef0")}
        known |= dict.fromkeys(("rbf", "laplacian", "chi2"), ("gamma",))
        known |= {"matern": ("gamma", "degree"), "rational": ("gamma", "coef0")}
        fields = known.get(self.kind, ())
        return f"{self.kind}({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


def squared_distances(rows: Any, vectors: Any) -> Array:
    """|x - s|^2 by direct differences, which do not cancel; expanded for vectors without their zeros."""
    from scipy.spatial.distance import cdist

    if not isinstance(vectors, np.ndarray):
        found = squared_norms(rows)[:, None] - 2 * products(rows, vectors) + squared_norms(vectors)
        return np.maximum(found, 0.0)
    return np.asarray(cdist(rows, vectors, "sqeuclidean"), dtype=np.float64)


def products(rows: Any, vectors: Any) -> Array:
    """Dot products of all rows with all vectors; either may be compressed rows."""
    found = rows @ vectors.T
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def squared_norms(vectors: Any) -> Array:
    """|s|^2 of an array of vectors, or of compressed rows."""
    return np.asarray((vectors * vectors).sum(axis=1))


def most_terms(vectors: Any) -> int:
    """How many products at most make up a dot product with a vector; zeros that are not held add none."""
    if isinstance(vectors, np.ndarray):
        return int(vectors.shape[1])
    return int(np.diff(vectors.indptr).max(initial=0))


def power(base: Array, exponent: int) -> Array:
    """Whole powers by repeated squaring, in the order LIBSVM multiplies."""
    result = np.ones_like(base)
    factor = base.copy()
    while exponent > 0:
        if exponent % 2:
            result = result * factor
        exponent //= 2
        if exponent:
            factor = factor * factor
    return result


def packed_values(at: At, x: Floats, vectors: Floats, offsets: Floats) -> Floats:
    """Kernel values [rows, n] of a packed sum."""
    if at.shape == "given":
        return x[:, vectors[:, 0]].astype(np.float64)
    if at.shape == "distance":
        return np.asarray(np.exp2(offsets * squared_distances(x, vectors)))
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
    elif at.shape == "cosine":
        t = np.cos(2 * np.pi * np.asarray(t, dtype=np.float64))
    return np.asarray(t, dtype=np.float64)


def summing_error(
    kernel: Array, error: Array, over: Callable[[Array], Array], sums: Any, bias: Any, a: Arithmetic
) -> Array:
    """The error of weighted sums of kernel values that are off by `error`.

    `over` sums up numbers of vectors by the sizes of the weights.
    """
    in_double = (kernel.shape[1] / BLOCK + 1) * ARITHMETIC["f64"].u
    adding = (min(kernel.shape[1], BLOCK) + 2) * a.u + in_double
    found = over(error + adding * np.abs(kernel) + a.smallest)
    found += a.tiny * (np.abs(kernel) + 1).sum(axis=1, keepdims=True) + a.tiny
    size = np.abs(bias)  # the sums may start from it
    found = found + a.u * (np.abs(sums) + size) + in_double * size
    known = over(np.abs(kernel)) + size < a.largest  # else sums may overflow on the way
    return np.where(known, found, np.inf)


def kernel_errors(kernel: Kernel, x: Bounded, vectors: Any, a: Arithmetic) -> tuple[Array, Array]:
    """Kernel values [rows, n] and bounds on their errors."""
    if kernel.kind == "rbf":
        return _rbf_errors(kernel.gamma, x, vectors, a)
    if is_by_differences(kernel):
        return difference_errors(kernel, x, vectors, a)
    values = kernel.values(x.value, vectors)
    if kernel.kind == "precomputed":
        return values, kernel.values(x.error, vectors)
    d, sizes = most_terms(vectors), abs(vectors).T
    products = np.abs(x.value) @ sizes
    moved = x.error @ sizes
    gamma, constant = (1.0, 0.0) if kernel.kind == "linear" else (abs(kernel.gamma), abs(kernel.coef0))
    t = gamma * (moved + a.u * (d + 3) * products) + 2 * a.u * constant
    t += a.tiny * (np.abs(x.value).sum(axis=1, keepdims=True) + d + 1)
    t = a.held(gamma * products + constant, t)
    if kernel.kind == "linear":
        return values, t
    if kernel.kind == "sigmoid":
        return values, t + a.tanh_error
    base = np.abs(kernel.gamma * (x.value @ vectors.T) + kernel.coef0)
    p = kernel.degree
    # (base + t)^p - base^p is at most this, and this does not cancel.
    error = p * t * (base + t) ** max(p - 1, 0) + 2 * p * a.u * np.abs(values)
    return values, a.held(np.maximum(base + t, 1.0) ** p, error)


def _rbf_errors(gamma: float, x: Bounded, vectors: Any, a: Arithmetic) -> tuple[Array, Array]:
    """K = 2^exponent, the exponent off by t; no backend's K is above one."""
    exponent = -gamma * np.log2(np.e) * squared_distances(x.value, vectors)
    values, sizes, e = np.exp2(exponent), np.abs(x.value), x.error
    t = (most_terms(vectors) + 4) * (sizes @ abs(vectors).T)
    t = a.u * (t + 2.5 * (np.square(x.value).sum(axis=1)[:, None] + squared_norms(vectors)))
    if e.any():
        t += e @ abs(vectors).T + ((sizes + e) * e).sum(axis=1)[:, None]
    t *= 2 * abs(gamma) * np.log2(np.e)
    error = np.expm1(np.log(2) * t) * values
    far = ~(values >= np.finfo(np.float64).tiny)  # K has lost its digits, or all of it, and t may be huge
    error[far] = np.exp2(exponent[far] + t[far])
    error = np.minimum(error, 1.0)
    return values, error + (values + error) * (a.exp_error + a.u)


def dot_error(h: Array, e: Array, weights: NDArray[Any], a: Arithmetic) -> Array:
    """Bound on the error of dot products row by row; h = x - centre, where x is off by e."""
    sizes, d = np.abs(weights.astype(np.float64)), h.shape[1]
    products = row_dots(np.abs(h), sizes)
    error = row_dots(e, sizes) + a.u * (d + 4) * products
    return a.held(products, error + a.tiny * (np.abs(h).sum(axis=1) + d + 2))


def chunks(count: int, values_per_row: int, most: int | None = None) -> list[slice]:
    """So many rows in parts that bound memory; no rows are one part, which still has a shape."""
    step = max(1, (most or CHUNK_VALUES) // max(1, values_per_row))
    return [slice(first, first + step) for first in range(0, count, step) or range(1)]


def poisoned(x: Floats, out: Floats) -> Floats:
    """`out`, with NaN in every row where `x` is not finite."""
    out[~np.isfinite(x).all(axis=1)] = np.nan
    return out


def row_dots(left: Floats, right: NDArray[Any]) -> Floats:
    """Dot products row by row, in the number type of the left."""
    return np.asarray(np.einsum("ij,ij->i", left, right.astype(left.dtype)))


def sigmoid(z: Floats, floor: float) -> Floats:
    """1 / (1 + exp(z)) held within floor and 1 - floor, without an exponential above one."""
    e = np.exp(-np.abs(z))
    p = np.where(z >= 0, e, z.dtype.type(1)) / (1 + e)
    return np.asarray(np.clip(p, z.dtype.type(floor), z.dtype.type(1 - floor)))


def along_lines(x: Floats, knots: Floats, levels: Floats) -> Floats:
    """Linear interpolation between knots, as scipy computes it; two knots in one place are a step."""
    x = np.clip(x, knots[0], knots[-1])
    high = np.clip(np.searchsorted(knots, x), 1, len(knots) - 1)
    width = knots[high] - knots[high - 1]
    slope = np.where(width > 0, (levels[high] - levels[high - 1]) / width, 0)
    return np.asarray(slope * (x - knots[high - 1]) + levels[high - 1])
