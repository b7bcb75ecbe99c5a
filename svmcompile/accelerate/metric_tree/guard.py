"""The guard band: how wide it must be, from rows that built nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.binomial import allowed_errors, upper_bound
from svmcompile.errors import OptionError

Flags = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]

WIDEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class Band:
    """Scores with a margin below `width` go to the exact sum."""

    width: float
    rows: int  # that it was measured on
    fallback: float  # share of these rows that go to the exact sum
    agreement: float  # of these rows, with the band
    proven: float | None  # agreement that holds with the confidence asked for
    reached: bool = True

    def as_dict(self) -> dict[str, Any]:
        return {
            "width": self.width,
            "rows": self.rows,
            "fallback_share": round(self.fallback, 6),
            "agreement": round(self.agreement, 6),
            "proven_agreement": None if self.proven is None else round(self.proven, 6),
        }


def fixed(width: float, margins: Floats, wrong: Flags) -> Band:
    """A band of a given width, with what it does to the rows."""
    width = min(width, WIDEST)
    outside = margins >= width
    return Band(width, len(margins), float((~outside).mean()), float(1 - (wrong & outside).mean()), None)


def calibrated(margins: Floats, wrong: Flags, target: float, confidence: float) -> Band:
    """The narrowest band with at most so many errors outside that the bound keeps the target.

    Where the rows are too few for that, the narrowest without an error.
    """
    rows = len(margins)
    if rows == 0:
        raise OptionError("metric-tree: there are no rows to calibrate the guard band with")
    allowed = allowed_errors(rows, target, confidence)
    width = width_for(margins, wrong, max(allowed, 0))
    found = fixed(width, margins, wrong)
    outside = int((wrong & (margins >= found.width)).sum())
    proven = 1 - upper_bound(outside, rows, confidence)
    return Band(found.width, rows, found.fallback, found.agreement, proven, allowed >= 0)


def width_for(margins: Floats, wrong: Flags, allowed: int) -> float:
    """The least width that leaves at most `allowed` errors outside, as a float32 number."""
    errors = np.sort(margins[wrong])[::-1]
    if len(errors) <= allowed:
        return 0.0
    inner = float(errors[allowed])  # the largest margin that must fall back
    above = margins[margins > inner]
    outer = float(above.min()) if len(above) else inner * 1.01
    width = np.float32((inner + outer) / 2)
    return float(width if width > inner else np.nextafter(width, np.float32(np.inf)))
