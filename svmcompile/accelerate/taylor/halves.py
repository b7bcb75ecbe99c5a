"""Halves of forms: products of a row with vectors as coordinates, and what is not seen in those.

A form sum_i sign_i v_i w_i of two vectors of products, such as v_i = scale_i (h . s_i)^k for |h| = 1, is
bounded through their Gram matrices: v v' <= G, where G_ij = scale_i scale_j (s_i . s_j)^k. With G at most
M M' + lost^2, v = M q + lost r for some |q|^2 + |r|^2 <= 1. The scales are the square roots of the
absolute weights, so that far vectors, which weigh nothing, do not drown near ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmcompile.ir.kernel import Array

U64 = 2.0**-53  # unit roundoff of float64
KEPT = 1e-14  # of the largest eigenvalue; smaller ones are lost


def roundings(count: int) -> float:
    """A bound on the rounding, in float64, of sums of `count` terms and of eigenvalues of such matrices.

    Relative to the sum of absolute values. 16 for each term is what is asked of the eigenvalue routines;
    measured, they need less than one.
    """
    return 16 * (count + 32) * U64


@dataclass(frozen=True, slots=True)
class Half:
    """A matrix M [m, features], a bound on what it misses, and one on the length of all v."""

    matrix: Array
    lost: float
    size: float

    @classmethod
    def of(cls, features: Array) -> Half:
        """Nothing is missed by the features themselves."""
        return cls(features, 0.0, float(np.linalg.norm(features)))

    def unseen(self, other: Half) -> float:
        """What the form may have beside that of the two matrices, and the rounding of the latter."""
        missed = self.lost * other.size + other.lost * (self.size + self.lost)
        count = len(self.matrix) + self.matrix.shape[1] + other.matrix.shape[1]
        return missed + roundings(count) * self.size * other.size


def root(gram: Array, terms: int) -> Half:
    """A square root of a Gram matrix whose entries were products of sums of so many terms."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > KEPT * max(values[-1], 0.0)
    size = float(np.trace(gram))
    lost = max(float(values[~kept].max(initial=0.0)), 0.0) + roundings(len(gram) + terms) * size
    return Half(np.asarray(vectors[:, kept] * np.sqrt(values[kept])), math.sqrt(lost), math.sqrt(size))
