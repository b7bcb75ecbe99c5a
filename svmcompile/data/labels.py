"""Labels as text or float columns become arrays of the narrowest fitting type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

EXACT = 2.0**53  # whole floats below this are exact integers
BOOLEANS = {"true": True, "false": False}


def typed_labels(raw: list[str]) -> NDArray[Any]:
    """Whole numbers as int64, other numbers as float64, true/false as bool, anything else as text."""
    for convert in (_integers, _numbers, _booleans):
        try:
            return convert(raw)
        except (ValueError, OverflowError, KeyError):
            continue
    return np.array(raw, dtype=np.str_)


def whole_numbers(values: NDArray[Any]) -> NDArray[Any]:
    """Floats as int64 if all are whole; other arrays as they are."""
    if values.dtype.kind != "f" or not values.size:
        return values
    with np.errstate(invalid="ignore"):
        whole = (np.abs(values) < EXACT) & (values == np.floor(values))
    return values.astype(np.int64) if whole.all() else values


def number(text: str) -> float:
    """A float from plain ASCII; Python alone would also take `1_000` and other scripts' digits."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return float(text)


def _integers(raw: list[str]) -> NDArray[Any]:
    if any("_" in text or not text.isascii() for text in raw):
        raise ValueError("not plain numbers")
    return np.array([int(text) for text in raw], dtype=np.int64)


def _numbers(raw: list[str]) -> NDArray[Any]:
    return whole_numbers(np.array([number(text) for text in raw], dtype=np.float64))


def _booleans(raw: list[str]) -> NDArray[Any]:
    return np.array([BOOLEANS[text.strip().lower()] for text in raw], dtype=np.bool_)
