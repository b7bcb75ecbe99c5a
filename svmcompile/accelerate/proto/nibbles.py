"""Projections whose weights take four bits: whole numbers from -8 to 7 times one unit."""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.proto.network import Floats
from svmcompile.ir.whole_numbers import NIBBLE_HIGH, NIBBLE_LOW

UNITS = np.linspace(1 / 16, 1 / 7, 25)  # that are tried, as shares of the largest weight


def cut(projection: Floats, unit: float) -> Floats:
    """Weights that do not leave what rounds to the ends."""
    ends = (NIBBLE_LOW - 0.5) * unit, (NIBBLE_HIGH + 0.5) * unit
    return np.asarray(np.clip(projection, *ends), dtype=projection.dtype)


def rounded(projection: Floats, unit: float) -> Floats:
    """The nearest projection of that unit; larger weights are cut off."""
    levels = np.clip(np.round(projection / unit), NIBBLE_LOW, NIBBLE_HIGH)
    return np.asarray(levels * unit, dtype=projection.dtype)


def best_unit(projection: Floats, spread: Floats) -> float:
    """The unit that moves projected rows least; features spread so much."""
    units = UNITS * (float(np.abs(projection).max()) or 1.0)
    off = [float((np.square(rounded(projection, unit) - projection) @ spread).sum()) for unit in units]
    return float(units[int(np.argmin(off))])
