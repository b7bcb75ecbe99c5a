"""Tables of what a Taylor polynomial leaves out, cell by cell of the row's distance.

u = gamma |h|^2 = z^2 / 2. The tables hold bounds divided by u, which hardly change within a cell.
exp(-u) z^n / u is largest at u = n / 2 - 1 if that lies within the cell, else at the nearer end. The
residual's share sqrt(P(N + 1, 2 u)) / u is bounded by its end over its start, and by
(2 u)^((N + 1) / 2) / (u sqrt((N + 1)!)), which grows with u.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from svmcompile.accelerate.taylor.rounding import distance_rounding
from svmcompile.accelerate.taylor.spectra import Spectra
from svmcompile.ir.kernel import Array

WIDER = 1e-4  # cells overlap by this share at least, and by twice the rounding of u times its step
PARTS = 8  # of a cell, each bounded by itself
SLACK = 1e-5  # of the bound at least, and twice the rounding of u times the bound


def widened(value: Any, d: int) -> Any:
    """A place among the cells or a bound, larger by more than rounding can do to it."""
    return value * (1 + max(WIDER, 2 * distance_rounding(d)))


def remainders(bounds: Spectra, order: int, reach: float, cells: int, d: int, off: float = 0.0) -> Array:
    """Bounds over u on what a score of this order exceeds the sum by, and falls below it by, [cells, 2].

    The cells part u from 0 to `reach`; the row has d features, and u may be off by `off` beside that.
    """
    edges = np.linspace(0.0, reach, cells * PARTS + 1)
    wider = max(WIDER, 2 * distance_rounding(d))
    start = np.maximum(edges[:-1] * (1 - wider) - off, 0.0)
    stop = edges[1:] * (1 + wider) + off
    found = np.full((len(start), 2), np.inf)
    blocks = np.zeros((len(start), 2))
    for last in range(order, len(bounds.low)):
        if last > order:
            peak = np.clip(last / 2 - 1, start, stop)
            most = np.exp(-peak) * 2 * (2 * peak) ** (last / 2 - 1)
            blocks[:, 0] += most * max(-bounds.low[last], 0.0)
            blocks[:, 1] += most * max(bounds.high[last], 0.0)
        rest = bounds.residual[last] * _share(last, start, stop)
        found = np.minimum(found, blocks + rest[:, None])
    slack = 1 + max(SLACK, 2 * distance_rounding(d))
    return np.asarray(slack * found.reshape(cells, PARTS, 2).max(axis=1))


def _share(last: int, start: Array, stop: Array) -> Array:
    """A bound on sqrt(P(last + 1, 2 u)) / u between start and stop."""
    from scipy.special import gammainc

    power = 2 * (2 * stop) ** ((last + 1) / 2 - 1) / math.sqrt(math.factorial(last + 1))
    with np.errstate(divide="ignore"):
        ends = np.sqrt(gammainc(last + 1, 2 * stop)) / start
    return np.asarray(np.minimum(power, ends))
