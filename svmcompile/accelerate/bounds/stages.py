"""Stages: where a bounded sum looks at its error, and the tables for that.

A basis and a form (block, number of points, number of coordinates) enter; the tables of a
`BoundedSum` leave. `Readings` gives scores and errors after every point for many rows at once,
which is what the choice of a form and the tests look at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.basis import Basis
from svmcompile.accelerate.bounds.margins import (
    TEST_ROUNDING,
    KernelError,
    coordinate_error,
)
from svmcompile.accelerate.bounds.sums import Sum
from svmcompile.ir.kernel import Array
from svmcompile.ir.stages import self_kernel, size_of


@dataclass(frozen=True, slots=True)
class Form:
    """After every `block` values up to `k_max` the error is looked at, from `r_coords` coordinates."""

    block: int
    k_max: int
    r_coords: int

    @property
    def ends(self) -> NDArray[np.int32]:
        """How many values are known at each stage."""
        if not self.k_max:
            return np.zeros(0, dtype=np.int32)
        ends = range(self.block, self.k_max, self.block)
        return np.array([*ends, self.k_max], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Stages:
    """The tables."""

    ends: NDArray[np.int32]
    coordinates: Array  # lower triangle row by row
    projection: Array
    estimates: Array  # one stage after the other, of those with fewer coordinates than values
    residuals: Array
    slacks: Array
    margins: Array


@dataclass(frozen=True, eq=False)
class Errors:
    """What a basis' scores and residuals lose, by the number of values or coordinates (index 0: none)."""

    score: Array
    estimate: Array
    square: Array

    @classmethod
    def of(cls, basis: Basis, bias: float, error: KernelError) -> Errors:
        own = coordinate_error(basis.coordinates, basis.projection, bias, error)
        return cls(own.score + basis.drift, own.estimate + basis.drift, own.square + basis.skew)

    def margins(self, count: NDArray[Any], known: int) -> Array:
        """Of the score from `count` values, of which `known` have coordinates."""
        return np.asarray(np.where(count <= known, self.score[count], self.estimate[count]))


def stages(basis: Basis, errors: Errors, form: Form) -> Stages:
    """The tables of a form over the basis, which has at least `k_max` points."""
    ends, known = form.ends, min(form.r_coords, form.k_max)
    estimates = [basis.estimate(int(end)) for end in ends if end > known]
    return Stages(
        ends,
        packed(basis.coordinates[:known, :known]),
        basis.projection[:known],
        np.concatenate([*estimates, np.zeros(0 if estimates else 1)]),
        TEST_ROUNDING * basis.residuals[ends],
        TEST_ROUNDING * errors.square[np.minimum(ends, known)],
        TEST_ROUNDING * errors.margins(ends, known),
    )


def packed(lower: Array) -> Array:
    """A lower triangle row by row."""
    return np.asarray(lower[np.tril_indices(len(lower))])


@dataclass(frozen=True, eq=False)
class Readings:
    """Scores and what their errors are made of, for rows x 0..K values."""

    basis: Basis
    errors: Errors
    scores: Array  # [rows, K + 1]
    left: Array  # [rows, K + 1]: R^2
    sizes: Array  # [rows, 1]

    @classmethod
    def of(cls, own: Sum, basis: Basis, errors: Errors, points: Array, reach: float) -> Readings:
        q = own.kernel.values(points, basis.points) @ basis.coordinates.T
        start = np.zeros((len(points), 1))
        scores = np.cumsum(np.hstack([start + own.bias, q * basis.projection]), axis=1)
        left = self_kernel(own.kernel, points)[:, None] - np.cumsum(
            np.hstack([start, np.square(q)]), axis=1
        )
        size = size_of(own.kernel, points, reach)[:, None]
        return cls(basis, errors, scores, np.maximum(left, 0.0), size)

    def gaps(self, known: int) -> Array:
        """|f - score| is at most this, [rows, K + 1], with so many coordinates."""
        count = np.arange(len(self.basis) + 1)
        used = np.minimum(count, known)
        square = self.left[:, used] + self.errors.square[used] * np.square(self.sizes)
        margin = self.errors.margins(count, known) * self.sizes
        return np.asarray(TEST_ROUNDING * (self.basis.residuals * np.sqrt(square) + margin))

    def plain_gaps(self) -> Array:
        """The same in real numbers: no margins."""
        return np.asarray(self.basis.residuals * np.sqrt(self.left))

    def decided(self, gaps: Array, tolerance: float) -> NDArray[np.bool_]:
        """Which of [rows, K + 1] decide: the sign is clear or (tolerance >= 0) the value known."""
        return np.asarray(np.abs(self.scores) > gaps if tolerance < 0 else gaps <= tolerance)
