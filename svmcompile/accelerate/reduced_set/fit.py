"""Coefficients for chosen vectors, and vectors moved to where they fit best.

The loss of a set of vectors is that of its best coefficients (variable projection), so only the
vectors are unknowns: Burges' reduced set, with fitting rows in place of the feature space. Moving takes
many kernel values and needs few of their digits: they are float32 where rows allow it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.field import derivative
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Floats

RIDGE = 1e-7  # beside the mean squared norm of a column
ROUNDED_RIDGE = 1e-6  # the same where kernel values are float32
TINY_RIDGE = 1e-10  # where the fit is a projection
FAR = 1 << 12  # exponents beyond this have too few digits in float32
SAME = 1e-5  # share of the targets' squares that moving does without


@dataclass(frozen=True, eq=False)
class Fit:
    """out = values @ weights.T + bias."""

    weights: Array  # [outputs, vectors]
    bias: Array  # [outputs]

    def predict(self, values: Floats) -> Array:
        return np.asarray(values @ self.weights.T.astype(values.dtype) + self.bias)


class Rows:
    """Rows whose kernel values with vectors are one matrix product and one function of it."""

    def __init__(self, kernel: Kernel, rows: Array, exact: bool = False) -> None:
        self.kernel, rbf = kernel, kernel.kind == "rbf"
        self.middle: Array = rows.mean(axis=0) if rbf else np.zeros(rows.shape[1])
        rows = rows - self.middle
        norms = np.square(rows).sum(axis=1)
        rounds = rbf and not exact and abs(kernel.gamma) * float(norms.max(initial=0.0)) < FAR
        self.number: Any = np.float32 if rounds else np.float64
        self.z: Any = rows.astype(self.number)
        self.norms: Any = norms.astype(self.number)[:, None]

    def values(self, vectors: Array) -> Floats:
        """Kernel values [rows, vectors]."""
        if self.kernel.kind != "rbf":
            return self.kernel.values(self.z, vectors)
        at = (vectors - self.middle).astype(self.number)
        t: Floats = self.z @ at.T
        t *= 2
        t -= self.norms
        t -= np.square(at).sum(axis=1)
        np.minimum(t, 0, out=t)
        t *= self.number(self.kernel.gamma)
        return np.exp(t, out=t)

    def pulls(self, vectors: Array, values: Any, slopes: Floats) -> Array:
        """What a loss with these slopes by each kernel value has by each vector."""
        if self.kernel.kind != "rbf":
            found = (derivative(self.kernel, values, self.z, vectors) * slopes).T @ self.z
            return np.asarray(found, dtype=np.float64)
        pull = values * slopes
        pull *= self.number(2 * self.kernel.gamma)
        towards = np.asarray(pull.T @ self.z, dtype=np.float64)
        spread = np.asarray(pull.sum(axis=0), dtype=np.float64)[:, None]
        return towards - spread * (vectors - self.middle)


def ridge_fit(values: Floats, targets: Array, row_weights: Array, ridge: float) -> Fit:
    """Least squares of targets [rows, outputs] on kernel values [rows, vectors] and a constant."""
    share = row_weights / row_weights.sum()
    root = np.sqrt(share).astype(values.dtype)[:, None]
    centre, level = share.astype(values.dtype) @ values, share @ targets
    left, wanted = (values - centre) * root, ((targets - level) * root).astype(values.dtype)
    gram = (left.T @ left).astype(np.float64)
    size = float(np.trace(gram)) / max(1, len(gram))
    gram[np.diag_indices_from(gram)] += ridge * size + np.finfo(np.float64).tiny
    weights = _solve(gram, (left.T @ wanted).astype(np.float64)).T
    return Fit(weights, level - weights @ centre)


def feature_fit(gram: Array, targets: Array, intercepts: Array) -> Fit:
    """The projection of the SVM's vector on the span of the chosen ones; the bias stays.

    `gram` is the kernel among the chosen vectors, `targets` [vectors, outputs] the SVM's sums there.
    """
    size = float(np.abs(np.diag(gram)).mean())
    ridged = gram + TINY_RIDGE * size * np.eye(len(gram))
    return Fit(_solve(ridged, targets).T, intercepts.copy())


def _solve(matrix: Array, right: Array) -> Array:
    """A symmetric system; the least-squares solution where the matrix is singular."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return np.asarray(cho_solve(cho_factor(matrix), right))
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])


def moved(
    kernel: Kernel, vectors: Array, rows: Array, targets: Array, row_weights: Array, steps: int,
    box: tuple[Array, Array],
) -> Array:  # fmt: skip
    """The vectors after at most so many steps of L-BFGS within a box.

    Far away from all rows, small kernel values under large weights would fit no better on other rows,
    and take the digits of fixed point.
    """
    from scipy.optimize import Bounds, minimize

    share, space = row_weights / row_weights.sum(), Rows(kernel, rows)
    ridge = RIDGE if space.number is np.float64 else ROUNDED_RIDGE
    targets = _few_outputs(targets)
    size = float((np.square(targets) * share[:, None]).sum()) or 1.0

    def loss(flat: Array) -> tuple[float, Array]:
        at = flat.reshape(vectors.shape)
        values = space.values(at)
        fit = ridge_fit(values, targets, share, ridge)
        miss = fit.predict(values) - targets
        slopes = ((miss * share[:, None]) @ fit.weights).astype(space.number)  # the loss by each value
        found = 0.5 * float((np.square(miss) * share[:, None]).sum())
        return found / size, space.pulls(at, values, slopes).ravel() / size

    start = vectors.ravel().astype(np.float64)
    low, high = (np.tile(end, (len(vectors), 1)).ravel() for end in box)
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"maxiter": steps},
        bounds=Bounds(np.minimum(low, start), np.maximum(high, start)),
    )  # fmt: skip
    return np.asarray(found.x).reshape(vectors.shape)


def _few_outputs(targets: Array) -> NDArray[Any]:
    """Fewer outputs with nearly the same squared errors: targets by their main directions."""
    if targets.shape[1] < 3:
        return targets
    squares, turned = np.linalg.eigh(targets.T @ targets)
    kept = np.cumsum(np.maximum(squares, 0.0)) > SAME * squares.sum()
    return np.asarray(targets @ turned[:, kept])
