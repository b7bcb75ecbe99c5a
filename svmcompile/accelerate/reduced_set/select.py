"""Which vectors, where they move to, with which coefficients.

Kernel matching pursuit in two spaces. Each step takes the candidate that lowers the remaining
squared error most once all coefficients are refitted (orthogonal least squares), summed over all
outputs. Ties go to the first candidate.

The loss of a set of vectors is that of its best coefficients (variable projection), so only the
vectors are unknowns: Burges' reduced set, with fitting rows in place of the feature space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel, power

RANK = 1e-10  # a candidate is spent when this share of its squared norm is left
Order = NDArray[np.int64]
RIDGE = 1e-7  # beside the mean squared norm of a column
TINY_RIDGE = 1e-10  # where the fit is a projection


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


def moved(
    kernel: Kernel, vectors: Array, rows: Array, targets: Array, row_weights: Array, steps: int
) -> Array:
    """The vectors after at most so many steps of L-BFGS."""
    from scipy.optimize import minimize

    share = row_weights / row_weights.sum()

    def loss(flat: Array) -> tuple[float, Array]:
        at = flat.reshape(vectors.shape)
        values = kernel.values(rows, at)
        fit = ridge_fit(values, targets, share, RIDGE)
        miss = (fit.predict(values) - targets) * share[:, None]
        pull = miss @ fit.weights  # the loss by each kernel value
        slope = _slopes(kernel, values, rows, at) * pull
        gradient = slope.T @ rows
        if kernel.kind == "rbf":
            gradient -= slope.sum(axis=0)[:, None] * at
        return 0.5 * float((miss * (fit.predict(values) - targets)).sum()), gradient.ravel()

    start = vectors.ravel().astype(np.float64)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps})
    return np.asarray(found.x).reshape(vectors.shape)


def _slopes(kernel: Kernel, values: Array, rows: Array, vectors: Array) -> Array:
    """Factor c with dk/dv = c (x - v) for an RBF kernel and c x for the others."""
    if kernel.kind == "rbf":
        return 2 * kernel.gamma * values
    if kernel.kind == "linear":
        return np.ones_like(values)
    if kernel.kind == "sigmoid":
        return kernel.gamma * (1 - np.square(values))
    inner = kernel.gamma * (rows @ vectors.T) + kernel.coef0
    return kernel.degree * kernel.gamma * power(inner, max(kernel.degree - 1, 0))
