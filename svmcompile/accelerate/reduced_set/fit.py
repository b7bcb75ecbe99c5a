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
GAIN = 1e-9  # what a step must gain, as a share of the targets' squares
ROOM = 0.5  # how far beyond the data vectors may move, as a share of its range in each direction
HELD = 0.95  # share of the rows' squares in the directions that vectors move along,
DIRECTIONS = 64  # if these are more than so many
SAME = 1e-4  # share of the targets' squares that moving does without


@dataclass(frozen=True, eq=False)
class Fit:
    """out = values @ weights.T + bias."""

    weights: Array  # [outputs, vectors]
    bias: Array  # [outputs]

    def predict(self, values: Floats) -> Array:
        return np.asarray(values @ self.weights.T.astype(values.dtype) + self.bias.astype(values.dtype))


class Rows:
    """Rows whose kernel values with vectors are one matrix product and one function of it.

    Of an rbf kernel the product is the exponent: rows have two columns more, for the norms of both. Vectors
    may be held to the main directions of the rows, of which they are then coordinates.
    """

    def __init__(self, kernel: Kernel, rows: Array, exact: bool = False, share: float = 1.0) -> None:
        self.kernel, self.rbf = kernel, kernel.kind == "rbf"
        self.middle: Array = rows.mean(axis=0) if self.rbf else np.zeros(rows.shape[1])
        self.number: Any = np.float64
        self.turned = np.eye(rows.shape[1])
        if self.rbf:
            rows = rows - self.middle
            norms = -kernel.gamma * np.square(rows).sum(axis=1)
            if not exact and float(np.abs(norms).max(initial=0.0)) < FAR:
                self.number = np.float32
            if share < 1:
                self.turned = _main_directions(rows.astype(self.number), share)
                rows = rows @ self.turned
            rows = np.column_stack([rows, norms, np.ones(len(rows))])
        self.z: Any = rows.astype(self.number)

    def places(self, vectors: Array) -> Array:
        """Coordinates of vectors."""
        return np.asarray((vectors - self.middle) @ self.turned)

    def vectors(self, places: Array) -> Array:
        """Vectors of coordinates."""
        return np.asarray(self.middle + places @ self.turned.T)

    def values(self, places: Array) -> Floats:
        """Kernel values [rows, vectors]."""
        if not self.rbf:
            return self.kernel.values(self.z, places)
        gamma = self.kernel.gamma
        norms = -gamma * np.square(places).sum(axis=1)
        right = np.column_stack([2 * gamma * places, np.ones(len(places)), norms]).astype(self.number)
        t: Floats = self.z @ right.T
        np.minimum(t, 0, out=t)
        return np.exp(t, out=t)

    def pulls(self, places: Array, values: Any, slopes: Floats) -> Array:
        """What a loss with these slopes by each kernel value has by each coordinate."""
        if not self.rbf:
            found = (derivative(self.kernel, values, self.z, places) * slopes).T @ self.z
            return np.asarray(found, dtype=np.float64)
        found = ((values * slopes).T @ self.z).astype(np.float64)
        towards, spread = found[:, :-2], found[:, -1:]
        return np.asarray(2 * self.kernel.gamma * (towards - spread * places))


def _main_directions(rows: Array, share: float) -> Array:
    """The directions [features, some] that hold so much of the squares of centred rows."""
    squares, turned = np.linalg.eigh((rows.T @ rows).astype(np.float64))
    left_out = np.cumsum(np.maximum(squares, 0.0)) <= (1 - share) * squares.sum()
    left_out[-DIRECTIONS:] = False
    return np.asarray(turned[:, ~left_out])


def ridge_fit(values: Floats, targets: Array, row_weights: Array, ridge: float) -> Fit:
    """Least squares of targets [rows, outputs] on kernel values [rows, vectors] and a constant."""
    share = row_weights / row_weights.sum()
    root = np.sqrt(share).astype(values.dtype)[:, None]
    centre, level = share.astype(values.dtype) @ values, share @ targets
    left, wanted = values - centre, ((targets - level) * root).astype(values.dtype)
    left *= root
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
    within: Array,
) -> Array:  # fmt: skip
    """The vectors after at most so many steps of L-BFGS near the rows `within`, along main directions.

    Far away from all rows, small kernel values under large weights would fit no better on other rows,
    and take the digits of fixed point.
    """
    from scipy.optimize import Bounds, minimize

    share, space = row_weights / row_weights.sum(), Rows(kernel, rows, share=HELD)
    ridge = RIDGE if space.number is np.float64 else ROUNDED_RIDGE
    targets = _few_outputs(targets).astype(space.number)
    part = share.astype(space.number)[:, None]
    size = float((np.square(targets) * part).sum()) or 1.0

    def loss(flat: Array) -> tuple[float, Array]:
        at = flat.reshape(start.shape)
        values = space.values(at)
        fit = ridge_fit(values, targets, share, ridge)
        miss = fit.predict(values) - targets
        pull = miss * part
        slopes = pull @ fit.weights.astype(space.number)  # the loss by each value
        return 0.5 * float(np.vdot(miss, pull)) / size, space.pulls(at, values, slopes).ravel() / size

    start, box = space.places(vectors), space.places(within)
    low, high = box.min(axis=0), box.max(axis=0)
    room = ROOM * (high - low)
    found = minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": steps, "gtol": 0.0, "ftol": GAIN},
        bounds=Bounds(np.minimum(low - room, start).ravel(), np.maximum(high + room, start).ravel()),
    )  # fmt: skip
    return space.vectors(np.asarray(found.x).reshape(start.shape))


def _few_outputs(targets: Array) -> NDArray[Any]:
    """Fewer outputs with nearly the same squared errors: targets by their main directions."""
    if targets.shape[1] < 3:
        return targets
    squares, turned = np.linalg.eigh(targets.T @ targets)
    kept = np.cumsum(np.maximum(squares, 0.0)) > SAME * squares.sum()
    return np.asarray(targets @ turned[:, kept])
