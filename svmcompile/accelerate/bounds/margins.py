"""Margins: what float32 arithmetic can add to the error of a bounded sum, for every row.

A kernel, its vectors and the preprocessing enter; bounds leave that hold for any code which
evaluates the node in float32, in any order of summation, with table entries rounded to
float32, against the original in double on the same float32 row. u = 2^-24.

Row. After the preprocessing |dx| <= A |x'| + B. A scaling (x - shift) factor + offset adds at
most u (3 |product| + |x'| + |offset|) <= 4 u (|x'| + |offset|), so A' = A + 4 u and
B' = |factor| B + A (|offset| + |factor shift|) + 4 u |offset| + 8 u64 |factor shift|, the last for
shifts that were put together in double; clipping adds u to A, filled-in numbers u |value| to B. Other
steps that change numbers have no such bound, and no bounded sum stands behind them (`Node.row_error`).

Kernel rbf, by differences, D = |x' - z|, t = gamma D^2 = ln(1/k):
    |dk| <= k ( ((d + 6) u + 2 A) t + 2 sqrt(gamma t) V + exp_error + u ),   V = (u + A) |z| + B
since the sum of squares is off by (d + 4) u, c = gamma log2 e and its product by u each, and
moving x' - z by v moves t by 2 gamma D v, where |x'| <= |z| + D. As k t <= 1/e and
k sqrt(t) <= 0.429, everywhere
    e_K = ((d + 6) u + 2 A) / e + 0.858 sqrt(gamma) V + exp_error + u.
Kernel poly, in units of size = max(1, (gamma |x'| max(|x'|, reach) + |coef0|)^p):
    e_K = p ( (d + 6) u + 2 A + 2 gamma reach B ) + 2 p u          (k(x, x) included)

Coordinates q = M k, row i of i + 1 products: adding them up moves q_i by s_i = (i + 4) u a_i, with
a_i = sum_j |M_ij|, and kernel errors move q by M dk. Of the two
Score from coordinates:   e_K sum_j |(M' w)_j| + sum_i |w_i| s_i + (c + 5) u (|b| + |w|)
Score from an estimate g: sum_j |g_j| (e_K + (c + 5) u) + (c + 5) u |b|
R^2 = k(x, x) - |q|^2:    e_K' + 2 d + d^2 + 2 (r + 3) u,  d = e_K sqrt(sum_ij |(M' M)_ij|) + |s|
since q . M dk <= |q| |M dk| and |M dk|^2 = dk' M' M dk; e_K' = 0 for rbf.
Direct sum: with k t <= T k + T exp(-T) for T >= 1 (and k sqrt(t) likewise), the kernel errors
split into a part with sum |w_i k_i| and a constant; blocks of 32 add (32 + 5) u to the former.

Everything is first order in u and taken 1.01 times; `usable` says where that suffices. Float64
rounding of the tables themselves is in `Basis` (drift).
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np

from svmcompile.ir.arithmetic import ARITHMETIC, BLOCK, Array, Number
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import At
from svmcompile.ir.stages import longest_chain
from svmcompile.model.front import ROW, Front
from svmcompile.model.svm import SVM

U = ARITHMETIC["f32"].u
U64 = ARITHMETIC["f64"].u
EXP_ERROR = ARITHMETIC["f32"].exp_error
SECOND_ORDER = 1.01
TEST_ROUNDING = 1 + 16 * U  # of the tables of a test, and of the few operations in it
CUT = 3.0  # T: values of t beyond it are rare in sums that are close to zero
SMALLEST_GAMMA = 1e-30  # below, a squared distance may overflow float32 while its kernel is not zero
LARGEST_ERROR = 2e-3  # of a kernel value; above, products of errors matter
TINY = 1e-36  # what numbers below float32's normal range may lose, generously


@dataclass(frozen=True, slots=True)
class RowError:
    """|dx| <= relative |x'| + constant, for rows after the preprocessing."""

    relative: float
    constant: float


def row_error(front: Front, n_features: int) -> RowError:
    """What float32 preprocessing does to a row; feature by feature, then as lengths."""
    errors: dict[str, tuple[float, Array]] = {ROW: (0.0, np.zeros(n_features))}
    for node in front.nodes:
        error = node.row_error(At(node, front.tables, errors), ARITHMETIC["f32"])
        if error is None:
            return RowError(math.inf, math.inf)
        errors[node.out] = error
    relative, constant = errors[front.out]
    return RowError(relative, float(np.linalg.norm(constant)) + TINY * n_features)


@dataclass(frozen=True, slots=True)
class KernelError:
    """Bounds on |dk| in units of the row's size; u and second order included."""

    value: float  # |dk| <= value size
    diagonal: float  # the same for k(x, x)
    sloped: float  # |dk| <= sloped |k| + flat size
    flat: float

    def or_larger(self, other: KernelError) -> KernelError:
        """What holds for code of both kinds."""
        fields = zip(astuple(self), astuple(other), strict=True)
        return KernelError(*(max(one, two) for one, two in fields))

    @property
    def usable(self) -> bool:
        """Are the errors small enough for an analysis of first order?"""
        return self.value <= LARGEST_ERROR


