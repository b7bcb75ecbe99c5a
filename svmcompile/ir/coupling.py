"""LIBSVM's pairwise coupling: probabilities of pairs in, probabilities of classes out.

The iteration stops as soon as it is near enough, so that its results are those of LIBSVM only if every
step is. Written for numbers that may have an imaginary part: an imaginary change of a pair too small
to matter comes out as the derivative of every class with respect to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.pairs import pair_indices

Numbers = NDArray[Any]  # float64 or complex128

TOLERANCE = 0.005  # over the number of classes
SWEEPS = 100  # at most, or as many as there are classes


def sweeps_of(n_classes: int) -> int:
    """How many sweeps are allowed."""
    return max(SWEEPS, n_classes)


def pair_matrix(pairs: Numbers, n_classes: int) -> Numbers:
    """Q of each row: Q[t, t] = sum_j r[j, t]^2, Q[t, j] = -r[j, t] r[t, j]."""
    r = np.zeros((len(pairs), n_classes, n_classes), dtype=pairs.dtype)
    for column, (i, j) in enumerate(pair_indices(n_classes)):
        r[:, i, j], r[:, j, i] = pairs[:, column], 1.0 - pairs[:, column]
    q = -r * r.transpose(0, 2, 1)
    for t in range(n_classes):
        q[:, t, t] = (r[:, :, t] * r[:, :, t]).sum(axis=1)
    return np.asarray(q)


def couple(pairs: Numbers, n_classes: int) -> tuple[Numbers, Numbers]:
    """Probabilities of classes, and how near a row's stopping rule came to deciding otherwise."""
    q = pair_matrix(pairs, n_classes)
    p = np.full((len(pairs), n_classes), 1.0 / n_classes, dtype=pairs.dtype)
    nearest = np.full(len(pairs), np.inf, dtype=pairs.dtype)
    active: NDArray[np.bool_] = np.asarray(np.isfinite(pairs).all(axis=1))
    p[~active] = np.nan
    for _ in range(sweeps_of(n_classes)):
        rows = np.flatnonzero(active)
        if not len(rows):
            break
        qp, pqp = _products(q[rows], p[rows])
        gap = _largest(qp - pqp[:, None]) - TOLERANCE / n_classes
        closer = np.abs(gap.real) < np.abs(nearest[rows].real)
        nearest[rows] = np.where(closer, gap, nearest[rows])
        active[rows] = gap.real >= 0
        on = gap.real >= 0
        p[rows[on]] = _sweep(q[rows[on]], p[rows[on]], qp[on], pqp[on])
    return p, nearest


def _products(q: Numbers, p: Numbers) -> tuple[Numbers, Numbers]:
    qp = np.einsum("rtj,rj->rt", q, p)
    return qp, np.einsum("rt,rt->r", p, qp)


def _largest(errors: Numbers) -> Numbers:
    """The largest absolute value of each row; a change of sign turns the imaginary part too."""
    sizes = np.where(errors.real < 0, -errors, errors)
    place = sizes.real.argmax(axis=1)
    return np.asarray(sizes[np.arange(len(sizes)), place])


def _sweep(q: Numbers, p: Numbers, qp: Numbers, pqp: Numbers) -> Numbers:
    """One class after the other moves to where it fits best, and all are scaled to add up to one."""
    p, qp = p.copy(), qp.copy()
    for t in range(p.shape[1]):
        own = q[:, t, t]
        step = (pqp - qp[:, t]) / own
        scale = 1.0 + step
        p[:, t] += step
        pqp = (pqp + step * (step * own + 2.0 * qp[:, t])) / scale / scale
        qp = (qp + step[:, None] * q[:, t]) / scale[:, None]
        p /= scale[:, None]
    return p


def coupling_errors(pairs: NDArray[np.float64], errors: NDArray[np.float64], n_classes: int) -> Numbers:
    """How far errors of pairs can move the classes; infinite where they may change the number of sweeps."""
    small = 1e-30
    found = np.zeros((len(pairs), n_classes))
    reach = np.zeros(len(pairs))
    for column in range(pairs.shape[1]):
        moved = pairs.astype(np.complex128)
        moved[:, column] += 1j * small
        p, nearest = couple(moved, n_classes)
        found += np.abs(p.imag / small) * errors[:, column : column + 1]
        reach += np.abs(nearest.imag / small) * errors[:, column]
    _, nearest = couple(pairs, n_classes)
    return np.where((np.abs(nearest) <= reach)[:, None], np.inf, found)
