"""Prototypes: the function that is fitted, its losses and their gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]  # float32 while it is trained; any float type will do
Loss = Literal["logistic", "softmax", "squares"]
Parts = tuple[Floats, Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Prototypes:
    """bias + exp(-|projection x - b_j|^2) @ weights; the width is the size of the projection."""

    projection: Floats  # [rank, features]
    vectors: Floats  # [n, rank]
    weights: Floats  # [n, outputs]
    bias: Floats  # [outputs]

    @property
    def parts(self) -> Parts:
        return self.projection, self.vectors, self.weights, self.bias

    def scores(self, rows: Floats) -> Floats:
        return _kernel(rows @ self.projection.T, self.vectors) @ self.weights + self.bias

    def loss(self, rows: Floats, targets: Floats, loss: Loss) -> tuple[float, Parts]:
        """The mean loss of rows, and its gradients by all parts."""
        at = rows @ self.projection.T
        kernel = _kernel(at, self.vectors)
        value, slope = LOSSES[loss](kernel @ self.weights + self.bias, targets)
        slope = (slope / len(rows)).astype(at.dtype)
        pull = 2 * (slope @ self.weights.T) * kernel  # by -|at - vectors|^2, doubled
        by_row = pull @ self.vectors - pull.sum(axis=1)[:, None] * at
        by_vector = pull.T @ at - pull.sum(axis=0)[:, None] * self.vectors
        return value / len(rows), (by_row.T @ rows, by_vector, kernel.T @ slope, slope.sum(axis=0))


def _kernel(at: Floats, vectors: Floats) -> Floats:
    apart = np.square(at).sum(axis=1)[:, None] + np.square(vectors).sum(axis=1) - 2 * at @ vectors.T
    return np.asarray(np.exp(-np.maximum(apart, 0)))


def _logistic(scores: Floats, chances: Floats) -> tuple[float, Floats]:
    """Cross-entropy of each output with a chance of its own."""
    value = np.logaddexp(0, scores) - chances * scores
    return float(value.sum()), 1 / (1 + np.exp(-scores)) - chances


def _softmax(scores: Floats, chances: Floats) -> tuple[float, Floats]:
    """Cross-entropy of one class among several."""
    highest = scores.max(axis=1, keepdims=True)
    powers = np.exp(scores - highest)
    total = powers.sum(axis=1, keepdims=True)
    value = (np.log(total) + highest).sum() - (chances * scores).sum()
    return float(value), powers / total - chances


def _squares(scores: Floats, values: Floats) -> tuple[float, Floats]:
    return float(np.square(scores - values).sum()) / 2, scores - values


LOSSES = {"logistic": _logistic, "softmax": _softmax, "squares": _squares}
