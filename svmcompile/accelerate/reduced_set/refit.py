"""Refit: coefficients and bias for vectors that have been chosen, by ridge least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.ir.kernel import Array

RIDGE = 1e-7  # beside the mean squared norm of a column
TINY_RIDGE = 1e-10  # where the fit is a projection


@dataclass(frozen=True, eq=False)
class Fit:
    """out = values @ weights.T + bias."""

    weights: Array  # [outputs, vectors]
    bias: Array  # [outputs]

    def predict(self, values: Array) -> Array:
        return np.asarray(values @ self.weights.T + self.bias)


def ridge_fit(values: Array, targets: Array, row_weights: Array, ridge: float) -> Fit:
    """Least squares of targets [rows, outputs] on kernel values [rows, vectors] and a constant."""
    share = row_weights / row_weights.sum()
    centre, level = share @ values, share @ targets
    left, wanted = values - centre, targets - level
    gram = left.T @ (left * share[:, None])
    size = float(np.trace(gram)) / max(1, len(gram))
    gram[np.diag_indices_from(gram)] += ridge * size + np.finfo(np.float64).tiny
    weights = _solve(gram, left.T @ (wanted * share[:, None])).T
    return Fit(weights, level - weights @ centre)


def feature_fit(gram: Array, targets: Array, intercepts: Array) -> Fit:
    """The projection of the SVM's vector on the span of the chosen ones; the bias stays.

    `gram` is the kernel among the chosen vectors, `targets` [vectors, outputs] the SVM's sums there.
    """
    size = float(np.abs(np.diag(gram)).mean())
    ridged = gram + TINY_RIDGE * size * np.eye(len(gram))
    return Fit(_solve(ridged, targets).T, intercepts.copy())


def boundary_weights(targets: Array) -> Array:
    """Row weights that fall with the distance from the boundary of the nearest output."""
    near = np.abs(targets).min(axis=1)
    scale = float(np.median(near)) or 1.0
    return np.asarray(1.0 / (1.0 + np.square(near / scale)))


def _solve(matrix: Array, right: Array) -> Array:
    """A symmetric system; the least-squares solution where the matrix is singular."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return np.asarray(cho_solve(cho_factor(matrix), right))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])
