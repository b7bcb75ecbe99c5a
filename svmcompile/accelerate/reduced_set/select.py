"""Greedy selection of vectors: the order in which candidates enter, best first.

Kernel matching pursuit in two spaces. Each step takes the candidate that lowers the remaining
squared error most once all coefficients are refitted (orthogonal least squares), summed over all
outputs. Ties go to the first candidate.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array

RANK = 1e-10  # a candidate is spent when this share of its squared norm is left

Order = NDArray[np.int64]


def select_by_rows(values: Array, targets: Array, count: int) -> Order:
    """Columns of kernel values [rows, candidates] that together fit the targets [rows, outputs]."""
    left = values - values.mean(axis=0)  # the bias is always part of the fit
    wanted = _even(targets - targets.mean(axis=0))
    norms = np.square(left).sum(axis=0)
    floor = RANK * norms
    chosen: list[int] = []
    while len(chosen) < count:
        gains = np.square(wanted.T @ left).sum(axis=0)
        best = _best(gains, norms, floor)
        if best < 0:
            break
        chosen.append(best)
        unit = left[:, best] / np.sqrt(norms[best])
        along = unit @ left
        left -= np.outer(unit, along)
        wanted -= np.outer(unit, unit @ wanted)
        norms = np.maximum(norms - np.square(along), 0.0)
        norms[best] = 0.0
    return np.array(chosen, dtype=np.int64)


def select_by_features(
    column: Callable[[int], Array], diagonal: Array, targets: Array, count: int
) -> Order:
    """Candidates whose images span the SVM's own vector best, by a pivoted Cholesky factorisation.

    `column(i)` gives the kernel of all candidates with candidate i, `targets` [candidates, outputs] are
    the SVM's sums without intercepts, that is the inner products with the vector to be approximated.
    """
    wanted = _even(targets)
    norms = diagonal.astype(np.float64).copy()
    floor = RANK * np.abs(norms)
    factor = np.zeros((len(norms), min(count, len(norms))))
    chosen: list[int] = []
    while len(chosen) < count:
        best = _best(np.square(wanted).sum(axis=1), norms, floor)
        if best < 0:
            break
        done = len(chosen)
        residual = column(best) - factor[:, :done] @ factor[best, :done]
        along = residual / np.sqrt(norms[best])
        wanted -= np.outer(along, wanted[best] / np.sqrt(norms[best]))
        norms = np.maximum(norms - np.square(along), 0.0)
        norms[best] = 0.0
        factor[:, done] = along
        chosen.append(best)
    return np.array(chosen, dtype=np.int64)


def _even(targets: Array) -> Array:
    """Targets scaled so that every output counts the same."""
    sizes = np.sqrt(np.square(targets).mean(axis=0))
    return np.asarray(targets / np.where(sizes > 0, sizes, 1.0))


def _best(gains: Array, norms: Array, floor: Array) -> int:
    """The candidate with the largest gain per squared norm, -1 where all are spent."""
    alive = norms > floor
    if not alive.any():
        return -1
    return int(np.argmax(np.where(alive, gains / np.where(alive, norms, 1.0), -1.0)))