def kernel_error(
    kernel: Kernel, vectors: Array, row: RowError, chain: int = 0, number: Number = "f32"
) -> KernelError:
    """The errors of kernel values with any of the vectors, which are rounded to float32.

    `chain`: how many additions a square goes through at most on its way to the distance; 0: all.
    """
    a, d = ARITHMETIC[number], chain or vectors.shape[1]
    longest = float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
    if kernel.kind == "poly":
        value = _poly_error(kernel, d, longest, row)
        return KernelError(value, value, 0.0, value)
    if kernel.gamma < SMALLEST_GAMMA:
        return KernelError(math.inf, math.inf, math.inf, math.inf)
    slope = (d + 6) * a.u + 2 * row.relative
    moved = math.sqrt(kernel.gamma) * ((U + row.relative) * longest + row.constant)
    rest = a.exp_error + a.u
    value = SECOND_ORDER * (slope / math.e + 0.858 * moved + rest)
    return _rbf_error(slope * CUT + 2 * moved * math.sqrt(CUT), rest, value)


def _rbf_error(near: float, rest: float, value: float = 0.0) -> KernelError:
    """Where an exponent of CUT is off by `near`, and its exponential by `rest` beside that."""
    sloped, flat = SECOND_ORDER * (near + rest), SECOND_ORDER * (near * math.exp(-CUT) + TINY)
    return KernelError(value or sloped, 0.0, sloped, flat)


def machine_error(own: SVM, vectors: Array | None = None) -> KernelError:
    """The errors of float32 code behind the preprocessing of a machine, with its own vectors or others."""
    vectors = own.vectors if vectors is None else vectors
    chain = longest_chain(own.kernel, vectors.shape[1])
    return kernel_error(own.kernel, vectors, row_error(own.front, own.n_features), chain)


def exponent_error(w: Array, t: Array, chain: int) -> Array:
    """What t = gamma |x - v|^2 from products may be off by, in u, where w = gamma |v|^2.

    |x|^2 + |v|^2 - 2 x . v has products that go through `chain` additions, and gamma |x| |v| is at most
    w + sqrt(w t): (2 chain + 8) (w + sqrt(w t)) + 5 ((sqrt(w) + sqrt(t))^2 + w).
    """
    return np.asarray((2 * chain + 8) * (w + np.sqrt(w * t)) + 5 * (np.square(np.sqrt(w) + np.sqrt(t)) + w))


def error_from_products(kernel: Kernel, vectors: Array, chain: int) -> KernelError:
    """The errors of RBF kernel values of rows as they come, with |x|^2 + |v|^2 - 2 x . v for distances.

    What the exponent is off by falls beyond CUT, times exp(-t).
    """
    w = kernel.gamma * float(np.square(vectors).sum(axis=1).max(initial=0.0))
    near = U * float(exponent_error(np.array(w), np.array(CUT), chain))
    return _rbf_error(near, EXP_ERROR + U)


def _poly_error(kernel: Kernel, d: int, longest: float, row: RowError) -> float:
    base = (d + 6) * U + 2 * row.relative + 2 * kernel.gamma * longest * row.constant
    return SECOND_ORDER * (kernel.degree * base + 2 * kernel.degree * U + TINY)


def coordinate_error(
    coordinates: Array, projection: Array, bias: float, error: KernelError
) -> tuple[Array, Array, Array]:
    """Errors of scores from coordinates [K, K] and projections [K], of those from estimates, and of R^2.

    Each for every number of coordinates (index 0: none).
    """
    count = np.arange(len(projection) + 1)
    estimates, spreads = _norms(coordinates, projection)
    adding = (count[1:] + 3) * U * np.abs(coordinates).sum(axis=1)
    moved = np.concatenate([[0.0], np.cumsum(np.abs(projection) * adding)])
    score = error.value * estimates + moved + (count + 5) * U * (abs(bias) + lengths(projection))
    slip = error.value * spreads + lengths(adding)
    square = error.diagonal + 2 * slip + np.square(slip) + 2 * (count + 3) * U
    estimate = estimates * (error.value + (count + 5) * U) + (count + 5) * U * abs(bias)
    return SECOND_ORDER * score, SECOND_ORDER * estimate, SECOND_ORDER * square


def lengths(values: Array) -> Array:
    """|values[:c]| for every c."""
    return np.concatenate([[0.0], np.sqrt(np.cumsum(np.square(values)))])


def _norms(coordinates: Array, projection: Array) -> tuple[Array, Array]:
    """sum |M' w| and sqrt(sum |M' M|) over the first coordinates, for every number of them."""
    size = len(projection)
    estimate, product = np.zeros(size), np.zeros((size, size))
    estimates, spreads = np.zeros(size + 1), np.zeros(size + 1)
    for index, row in enumerate(coordinates):
        own = row[: index + 1]
        estimate[: index + 1] += projection[index] * own
        product[: index + 1, : index + 1] += np.outer(own, own)
        estimates[index + 1] = np.abs(estimate).sum()
        spreads[index + 1] = math.sqrt(float(np.abs(product[: index + 1, : index + 1]).sum()))
    return estimates, spreads


def direct_rounding(
    weights: Array, bias: float, error: KernelError, block: int = BLOCK
) -> tuple[float, float]:
    """(by sum |w k|, by size): the error of the direct sum, every vector met; `block` values in float32."""
    in_double = (len(weights) / max(block, 1) + 8) * U64
    by_sum = error.sloped + (block + 5) * U + in_double
    by_size = float(np.abs(weights).sum()) * (error.flat + TINY) + 4 * U * abs(bias) + TINY
    return SECOND_ORDER * TEST_ROUNDING * by_sum, SECOND_ORDER * TEST_ROUNDING * by_size
