"""Number types, and the contract that code and proofs share: what is rounded, and after how many terms.

Every backend adds up at most BLOCK kernel values in the number type before their sum goes on in double,
and the squares and products of long rows in segments; error bounds and certificates count on it.

A scaling z = (x - shift) * factor needs its shift in float32, or features
with a large mean lose their digits there. The part of the shift that float32
cannot hold goes into an offset behind the multiplication.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

# Floats; programs in whole numbers, whose floats are f32; and types of whole numbers within these.
Number = Literal["f32", "f64", "q15", "q7", "u8", "i8", "i16", "i32"]
FIXED: tuple[Number, ...] = ("q15", "q7")
INPUT_LIMITS: dict[str, tuple[int, int]] = {"u8": (0, 255), "i16": (-32768, 32767)}
Array = NDArray[np.float64]
WholeInput = Literal["", "u8", "i16"]
BYTES: dict[str, int] = {"f32": 4, "f64": 8, "u8": 1, "i8": 1, "i16": 2, "i32": 4}
BLOCK = 32  # kernel values a backend may add up before it goes on in double
SEGMENT = 64  # squares that are added up before their sum goes to that of all, a multiple of all chains
LONG = 256  # features, from which on C code of kernel sums adds up the products of a row in segments


def dot_chain(d: int) -> int:
    """How many additions a product of a row's dot product goes through at most, in C code for one row."""
    return d if d < LONG else in_segments(d)


def in_segments(d: int) -> int:
    """How many additions each of d terms goes through: within its segment and after it."""
    return min(d, SEGMENT + -(-d // SEGMENT) + 4)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Rounding of one number type: unit roundoff and the errors of functions, that of exp2 relative."""

    u: float
    exp_error: float
    tanh_error: float
    smallest: float  # kernel values below are flushed to zero
    cos_error: float
    largest: float  # that it holds
    log_error: float  # of 1 + |ln x|
    normal_error: float  # of quantiles of the normal distribution, besides that of the logarithm

    @property
    def tiny(self) -> float:
        """The rounding error of numbers below `smallest`."""
        return self.u * self.smallest

    def held(self, sizes: NDArray[Any], error: NDArray[Any]) -> Array:
        """The error; where a sum of such sizes may leave the number type on the way, nothing is known."""
        return np.where(sizes + error < self.largest, error, np.inf)


@dataclass(frozen=True, slots=True)
class Bounded:
    """A value, a bound on its error, and the rows whose label rounding could change."""

    value: NDArray[Any]
    error: NDArray[np.float64]
    unstable: NDArray[np.bool_]

    @property
    def near_zero(self) -> NDArray[np.bool_]:
        """Where the error may change the sign; a value without error is what it is, zero too."""
        return np.asarray((np.abs(self.value) <= self.error) & (self.error > 0))


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


ARITHMETIC: dict[Number, Arithmetic] = {
    "f32": Arithmetic(2.0**-24, 2e-7, 3e-7, 2.0**-126, 3e-7, float(np.finfo(np.float32).max), 4e-7, 8e-6),
    "f64": Arithmetic(
        2.0**-53, 4e-16, 6e-16, 2.0**-1022, 6e-16, float(np.finfo(np.float64).max), 8e-16, 3e-14
    ),
}
