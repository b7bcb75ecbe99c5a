"""The H1 program: the other class's mean, projected onto the convex hull of the hard class.

Its dual is a projection: with lam >= 0, sum lam = 1 the least |sum lam_i x_i - s|^2 over the
hard rows x_i, where s is the mean of the other rows; then w = k m (p - s) for the hard class k, m other
rows and the nearest point p. Where s lies within the hull, w is zero; a reduced hull (no weight above
1 / (nu rows)) shrinks towards the mean and leaves s outside.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array

ZERO = 1e-6  # of the rows' spread: a distance below it is none
STEPS = 1000
TOLERANCE = 1e-10  # of the largest squared norm


def projection(hard: Array, place: Array) -> Array | None:
    """place - p, the way from the hull of the hard rows to a place; None where the hull holds it."""
    rows = hard - place
    spread = float(np.sqrt(np.square(rows).sum(axis=1).mean()))
    nearest = least_norm_weights(rows) @ rows
    away = -nearest
    return away if np.sqrt(away @ away) > ZERO * spread else None


def least_norm_weights(rows: Array) -> Array:
    """Weights of the least-norm point of the hull of some rows, by Wolfe's algorithm."""
    squares = np.einsum("ij,ij->i", rows, rows)
    least = TOLERANCE * float(squares.max())
    active = [int(squares.argmin())]
    weights = np.ones(1)
    for _ in range(STEPS):
        point = weights @ rows[active]
        along = rows @ point
        entering = int(along.argmin())
        if along[entering] >= point @ point - least or entering in active:
            break
        active, weights = _minor_cycle(rows, [*active, entering], np.append(weights, 0.0))
    out = np.zeros(len(rows))
    out[active] = weights
    return out


def _minor_cycle(rows: Array, active: list[int], weights: Array) -> tuple[list[int], Array]:
    """Moves to the least point of the affine hull; rows whose weight falls to zero leave on the way."""
    while True:
        wanted = _affine_weights(rows[active])
        if (wanted > 0).all():
            return active, wanted
        falling = wanted <= 0
        share = weights[falling] / (weights[falling] - wanted[falling])
        weights = weights + min(1.0, float(share.min())) * (wanted - weights)
        kept = weights > 1e-14
        kept[np.flatnonzero(falling)[share.argmin()]] = False
        active = [row for row, keep in zip(active, kept, strict=True) if keep]
        weights = weights[kept] / weights[kept].sum()
        if len(active) == 1:
            return active, np.ones(1)


def _affine_weights(rows: Array) -> Array:
    """Weights that sum to one and make the norm least, of any sign."""
    count = len(rows)
    system = np.ones((count + 1, count + 1))
    system[0, 0] = 0.0
    gram = rows @ rows.T
    system[1:, 1:] = gram / max(float(np.trace(gram)) / count, 1e-300)
    right = np.zeros(count + 1)
    right[0] = 1.0
    return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0][1:])


def reduced_projection(hard: Array, place: Array, nu: float) -> Array | None:
    """`projection` with the reduced hull; LIBSVM's one-class program is this projection."""
    from sklearn.svm import OneClassSVM

    rows = hard - place
    spread = float(np.sqrt(np.square(rows).sum(axis=1).mean()))
    if spread == 0:
        return None
    share = float(np.clip(nu, 1 / len(rows), 1.0))
    if share == 1:
        away = -rows.mean(axis=0)
        return away if np.sqrt(away @ away) > ZERO * spread else None
    fitted = OneClassSVM(kernel="linear", nu=share, tol=1e-4, max_iter=20 * len(rows) + 1000)
    away = -np.asarray(fitted_anyway(fitted, rows / spread).coef_[0])
    length = float(np.sqrt(away @ away))
    # LIBSVM's weights sum to nu times the rows.
    return away if length > 1e-4 * share * len(rows) else None


def fitted_anyway(estimator: Any, rows: Array, *more: NDArray[np.generic]) -> Any:
    """A fit whose direction is used even where it has not converged: the threshold alone must be right."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return estimator.fit(rows, *more)
