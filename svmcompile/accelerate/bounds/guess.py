"""A guess of the class from one dot product per class: rows and labels enter, an affine function leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.kernel import Array

RIDGE = 1e-3  # of the mean square of the features


@dataclass(frozen=True, eq=False)
class Guess:
    """scores = weights (x - centre) + bias; the largest is the guess."""

    weights: Array  # [k, d]
    bias: Array  # [k]
    centre: Array  # [d]


def fitted_guess(points: Array, labels: NDArray[np.int64], n_classes: int) -> Guess:
    """Ridge regression of the labels, one against the rest."""
    centre = nearest_float32(points.mean(axis=0))
    h = points - points.mean(axis=0)
    targets = (labels[:, None] == np.arange(n_classes)).astype(np.float64)
    level: Array = targets.mean(axis=0)
    gram = h.T @ h
    strength = RIDGE * float(np.trace(gram)) or 1.0
    weights = np.linalg.solve(gram + strength * np.eye(len(gram)), h.T @ (targets - level)).T
    return Guess(weights, level + weights @ (centre - points.mean(axis=0)), centre)
