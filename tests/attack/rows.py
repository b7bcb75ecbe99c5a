"""Rows to attack with: ordinary ones, and ones bisected onto the boundary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Predict = Callable[[Any], Any]
STEPS = {np.dtype(np.float32): 40, np.dtype(np.float64): 75}


def ordinary(X: Any, count: int, number: Any, random: np.random.Generator) -> Any:
    """Rows given, between two of them and beyond, with noise, and far out; some keep their zeros."""
    first, second = (X[random.integers(len(X), size=count)] for _ in range(2))
    along = random.uniform(-0.5, 1.5, size=(count, 1))
    noise = random.normal(size=first.shape) * X.std(axis=0) * 10.0 ** random.uniform(-6, 1, size=(count, 1))
    noise *= (first != 0) | (random.random((count, 1)) < 0.5)
    return (first + along * (second - first) + noise).astype(number)


def boundary(predict: Predict, X: Any, count: int, number: Any, random: np.random.Generator) -> Any:
    """Rows where the original's label changes, to the last bit of float32; at most so many.

    Doubles would end where rounding alone decides, so they go back a little, by 1e-15 to 1e-6 of the way.
    """
    low, high = (ordinary(X, 6 * count, number, random) for _ in range(2))
    own, other = predict(low.astype(np.float64)), predict(high.astype(np.float64))
    differ = np.flatnonzero(own != other)[:count]
    low, high, own = low[differ], high[differ], own[differ]
    start = low
    for _ in range(STEPS[np.dtype(number)] if len(differ) else 0):
        middle = (low / 2 + high / 2).astype(number)
        same = predict(middle.astype(np.float64)) == own
        low, high = np.where(same[:, None], middle, low), np.where(same[:, None], high, middle)
    if low.dtype == np.float64:
        low = low + (start - low) * 10.0 ** random.uniform(-15, -6, size=(len(low), 1))
    return np.concatenate([low[::2], high[1::2]])
