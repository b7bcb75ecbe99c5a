"""Stages of bounded sums: how score and error of a sum develop as kernel values come in.

Rows and the tables of a node go in; every stage of every row comes out, so
that the interpreter can pick, the cost can count and a person can plot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array, in_segments
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import At


def longest_chain(kernel: Kernel, d: int) -> int:
    """How many additions the square of a difference goes through."""
    return in_segments(d) if kernel.kind == "rbf" else d


@dataclass(frozen=True, slots=True)
class Stages:
    """Scores and errors of rows, stage by stage; the last stage has met all vectors."""

    scores: Array  # [rows, stages + 1]
    errors: Array  # [rows, stages + 1]
    ends: NDArray[np.int64]  # [stages + 1], kernel values met

    def first_sure(self, tolerance: float) -> NDArray[np.intp]:
        """The first stage that is sure of its sign or, with a tolerance, of its value; -1 for none."""
        sure = self.errors <= tolerance if tolerance >= 0 else np.abs(self.scores) > self.errors
        return np.where(sure.any(axis=1), sure.argmax(axis=1), -1)


def self_kernel(kernel: Kernel, x: Array, reach: float = 0.0) -> Array:
    """kernel(x, x) of every row; of a precomputed kernel `reach`, or infinite where that is 0."""
    if kernel.kind == "rbf":
        return np.ones(len(x))
    if kernel.kind == "precomputed":
        return kernel.diagonal(x, reach)
    base = kernel.gamma * np.square(x).sum(axis=1) + kernel.coef0
    return np.asarray(base**kernel.degree)


def size_of(kernel: Kernel, x: Array, reach: float) -> Array:
    """A bound on the kernel values a row can meet, and on its own; at least one."""
    if kernel.kind == "rbf":
        return np.ones(len(x))
    if kernel.kind == "precomputed":
        return np.maximum(kernel.gamma, kernel.diagonal(x, reach))
    norm = np.sqrt(np.square(x).sum(axis=1))
    base = kernel.gamma * norm * np.maximum(norm, reach) + abs(kernel.coef0)
    return np.asarray(np.maximum(1.0, base**kernel.degree))


def lower_triangle(packed: NDArray[Any], size: int) -> Array:
    """The matrix of a lower triangle that is held row by row."""
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = packed[: size * (size + 1) // 2]
    return matrix


def stages(at: At, rows: NDArray[Any]) -> Stages:
    """All stages of a bounded sum."""
    x = rows.astype(np.float64)
    values, finite = met_values(at, x)
    ends, coordinates = at.ends.astype(np.int64), len(at.projection)
    q = values[:, :coordinates] @ lower_triangle(at.coordinates, coordinates).T
    squares = np.column_stack([np.zeros(len(x)), np.cumsum(np.square(q), axis=1)])
    rest = self_kernel(at.kernel, x, at.reach)[:, None] - squares[:, np.minimum(ends, coordinates)]
    size = size_of(at.kernel, x, at.reach)[:, None]
    scores = np.stack([_score(at, values, q, s) for s in range(len(ends))], axis=1)
    errors = _errors(at, rest, size, at.residuals, at.slacks, at.margins)
    weights, rounding = at.weights, at.rounding
    last = values @ weights
    spread = np.abs(values) @ np.abs(weights)
    every = np.append(ends, len(weights))
    return _finite(
        first_false(finite)[:, None] < every,
        np.column_stack([scores, last]) + at.bias,
        np.column_stack([errors, rounding[0] * spread + rounding[1] * _direct_size(at, size[:, 0])]),
        every,
    )


def met_values(at: At, x: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Kernel values of rows, and which of them are finite.

    A row that is not finite has no such value. Of a precomputed kernel only values that are met count.
    """
    values = at.kernel.values(x, at.vectors.astype(np.float64))
    if at.kernel.kind != "precomputed":
        return values, np.broadcast_to(np.isfinite(x).all(axis=1, keepdims=True), values.shape)
    finite = np.isfinite(values)
    return np.where(finite, values, 0.0), finite


def _direct_size(at: At, size: Array) -> Array:
    """What the error of a direct sum grows with; values that are given come with no error of their own."""
    return np.ones(len(size)) if at.kernel.kind == "precomputed" else size


