"""The width of an RBF sum in float32: what it may be off by, for every row, from its tables alone.

u = 2^-24; the row x that a sum reads is off by |dx| <= A |x| + B after its preprocessing; c_i is how many
numbers of vector i are not zero: no more additions round a product on its way to the sum. In units z of
the exponent (2^-D^2/2, D = |z - s|, S = |s|, |z| <= S + D) the exponent is off by
    t = u ((c + 8) S (S + D) + 2.5 ((S + D)^2 + S^2)) + D m + m^2 / 2,     m = A (S + D) + B + u S
so the kernel value by 2^(-D^2/2) (2^t - 1) and what exp2 and adding up do; that has a largest value over D,
and no row is near many vectors at once: `_largest_sums`. docs/certified-proof.md, section 13.
"""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir.arithmetic import ARITHMETIC, BLOCK, Array
from svmcompile.ir.kernel import Kernel, chunks

F32, U64 = ARITHMETIC["f32"], ARITHMETIC["f64"].u
ADDING = (BLOCK + 8) * F32.u  # of each product of a weight and a kernel value, in blocks
EXP_ERROR = 2.6e-7  # of exp2 in any form of code
SAFE = 1.02  # products of errors, and the rounding of the test itself
TINY = 1e-36  # what numbers below float32's normal range may lose, generously
FARTHEST = 18.0  # in units of the exponent; beyond, kernel values are below 2^-149
STEP = 1 / 64
CUTS = np.array(
    [256, 352, 480]
)  # steps: nearer, errors count by kernel value, farther, as they are at the cut
MOST_VALUES = 1 << 21  # errors that are computed at a time
MOST_PRODUCTS = 1e11  # of features, for distances between vectors: seconds


def rbf_width(
    kernel: Kernel, vectors: Array, weights: Array, bias: float, off: tuple[float, float] = (0.0, TINY),
    longest: float = math.inf,
) -> float:  # fmt: skip
    """Of sums with these absolute weights [sums, vectors], behind rows off by a share and a constant.

    `longest` is how many products code adds up at most without a break; infinite where nothing is known.
    """
    if not 1e-30 < kernel.gamma < 1e30:
        return math.inf
    chain, (relative, constant) = np.minimum(additions(vectors), longest + 8), off
    with np.errstate(all="ignore"):
        parts = chunks(len(vectors), int(FARTHEST / STEP), MOST_VALUES)
        found = [
            _errors(kernel, vectors[part], chain[part], relative, constant, len(vectors)) for part in parts
        ]
        errors, shares = (np.concatenate(each) for each in zip(*found, strict=True))
        largest = float(_largest_sums(kernel, vectors, errors, shares, weights).max(initial=0.0))
        return SAFE * (largest + 4 * F32.u * bias) + TINY


def additions(vectors: Array) -> Array:
    """How often a product of each vector is rounded on its way to the sum, and what comes on top."""
    return np.count_nonzero(vectors, axis=1) + 8.0


def _errors(
    kernel: Kernel, vectors: Array, chain: Array, relative: float, constant: float, count: int
) -> tuple[Array, Array]:
    """The largest error [vectors, distances] of each kernel value at a distance or farther; at `CUTS`, what
    share of a nearer one it is.

    Adding up so many kernel values is included. Between two distances the kernel value is at most what it
    is at the first, the exponent's error at most that at the second. Infinite where the exponent is off by
    too much.
    """
    unit, distance = _unit(kernel), np.arange(0.0, FARTHEST, STEP)
    s, c = unit * np.linalg.norm(vectors, axis=1)[:, None], chain[:, None]
    d = distance + STEP
    z = s + d
    moved = relative * z + unit * constant + F32.u * s
    t = F32.u * (c * s * z + 2.5 * (z * z + s * s)) + d * moved + moved * moved / 2
    adding = ADDING + (count / BLOCK + 8) * U64
    share = np.expm1(math.log(2) * t) + (EXP_ERROR + adding) * np.exp2(t)
    error = np.exp2(-np.square(distance) / 2) * share + TINY
    error[t[:, -1] > 1] = np.inf
    return np.maximum.accumulate(error[:, ::-1], axis=1)[:, ::-1], share[:, CUTS]


def _largest_sums(kernel: Kernel, vectors: Array, errors: Array, shares: Array, weights: Array) -> Array:
    """Of weighted errors over all rows, for each sum: the least of three bounds.

    No vector is nearer to a row than half its distance from the one that is nearest to it. And a sum of
    kernel values with weights a is at most the square root of a'Ka, whatever the row. Distances are made
    of products in float32, less what those may be off by.
    """
    plain = np.asarray(weights @ errors[:, 0])
    n, d = vectors.shape
    if n * n * d > MOST_PRODUCTS or not np.isfinite(plain).all():
        return plain
    scaled = _unit(kernel) * vectors
    norms, short = np.square(scaled).sum(axis=1), scaled.astype(np.float32)
    kept, own, spread = (
        1 - 2.1 * (d + 8) * F32.u,
        np.arange(n),
        (weights[:, None] * shares.T).reshape(-1, n),
    )
    halved, squared = np.zeros(len(weights)), np.zeros(len(spread))
    for part in chunks(n, n):
        squares = np.maximum(kept * (norms[part, None] + norms) - 2 * (short[part] @ short.T), 0.0)
        place = np.minimum(np.sqrt(squares) / (2 * STEP), errors.shape[1] - 1).astype(np.intp)
        halved = np.maximum(halved, (errors[own, place] @ weights.T).max(axis=0))
        squared += (spread[:, part] * (spread @ np.exp2(-squares / 2).T)).sum(axis=1)
    near = np.sqrt(squared * (1 + n * U64)).reshape(len(weights), -1)
    return np.minimum(np.minimum(plain, halved), (near + weights @ errors[:, CUTS]).min(axis=1))


def _unit(kernel: Kernel) -> float:
    """Of distances in an exponent of two."""
    return math.sqrt(2 * kernel.gamma * math.log2(math.e))
