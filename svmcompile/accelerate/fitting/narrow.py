"""Narrow tables: rows of weights as float16, or as int8 with one unit per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import OptionError
from svmcompile.ir.kernel import Array

BYTES = {"f32": 4, "f16": 2, "i8": 1}
HALF_LOSS = 0.01  # share of a row's largest weight that float16 may lose


@dataclass(frozen=True, slots=True, eq=False)
class Narrow:
    """The stored rows; row k stands for units[k] * stored[k], which misses the true row by `missed`."""

    stored: NDArray[Any]
    units: Array
    missed: Array


def narrow(rows: Array, dtype: str, what: str) -> Narrow:
    """Rows of a table in the number type of the option `dtype`."""
    ones = np.ones(len(rows))
    if dtype == "f32":
        return Narrow(rows, ones, np.zeros_like(rows))
    if dtype == "f16":
        with np.errstate(over="ignore"):
            halves = rows.astype(np.float16)
        missed = rows - halves.astype(np.float64)
        largest = np.abs(rows).max(axis=1, initial=0.0)
        if not (np.abs(missed).max(axis=1, initial=0.0) <= HALF_LOSS * largest).all():
            raise OptionError(
                f"metric-tree: {what} (up to {np.abs(rows).max():.2g} in size) do not fit float16; "
                "use dtype=i8, or scale the features before training"
            )
        return Narrow(halves, ones, missed)
    units = np.abs(rows).max(axis=1, initial=0.0) / 127
    units = np.where(units > 0, units, 1.0)
    stored = np.rint(rows / units[:, None]).astype(np.int8)
    return Narrow(stored, units, rows - stored * units[:, None])
