"""Curves: a kernel's function of one number as points to go straight between, with a proven error.

Arguments and points are whole numbers: the function is known at multiples of 2^cell_bits of an argument
in some unit, points are in units of 1 / TOP. What leaves is the table, cell_bits and a bound on the error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

TOP = 32767  # the point that stands for one
CELLS = {"q7": 70, "q15": 256}  # at most; each takes two bytes
# Off the straight line by rounding of two points and of the place between them, in units of 1 / TOP.
ROUNDING = 2.5 / TOP
STEEPEST_TURN = 4 / (3 * math.sqrt(3))  # largest second derivative of tanh
BITS = range(31)


@dataclass(frozen=True, eq=False)
class Curve:
    """A table of points, their distance and how far the curve can be off, as a share of one."""

    points: NDArray[Any]
    cell_bits: int
    error: float


def falling(rate: float, cells: int, reach: int) -> Curve:
    """exp(-rate t) for t from 0 to `reach`; behind the last cell it is zero."""
    return _best(_falling(rate, bits, min(cells, _cells_to(reach, bits)), reach) for bits in BITS)


def _cells_to(reach: int, bits: int) -> int:
    """Cells up to `reach`, and one behind it."""
    return (reach >> bits) + 2


def _best(curves: Iterable[Curve]) -> Curve:
    return min(curves, key=lambda curve: (curve.error, len(curve.points)))


def _falling(rate: float, bits: int, count: int, reach: int) -> Curve:
    step = rate * (1 << bits)
    bend = min(step * step / 16, 0.5)  # points lie this share below, so that the line is off to both sides
    points = np.round(TOP * np.exp(-step * np.arange(count + 1)) * (1 - bend)).astype(np.int16)
    points[-1] = 0
    # In the last cell, which goes down to zero, and behind it curve and function are within this.
    last = 0.0 if (count - 1) << bits > reach else math.exp(-step * (count - 1))
    between = max(bend, step * step / 8 - bend * math.exp(-step)) if step < 1 else 1.0
    return Curve(points, bits, max(between, last) + ROUNDING)


@dataclass(frozen=True, eq=False)
class Rising:
    """tanh as middle + amplitude * curve."""

    curve: Curve
    middle: float
    amplitude: float


def rising(unit: float, cells: int, low: int, reach: int) -> Rising:
    """tanh(unit (low + t)) for t from 0 to `reach`: what is met of it fills the range of points."""
    found = (_rising(unit, bits, min(cells, _cells_to(reach, bits)), low, reach) for bits in BITS)
    return min(found, key=lambda one: (one.amplitude * one.curve.error, len(one.curve.points)))


def _rising(unit: float, bits: int, count: int, low: int, reach: int) -> Rising:
    step = unit * (1 << bits)
    values = np.tanh(unit * low + step * np.arange(count + 1))
    top = math.tanh(unit * (low + reach))  # the largest value that is met
    middle = float(values[0] + values[-1]) / 2
    amplitude = max(float(values[-1] - values[0]) / 2, 1e-9)
    points = np.round(TOP * (values - middle) / amplitude).astype(np.int16)
    bend = min(2.0, step * step / 8 * STEEPEST_TURN)
    behind = max(0.0, top - float(values[-1]))  # the curve stays at its last point
    return Rising(Curve(points, bits, (bend + behind) / amplitude + ROUNDING), middle, amplitude)
