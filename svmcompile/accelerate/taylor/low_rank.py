"""Few directions for the higher orders of a Taylor polynomial: forms go in, axes come out.

With y the coordinates of h along r orthonormal axes and z the length of the rest, the quadratic form is
Q(y) + cross terms + R(rest): cross terms are at most 2 |T_yz| |y| z, and R lies in [lo, hi] z^2, of which
the middle is added to the value. The cubic form is C(y) plus at most
3 |T_yyz| |y|^2 z + 3 |T_yzz| |y| z^2 + |T_zzz| z^3, each norm the least of the ways to cut the form in two.

Odd powers are bounded by even ones, so that no root is taken: a b <= (t a^2 + b^2 / t) / 2 for every
t > 0, and equal where t = b / a. t is that of usual rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.taylor.spectra import root
from svmcompile.kernel import Array


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
    half = 0.5 * (high - low) + 1e-12 * float(np.abs(values).max())
    loose = np.array([0.0, half, 0.0, 0.0])
    return Axes(vectors[:, kept].T, np.diag(values[kept]), 0.5 * (low + high), np.stack([loose, loose]))


def cubic_axes(form: Array, points: Array, weights: Array, rank: int, rows: Array) -> Axes:
    """Directions for both forms, good for rows h; the cubic one is sum_i weights_i (h . points_i)^3."""
    distance = _usual(rows)
    pulled = points * weights[:, None]
    crossed = (
        pulled.T @ np.square(points @ points.T) @ pulled
    )  # the cubic form with itself, but for one factor
    _, vectors = np.linalg.eigh(form @ form + distance**2 * crossed)
    axes, rest = vectors[:, -rank:].T, vectors[:, :-rank].T
    inner = np.linalg.eigvalsh(rest @ form @ rest.T)
    low, high = float(inner[0]), float(inner[-1])
    slack = 1e-12 * float(np.abs(weights) @ np.square(points).sum(axis=1) + np.abs(form).max())
    cross = 2 * float(np.linalg.norm(axes @ form @ rest.T, 2)) + slack
    once, twice, thrice = _cubic_norms(points @ axes.T, points @ rest.T, weights)
    y, z = (
        float(np.median(np.linalg.norm(rows @ part.T, axis=1))) + 1e-9 * distance for part in (axes, rest)
    )
    quadratic = np.array([cross * z / (2 * y), 0.5 * (high - low) + slack + cross * y / (2 * z), 0.0, 0.0])
    cubic = np.array([once * z, twice * y + thrice * z, once / z + twice / y, thrice / z]) / 2
    loose = np.stack([quadratic, quadratic + cubic])
    return Axes(axes, axes @ form @ axes.T, 0.5 * (low + high), loose)


def _usual(rows: Array) -> float:
    """A usual length, never zero."""
    return max(float(np.median(np.linalg.norm(rows, axis=1))), 1e-30)


def _cubic_norms(along: Array, beside: Array, weights: Array) -> Array:
    """Bounds on what the cubic form holds of the directions beside the axes: once, twice, three times."""
    y, z = along @ along.T, beside @ beside.T
    roots = {
        name: root(gram) for name, gram in {"y": y, "z": z, "yy": y * y, "yz": y * z, "zz": z * z}.items()
    }

    def norm(one: str, other: str) -> float:
        matrix = roots[one].T @ (weights[:, None] * roots[other])
        return float(np.linalg.norm(matrix, 2)) if matrix.size else 0.0

    sizes = np.linalg.norm(along, axis=1), np.linalg.norm(beside, axis=1)
    slack = 1e-12 * float(np.abs(weights) @ (sizes[0] + sizes[1]) ** 3)
    once = 3 * min(norm("yy", "z"), norm("y", "yz"))
    twice = 3 * min(norm("y", "zz"), norm("z", "yz"))
    return np.array([once, twice, norm("z", "zz")]) + slack
