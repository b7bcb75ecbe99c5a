"""Claesen, De Smet, Suykens and De Moor, "Fast prediction with SVM models containing RBF kernels" (2014).

exp(-g |x - s|^2) = exp(-g |x|^2) exp(-g |s|^2) exp(2 g s x), and the last factor is about 1 + u + u^2 / 2
with u = 2 g s x; the sum over all support vectors is then one quadratic form per pair of classes. It is
good to 3 % of each term where |u| <= 1/2, which holds for all rows if g <= 1 / (4 max|s| max|x|).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from beyond_peers import Files, around, shape
from common import Rows
from numpy.typing import NDArray


class Quadratic:
    """The quadratic forms of an SVC with an rbf kernel."""

    def __init__(self, svm: Any) -> None:
        vectors: Rows = np.asarray(svm.support_vectors_)
        self.svm, self.gamma, self.features = svm, float(svm.gamma), int(svm.n_features_in_)
        weights, self.biases = pair_weights(svm)
        weights = weights * np.exp(-self.gamma * np.square(vectors).sum(axis=1))
        self.offsets = weights.sum(axis=1)
        self.linears = 2 * self.gamma * weights @ vectors
        self.squares = (
            2 * self.gamma**2 * np.stack([(one[:, None] * vectors).T @ vectors for one in weights])
        )

    @property
    def bytes(self) -> int:
        """Of one triangle, and the rest, in float32."""
        each = self.features * (self.features + 1) // 2 + self.features + 2
        return 4 * len(self.biases) * each

    @property
    def flops(self) -> int:
        """Per row."""
        return len(self.biases) * self.features * (self.features + 3) + 2 * self.features

    def limit(self, rows: Rows) -> float:
        """The largest gamma for which the error is bounded on these rows."""
        reach = [
            float(np.sqrt(np.square(some).sum(axis=1).max())) for some in (self.svm.support_vectors_, rows)
        ]
        return 1 / (4 * reach[0] * reach[1])

    def predict(self, rows: Rows) -> NDArray[Any]:
        scale = np.exp(-self.gamma * np.square(rows).sum(axis=1))
        votes = np.zeros((len(rows), len(self.svm.classes_)))
        pairs = combinations(range(votes.shape[1]), 2)
        for (a, b), offset, linear, square, bias in zip(
            pairs, self.offsets, self.linears, self.squares, self.biases, strict=True
        ):
            value = scale * (offset + rows @ linear + ((rows @ square) * rows).sum(axis=1)) + bias
            votes[np.arange(len(rows)), np.where(value > 0, a, b)] += 1
        return np.asarray(self.svm.classes_[votes.argmax(axis=1)])

    def files(self, here: Path) -> Files:
        """C, for rows_driver.c."""
        below = np.tril_indices(self.features)
        squares = [(np.tril(one) + np.tril(one.T, -1))[below] for one in self.squares]
        tables = {
            "offsets": self.offsets,
            "linears": self.linears,
            "squares": np.stack(squares),
            "biases": self.biases,
        }
        lines = [
            f"static const float {name}[] = {{{_numbers(table.ravel())}}};"
            for name, table in tables.items()
        ]
        head = shape(self.svm) + f"#define GAMMA {_numbers([self.gamma])}\n"
        return around("quadratic", here, head + "\n".join(lines) + "\n")


def _numbers(values: Iterable[float]) -> str:
    return ",\n".join(f"{value:.8e}f" for value in values)


def pair_weights(svm: Any) -> tuple[Rows, Rows]:
    """Weights of all vectors and a bias for every pair of classes; above 0 the first of the pair wins."""
    if len(svm.classes_) == 2:
        return -np.asarray(svm.dual_coef_), -np.asarray(svm.intercept_)
    ends = np.cumsum(svm.n_support_)
    own = [slice(end - count, end) for end, count in zip(ends, svm.n_support_, strict=True)]
    pairs = list(combinations(range(len(own)), 2))
    weights = np.zeros((len(pairs), ends[-1]))
    for row, (a, b) in zip(weights, pairs, strict=True):
        row[own[a]], row[own[b]] = svm.dual_coef_[b - 1, own[a]], svm.dual_coef_[a, own[b]]
    return weights, np.asarray(svm.intercept_)
