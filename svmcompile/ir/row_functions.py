"""Functions of rows that several nodes are made of, in plain numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kinds import Floats

LEAST, MOST = 0.001, 0.999  # of an inlier, below and above all marks
CHUNK_VALUES = 1 << 20  # intermediate values per chunk of rows, which bounds memory


def chunks(count: int, values_per_row: int, most: int | None = None) -> list[slice]:
    """So many rows in parts that bound memory; no rows are one part, which still has a shape."""
    step = max(1, (most or CHUNK_VALUES) // max(1, values_per_row))
    return [slice(first, first + step) for first in range(0, count, step) or range(1)]


def poisoned(x: Floats, out: Floats) -> Floats:
    """`out`, with NaN in every row where `x` is not finite."""
    out[~np.isfinite(x).all(axis=1)] = np.nan
    return out


def row_dots(left: Floats, right: NDArray[Any]) -> Floats:
    """Dot products row by row, in the number type of the left."""
    return np.asarray(np.einsum("ij,ij->i", left, right.astype(left.dtype)))


def sigmoid(z: Floats, floor: float) -> Floats:
    """1 / (1 + exp(z)) held within floor and 1 - floor, without an exponential above one."""
    e = np.exp(-np.abs(z))
    p = np.where(z >= 0, e, z.dtype.type(1)) / (1 + e)
    return np.asarray(np.clip(p, z.dtype.type(floor), z.dtype.type(1 - floor)))


def along_lines(x: Floats, knots: Floats, levels: Floats) -> Floats:
    """Linear interpolation between knots, as scipy computes it; two knots in one place are a step."""
    x = np.clip(x, knots[0], knots[-1])
    high = np.clip(np.searchsorted(knots, x), 1, len(knots) - 1)
    width = knots[high] - knots[high - 1]
    slope = np.where(width > 0, (levels[high] - levels[high - 1]) / width, 0)
    return np.asarray(slope * (x - knots[high - 1]) + levels[high - 1])
