"""Shifts that every number type can hold.

A scaling z = (x - shift) * factor needs its shift in float32, or features
with a large mean lose their digits there. The part of the shift that float32
cannot hold goes into an offset behind the multiplication.
"""

from __future__ import annotations

import numpy as np

from svmcompile.ir.kernel import Array


def nearest_float32(values: Array) -> Array:
    """Each value rounded to float32; 0 where float32 cannot hold it."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = values.astype(np.float32).astype(np.float64)
    return np.where(np.isfinite(rounded), rounded, 0.0)


def split_shift(shift: Array, factor: Array, offset: Array | float = 0.0) -> tuple[Array, Array]:
    """(shift', offset') with (x - shift') factor + offset' = (x - shift) factor + offset.

    shift' holds float32 numbers and takes in all it can, so that offset' is as
    small as rounding allows.
    """
    with np.errstate(all="ignore"):
        wanted = shift - np.where(factor != 0, offset / np.where(factor != 0, factor, 1.0), 0.0)
    new_shift = nearest_float32(wanted)
    return new_shift, (new_shift - shift) * factor + offset
