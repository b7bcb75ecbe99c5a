"""Linear term: a ridge fit of the SVM's sums by an affine function, for a tree to add to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.ir.kernel import Array
from svmcompile.ir.shift import nearest_float32

RIDGE = 1e-3  # of the rows' mean variance


@dataclass(frozen=True, eq=False)
class Linear:
    """weights (z - centre) + bias."""

    weights: Array  # [outputs, features]
    bias: Array  # [outputs]
    centre: Array  # [features], float32 numbers

    def values(self, z: Array) -> Array:
        return np.asarray((z - self.centre) @ self.weights.T + self.bias)


def fit_linear(z: Array, targets: Array) -> Linear:
    """The least-squares fit of targets [rows, outputs], slopes kept small."""
    centre = nearest_float32(z.mean(axis=0))
    h = z - z.mean(axis=0)
    gram = h.T @ h
    ridge = RIDGE * float(np.trace(gram)) / len(gram) or 1.0
    slopes = np.linalg.solve(gram + ridge * np.eye(len(gram)), h.T @ (targets - targets.mean(axis=0)))
    bias = targets.mean(axis=0) + (centre - z.mean(axis=0)) @ slopes
    return Linear(slopes.T, bias, centre)
