"""Move: chosen vectors shift to where they fit best, coefficients refitted at every step.

The loss of a set of vectors is that of its best coefficients (variable projection), so only the
vectors are unknowns: Burges' reduced set, with fitting rows in place of the feature space.
"""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.reduced_set.refit import RIDGE, ridge_fit
from svmcompile.ir.kernel import Array, Kernel, power


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
