"""Which candidates to keep: pursuit by rows, and in the SVM's feature space.

Pursuit takes, step by step, the candidate that lowers the remaining squared error most once all
coefficients are refitted (orthogonal least squares), summed over all outputs. Ties go to the first
candidate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Floats

RANK = 1e-10  # a candidate is spent when this share of its squared norm is left
ROUNDED_RANK = 1e-5  # the same where kernel values are float32
Order = NDArray[np.int64]


def select_by_rows(values: Floats, targets: Array, count: int) -> Order:
    """Columns of kernel values [rows, candidates] that together fit the targets [rows, outputs].

    The columns stay as they are: what is left of one beside the chosen is known from products with
    their orthonormal basis, which saves writing the matrix in every step.
    """
    left = values - values.mean(axis=0)  # the bias is always part of the fit
    wanted = even(targets - targets.mean(axis=0)).astype(left.dtype)
    norms = np.square(left).sum(axis=0, dtype=np.float64)
    floor = (RANK if left.dtype == np.float64 else ROUNDED_RANK) * norms
    gains = (wanted.T @ left).astype(np.float64)  # [outputs, candidates]
    basis = np.zeros((min(count, left.shape[1]), len(left)), left.dtype)
    chosen: list[int] = []
    while len(chosen) < len(basis):
        best = best_of(np.square(gains).sum(axis=0), norms, floor)
        if best < 0:
            break
        unit, done = left[:, best], basis[: len(chosen)]
        for _ in range(2):  # once more takes away what rounding leaves
            unit = unit - (done @ unit) @ done
        unit /= np.sqrt(np.square(unit).sum(dtype=np.float64)) or 1.0
        along = (unit @ left).astype(np.float64)
        gains -= np.outer((unit @ wanted).astype(np.float64), along)
        norms = np.maximum(norms - np.square(along), 0.0)
        norms[best] = 0.0
        basis[len(chosen)] = unit
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)


def select_by_features(
    column: Callable[[int], Floats], diagonal: Array, targets: Array, count: int
) -> Order:
    """Candidates whose images span the SVM's own vector best, by a pivoted Cholesky factorisation.

    `column(i)` gives the kernel of all candidates with candidate i, `targets` [candidates, outputs] are
    the SVM's sums without intercepts, that is the inner products with the vector to be approximated.
    """
    wanted = even(targets)
    norms = diagonal.astype(np.float64).copy()
    floor = RANK * np.abs(norms)
    factor = np.zeros((min(count, len(norms)), len(norms)))
    chosen: list[int] = []
    while len(chosen) < len(factor):
        best = best_of(np.square(wanted).sum(axis=1), norms, floor)
        if best < 0:
            break
        done = factor[: len(chosen)]
        along = (column(best) - done[:, best] @ done) / np.sqrt(norms[best])
        wanted -= np.outer(along, wanted[best] / np.sqrt(norms[best]))
        norms = np.maximum(norms - np.square(along), 0.0)
        norms[best] = 0.0
        factor[len(chosen)] = along
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)


def even(targets: Array) -> Array:
    """Targets scaled so that every output counts the same."""
    sizes = np.sqrt(np.square(targets).mean(axis=0))
    return np.asarray(targets / np.where(sizes > 0, sizes, 1.0))


def best_of(gains: Array, norms: Array, floor: Array) -> int:
    """The candidate with the largest gain per squared norm, -1 where all are spent."""
    alive = norms > floor
    if not alive.any():
        return -1
    return int(np.argmax(np.where(alive, gains / np.where(alive, norms, 1.0), -1.0)))
