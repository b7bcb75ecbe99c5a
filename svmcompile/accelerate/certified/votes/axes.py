"""Directions that the pairs of a centre share: quadratic forms go in, axes and what they leave come out.

With y the coordinates of h along r orthonormal axes and z the length of the rest, a form is
Q(y) + cross terms + R(rest). Cross terms are at most 2 |T_yz| |y| z <= |T_yz| (t |y|^2 + z^2 / t) for
every t > 0, t that of usual rows; R lies in [low, high] z^2, of which the middle is added to the value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.taylor.halves import roundings
from svmcompile.ir.kernel import Array

LEAST = 1e-9  # of a usual length: none is taken for zero


@dataclass(frozen=True, slots=True)
class SharedAxes:
    """Orthonormal rows; of each form its part along them, its middle and what is loose."""

    axes: Array  # [r, d]
    forms: Array  # [q, r, r]
    middles: Array  # [q]
    loose: Array  # [2, q], of |y|^2 and z^2


def directions(forms: list[Array], weights: Array) -> Array:
    """Orthonormal columns, the most telling last; forms count by their weights, whatever their size."""
    total = np.zeros_like(forms[0])
    for form, weight in zip(forms, weights, strict=True):
        size = float(np.square(form).sum())
        if size > 0:
            total += weight / size * (form @ form)
    return np.asarray(np.linalg.eigh(total)[1])


def shared_axes(forms: list[Array], basis: Array, rank: int, rows: Array) -> SharedAxes:
    """The last `rank` columns of the basis as axes for rows h."""
    axes, rest = basis[:, -rank:].T, basis[:, :-rank].T
    along, beside = (float(np.median(np.linalg.norm(rows @ part.T, axis=1))) for part in (axes, rest))
    usual = LEAST * (along + beside) + 1e-30
    ratio = (beside + usual) / (along + usual)
    inner, middles, loose = [], [], []
    for form in forms:
        slack = roundings(2 * len(form)) * float(np.linalg.norm(form))
        ends = np.linalg.eigvalsh(rest @ form @ rest.T)
        cross = float(np.linalg.norm(axes @ form @ rest.T, 2)) + slack
        inner.append(axes @ form @ axes.T)
        middles.append(0.5 * float(ends[0] + ends[-1]))
        loose.append((cross * ratio, 0.5 * float(ends[-1] - ends[0]) + slack + cross / ratio))
    return SharedAxes(axes, np.array(inner), np.array(middles), np.array(loose).T)
