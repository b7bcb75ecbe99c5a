"""Affine functions of a row, fitted to an SVM's sums by least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from svmcompile.ir.arithmetic import Array, nearest_float32

RIDGE = 1e-3  # of the rows' mean variance
WIDE = 4096  # with more features than that, products of rows are solved for where these are fewer


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
    return ridge_path(z, targets, np.ones(len(z)), (RIDGE,))[0]


def ridge_path(z: Array, targets: Array, row_weights: Array, ridges: Sequence[float]) -> list[Linear]:
    """The weighted fit for each ridge, a share of the features' mean variance."""
    total, root = row_weights.sum(), np.sqrt(row_weights)[:, None]
    mean = (z * row_weights[:, None]).sum(axis=0) / total
    level = (targets * row_weights[:, None]).sum(axis=0) / total
    centre = nearest_float32(z.mean(axis=0))
    h = (z - mean) * root
    wanted, width = (targets - level) * root, h.shape[1]
    by_rows = len(h) < width and width > WIDE
    gram, right = (h @ h.T, wanted) if by_rows else (h.T @ h, h.T @ wanted)
    found = []
    for share in ridges:
        ridge = share * float(np.trace(gram)) / width or 1.0
        slopes = np.linalg.solve(gram + ridge * np.eye(len(gram)), right)
        slopes = h.T @ slopes if by_rows else slopes
        found.append(Linear(slopes.T, level + (centre - mean) @ slopes, centre))
    return found


def boundary_weights(targets: Array) -> Array:
    """Row weights that fall with the distance from the boundary of the nearest output."""
    near = np.abs(targets).min(axis=1)
    scale = float(np.median(near)) or 1.0
    return np.asarray(1.0 / (1.0 + np.square(near / scale)))
