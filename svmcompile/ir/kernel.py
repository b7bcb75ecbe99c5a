"""Kernel functions: what k(x, s) means, in float64 numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
KernelKind = Literal["linear", "poly", "rbf", "sigmoid", "precomputed"]
SPARSE_ZEROS = 0.7  # share of zeros from which vectors are worth treating as sparse
KERNEL_KINDS: tuple[str, ...] = get_args(KernelKind)


@dataclass(frozen=True, slots=True)
class Kernel:
    """One of the kernels LIBSVM and scikit-learn share.

    linear   x.s
    poly     (gamma x.s + coef0) ^ degree
    rbf      exp(-gamma |x - s|^2)
    sigmoid  tanh(gamma x.s + coef0)

    With "precomputed" the row itself holds kernel values, one for each training
    point, and a vector is the number of its point: k(x, s) = x[s].
    """

    kind: KernelKind
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 1

    def values(self, rows: Array, vectors: Array) -> Array:
        """Kernel of every row with every vector, shape [rows, vectors]."""
        if self.kind == "precomputed":
            return rows[:, vectors[:, 0].astype(np.intp)]
        if self.kind == "rbf":
            return np.exp(-self.gamma * squared_distances(rows, vectors))
        dots: Array = rows @ vectors.T
        if self.kind == "linear":
            return dots
        dots = self.gamma * dots + self.coef0
        return power(dots, self.degree) if self.kind == "poly" else np.tanh(dots)

    def text(self) -> str:
        """Stable form for listings: `rbf(gamma=0.25)`."""
        fields = {
            "linear": (),
            "poly": ("gamma", "coef0", "degree"),
            "rbf": ("gamma",),
            "sigmoid": ("gamma", "coef0"),
            "precomputed": (),
        }[self.kind]
        return f"{self.kind}({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


def squared_distances(rows: Array, vectors: Array) -> Array:
    """|x - s|^2 by direct differences, which do not cancel."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(rows, vectors, "sqeuclidean"), dtype=np.float64)


def power(base: Array, exponent: int) -> Array:
    """Whole powers by repeated squaring, in the order LIBSVM multiplies."""
    result = np.ones_like(base)
    factor = base.copy()
    while exponent > 0:
        if exponent % 2:
            result = result * factor
        exponent //= 2
        if exponent:
            factor = factor * factor
    return result
