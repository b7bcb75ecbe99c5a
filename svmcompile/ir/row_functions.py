"""Functions from row to row that preprocessing is made of, in plain numpy: rows go in, rows come out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[Any]
Index = NDArray[Any]


def norms(x: Rows, norm: str) -> NDArray[np.float64]:
    """The norm of each row, in double."""
    sizes = np.abs(x.astype(np.float64))
    if norm == "l2":
        return np.asarray(np.sqrt(np.square(sizes).sum(axis=1)))
    return np.asarray(sizes.sum(axis=1) if norm == "l1" else sizes.max(axis=1))


def normalized(x: Rows, norm: str, least: float) -> Rows:
    """Each row divided by its norm, if that is not below `least`; NaN if the row is not finite."""
    size = norms(x, norm)
    size = np.where(size < least, 1.0, size)
    size = np.where(np.isfinite(x).all(axis=1), size, np.nan)
    return np.asarray((x / size[:, None]).astype(x.dtype))


def monomials(x: Rows, factors: Index) -> Rows:
    """out[k] = the product over l of x[factors[k, l]], where x[d], behind the last, is the number one."""
    wide = np.hstack([x, np.ones((len(x), 1), x.dtype)])
    out = wide[:, factors[:, 0]]
    for column in factors.T[1:]:
        out = out * wide[:, column]
    return np.asarray(out)


def cosines(turns: Rows, factor: float) -> Rows:
    """factor * cos(2 pi x), feature by feature."""
    return np.asarray((factor * np.cos(2 * np.pi * turns.astype(np.float64))).astype(turns.dtype))


def missing(x: Rows, nan: bool, marker: float) -> NDArray[np.bool_]:
    """Where a feature is missing: NaN, or the number that stands for it."""
    return np.isnan(x) if nan else np.asarray(x == marker)


def filled(x: Rows, values: Rows, nan: bool, marker: float) -> Rows:
    """Each missing feature replaced by its value."""
    return np.where(missing(x, nan, marker), values.astype(x.dtype), x)