def first_false(flags: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Where each row is false for the first time; its length where it never is."""
    return np.where(flags.all(axis=1), flags.shape[1], flags.argmin(axis=1))


def _score(at: At, values: Array, q: Array, stage: int) -> Array:
    """The estimate of one stage, without bias."""
    ends, projection = at.ends.astype(np.int64), at.projection
    end = int(ends[stage])
    if end <= len(projection):
        return np.asarray(q[:, :end] @ projection[:end])
    return np.asarray(values[:, :end] @ estimate_of(at, stage))


def estimate_of(at: At, stage: int) -> Array:
    """Weights of kernel values that give the score of a stage."""
    ends, projection = at.ends.astype(np.int64), at.projection
    end, rank = int(ends[stage]), len(projection)
    if end <= rank:
        return np.asarray(projection[:end] @ lower_triangle(at.coordinates, end))
    first = int(ends[:stage][ends[:stage] > rank].sum())
    return np.asarray(at.estimates[first : first + end])


def _errors(at: At, rest: Array, size: Array, residuals: Array, slacks: Array, margins: Array) -> Array:
    slack = slacks * size**2
    errors = np.asarray(residuals * np.sqrt(np.maximum(rest, 0) + slack) + margins * size)
    if at.kernel.kind != "precomputed":
        return errors
    return np.where(rest + slack < 0, np.inf, errors)  # the kernel is not what it was taken for


def _finite(odd: NDArray[np.bool_], scores: Array, errors: Array, ends: NDArray[np.int64]) -> Stages:
    """Stages [rows, stages + 1] that are odd are never sure: their score is NaN, their error infinite."""
    scores[odd], errors[odd] = np.nan, np.inf
    return Stages(scores, errors, ends)


def pair_stages(at: At, pair: int, classes: tuple[int, int], known: PairTables) -> Stages:
    """All stages of one pair of a vote."""
    picks, place = known.basis(pair)
    values = known.values[:, picks]
    count = len(picks)
    ends = np.minimum(np.arange(at.block, count + at.block, at.block), count)
    triangle = lower_triangle(known.triangle(pair), count)
    q = values @ triangle.T
    left = known.own[:, None] - np.cumsum(np.square(q), axis=1)
    scores = np.cumsum(q * at.projections[place], axis=1)[:, ends - 1]
    stage = known.stages_of(pair)
    parts = (table[stage] for table in (at.residuals, at.slacks, at.margins))
    errors = _errors(at, left[:, ends - 1], known.size[:, None], *parts)
    members, weights = known.members(classes)
    met = known.values[:, members]
    odd = np.column_stack([known.spoiled(picks)[:, None] < ends, known.spoiled(members) < len(members)])
    rounding = at.rounding[pair]
    last = rounding[0] * (np.abs(met) @ np.abs(weights)) + rounding[1] * _direct_size(at, known.size)
    return _finite(
        odd,
        np.column_stack([scores, met @ weights]) + at.bias[pair],
        np.column_stack([errors, last]),
        np.append(ends, len(members)),
    )


class PairTables:
    """The tables of a vote, cut up by pairs, and what all pairs of a row share."""

    def __init__(self, at: At, rows: NDArray[Any]) -> None:
        self.at = at
        x = rows.astype(np.float64)
        self.values, self.finite = met_values(at, x)
        self.own = self_kernel(at.kernel, x, at.reach)
        self.size = size_of(at.kernel, x, at.reach)
        counts = np.asarray(np.diff(at.starts.astype(np.int64)), dtype=np.int64)
        self._triangles = np.concatenate([[0], np.cumsum(counts * (counts + 1) // 2)])
        self._stages = np.concatenate([[0], np.cumsum(-(-counts // at.block))])
        self._classes = np.concatenate([[0], np.cumsum(at.counts)])

    def basis(self, pair: int) -> tuple[NDArray[Any], slice]:
        """The vectors of a pair's basis, and where they stand."""
        start, stop = self.at.starts[pair : pair + 2].astype(np.int64)
        return self.at.picks[start:stop], slice(start, stop)

    def spoiled(self, vectors: NDArray[Any]) -> NDArray[np.intp]:
        """From which of these vectors on a row is not sure of anything."""
        return first_false(self.finite[:, vectors])

    def triangle(self, pair: int) -> NDArray[Any]:
        return self.at.coordinates[self._triangles[pair] : self._triangles[pair + 1]]

    def stages_of(self, pair: int) -> slice:
        return slice(self._stages[pair], self._stages[pair + 1])

    def members(self, classes: tuple[int, int]) -> tuple[NDArray[np.intp], Array]:
        """The vectors of two classes and their weights in the pair."""
        i, j = classes
        weights = self.at.weights
        of_i, of_j = (np.arange(self._classes[c], self._classes[c + 1]) for c in classes)
        return np.concatenate([of_i, of_j]), np.concatenate([weights[j - 1, of_i], weights[i, of_j]])


CHECK_FLOPS = 6  # a stage's test: residual norm, root, error, comparison


class Spent(NamedTuple):
    """What rows met: kernel values, flops beside those of the values, and who needs the exact sum."""

    values: Array  # [rows]
    flops: Array  # [rows]
    unsure: NDArray[np.bool_]  # [rows]
