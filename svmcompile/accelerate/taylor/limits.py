"""Where the margins of Taylor polynomials hold: models beyond are refused, not compiled wrongly."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.accelerate.taylor.rounding import (
    LEAST_GAMMA,
    MOST_ENTRY,
    MOST_FEATURES,
    MOST_GAMMA,
    MOST_MASS,
    MOST_RADIUS,
)
from svmcompile.errors import UnsupportedError
from svmcompile.ir.kernel import Array


def check_limits(gamma: float, mass: float, d: int) -> None:
    """Refuses a sum whose numbers are beyond what float32 code of it can hold."""
    if not LEAST_GAMMA <= gamma <= MOST_GAMMA:
        _refuse(f"gamma is {gamma:.3g}, not within {LEAST_GAMMA:g} and {MOST_GAMMA:g}; scale the features")
    if not math.isfinite(mass) or mass > MOST_MASS:
        _refuse(f"weights and bias add up to {mass:.3g}, above {MOST_MASS:g}; divide them all by a number")
    check_width(d, 1)


def check_width(d: int, rank: int) -> None:
    """Refuses so many features and axes that roundings add up to more than a few thousandths."""
    if d * math.sqrt(max(rank, 1)) > MOST_FEATURES:
        _refuse(f"{d} features and {rank} axes are too many for float32; take fewer axes")


def check_reach(radius: float) -> None:
    """Refuses rows so far from their centre that float32 cannot hold the fourth power of the distance."""
    if not radius <= MOST_RADIUS:
        _refuse(f"rows lie {radius:.3g} from their centre, above {MOST_RADIUS:g}; scale the features")


def check_tables(*tables: Array) -> None:
    """Refuses tables whose products float32 could not hold."""
    largest = max(float(np.abs(table).max(initial=0.0)) for table in tables)
    if not largest <= MOST_ENTRY:
        _refuse(f"a coefficient of {largest:.3g} is above {MOST_ENTRY:g}; scale the features")


def _refuse(reason: str) -> None:
    raise UnsupportedError(f"Taylor expansions: {reason}, or use method exact")
