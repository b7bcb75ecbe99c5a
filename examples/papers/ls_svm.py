"""Least squares SVMs (Suykens and Vandewalle), as in the metric-tree paper's Figure 2: all rows count.

Training is one system of linear equations. The machine has the form of an SVM, so LIBSVM's text format
holds it, and svmcompile reads that.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from common import Rows, Split
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class LSSVM:
    """sum_i weights_i exp(-gamma |x - vectors_i|^2) + bias; above zero is class 1, else class -1."""

    vectors: Rows
    weights: Rows
    bias: float
    gamma: float

    @property
    def support_(self) -> NDArray[np.intp]:
        return np.arange(len(self.vectors))

    def decision_function(self, X: Rows) -> Rows:
        return np.asarray(rbf(X, self.vectors, self.gamma) @ self.weights + self.bias)

    def predict(self, X: Rows) -> NDArray[np.intp]:
        return np.where(self.decision_function(X) > 0, 1, -1)

    def write(self, path: Path) -> Path:
        """The machine in LIBSVM's text format, vectors of class 1 first."""
        first = self.weights > 0
        order = np.argsort(~first, kind="stable")
        head = [
            "svm_type c_svc", "kernel_type rbf", f"gamma {self.gamma!r}", "nr_class 2",
            f"total_sv {len(order)}", f"rho {-self.bias!r}", "label 1 -1",
            f"nr_sv {first.sum()} {(~first).sum()}", "SV",
        ]  # fmt: skip
        lines = [
            " ".join([repr(float(self.weights[row])), *(f"{k}:{v!r}" for k, v in enumerate(vector, 1))])
            for row, vector in ((row, map(float, self.vectors[row])) for row in order)
        ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([*head, *lines]) + "\n")
        return path


def rbf(X: Rows, vectors: Rows, gamma: float) -> Rows:
    squares = np.square(X[:, None, :] - vectors[None, :, :]).sum(axis=2)
    return np.asarray(np.exp(-gamma * squares))


def trained_ls_svm(X: Rows, y: NDArray[np.intp], C: float, gamma: float) -> LSSVM:
    """Solves [0 1'; 1 K + I / C] [bias; weights] = [0; y] for labels 1 and -1."""
    n = len(y)
    system = np.ones((n + 1, n + 1))
    system[0, 0] = 0.0
    system[1:, 1:] = rbf(X, X, gamma) + np.eye(n) / C
    found = np.linalg.solve(system, np.concatenate([[0.0], y]))
    return LSSVM(X, found[1:], float(found[0]), gamma)


def plane(rows: int = 512, seed: int = 0) -> Split:
    """Points in [-1, 1]^2 whose classes a bent line and an island part; as many more to test with."""
    X = np.random.default_rng(seed).uniform(-1, 1, (2 * rows, 2))
    bent = X[:, 1] > 0.5 * np.sin(4 * X[:, 0])
    island = np.hypot(X[:, 0] - 0.5, X[:, 1] + 0.3) < 0.25
    y = np.where(bent | island, 1, -1)
    return Split(X[:rows], y[:rows], X[rows:], y[rows:])
