"""Few directions for the higher orders of a Taylor polynomial: forms go in, axes come out.

With y the coordinates of h along r orthonormal axes and z the length of the rest, the quadratic form is
Q(y) + cross terms + R(rest): cross terms are at most 2 |T_yz| |y| z, and R lies in [lo, hi] z^2, of which
the middle is added to the value. The cubic form is C(y) plus at most
3 |T_yyz| |y|^2 z + 3 |T_yzz| |y| z^2 + |T_zzz| z^3, each norm the least of the ways to cut the form in two.

Odd powers are bounded by even ones, so that no root is taken: a b <= (t a^2 + b^2 / t) / 2 for every
t > 0, and equal where t = b / a. t is that of usual rows, but never far from 1 by chance: what rounding
leaves of a norm that is zero must stay small.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.taylor.halves import Half, root, roundings
from svmcompile.ir.kernel import Array

LEAST = 1e-3  # of usual lengths


@dataclass(frozen=True, slots=True)
class Axes:
    """Orthonormal rows, the quadratic form in them, and what they leave of the two forms."""

    axes: Array  # [r, d]
    form: Array  # [r, r]
    middle: float
    loose: Array  # [2, 4], of order 2 and of both: bounds are loose . (|y|^2, z^2, |y|^2 z^2, z^4)


def quadratic_axes(form: Array, rank: int) -> Axes:
    """The directions whose loss leaves the narrowest window: eigenvectors from both ends."""
    values, vectors = np.linalg.eigh(form)
    inner = len(values) - rank
    first = int(np.argmin(values[inner - 1 :] - values[: rank + 1]))
    kept = np.r_[0:first, first + inner : len(values)]
    low, high = float(values[first]), float(values[first + inner - 1])
    half = 0.5 * (high - low) + roundings(len(values)) * float(np.abs(values).max())
    loose = np.array([0.0, half, 0.0, 0.0])
    return Axes(vectors[:, kept].T, np.diag(values[kept]), 0.5 * (low + high), np.stack([loose, loose]))


def cubic_axes(form: Array, points: Array, weights: Array, rank: int, rows: Array) -> Axes:
    """Directions for both forms, good for rows h; the cubic one is sum_i weights_i (h . points_i)^3."""
    distance = _usual(rows, points)
    pulled = points * weights[:, None]
    # The cubic form with itself, but for one factor.
    crossed = pulled.T @ np.square(points @ points.T) @ pulled
    _, vectors = np.linalg.eigh(form @ form + distance**2 * crossed)
    axes, rest = vectors[:, -rank:].T, vectors[:, :-rank].T
    inner = np.linalg.eigvalsh(rest @ form @ rest.T)
    low, high = float(inner[0]), float(inner[-1])
    slack = roundings(2 * len(form)) * float(np.linalg.norm(form))
    cross = 2 * float(np.linalg.norm(axes @ form @ rest.T, 2)) + slack
    once, twice, thrice = _cubic_norms(points @ axes.T, points @ rest.T, weights)
    y, z = (
        max(float(np.median(np.linalg.norm(rows @ part.T, axis=1))), LEAST * distance)
        for part in (axes, rest)
    )
    quadratic = np.array([cross * z / (2 * y), 0.5 * (high - low) + slack + cross * y / (2 * z), 0.0, 0.0])
    cubic = np.array([once * z, twice * y + thrice * z, once / z + twice / y, thrice / z]) / 2
    loose = np.stack([quadratic, quadratic + cubic])
    return Axes(axes, axes @ form @ axes.T, 0.5 * (low + high), loose)


def _usual(rows: Array, points: Array) -> float:
    """A usual length, never zero; where all rows are the same, a share of the distance to the vectors."""
    least = LEAST * float(np.linalg.norm(points, axis=1).max())
    return max(float(np.median(np.linalg.norm(rows, axis=1))), least, 1e-12)


def _cubic_norms(along: Array, beside: Array, weights: Array) -> Array:
    """Bounds on what the cubic form holds of the directions beside the axes: once, twice, three times."""
    y, z = along @ along.T, beside @ beside.T
    scale, signs = np.sqrt(np.abs(weights)), np.sign(weights)[:, None]
    scales, d = np.outer(scale, scale), along.shape[1] + beside.shape[1]
    halves = {
        name: root(scales * gram, 2 * d) for name, gram in {"yy": y * y, "yz": y * z, "zz": z * z}.items()
    }
    halves |= {name: Half.of(scale[:, None] * part) for name, part in {"y": along, "z": beside}.items()}

    def norm(one: str, other: str) -> float:
        left, right = halves[one], halves[other]
        matrix = left.matrix.T @ (signs * right.matrix)
        return left.unseen(right) + (float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0)

    once = 3 * min(norm("yy", "z"), norm("y", "yz"))
    twice = 3 * min(norm("y", "zz"), norm("z", "yz"))
    return np.array([once, twice, norm("z", "zz")])
