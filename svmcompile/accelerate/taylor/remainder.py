"""Tables of what a Taylor polynomial leaves out, cell by cell of the row's distance.

u = gamma |h|^2 = z^2 / 2. Within a cell exp(-u) z^n is largest at u = n / 2 if
that lies inside, else at the nearer end; the residual's share grows with u.
"""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.taylor.spectra import Spectra
from svmcompile.kernel import Array

WIDER = 1e-4  # cells overlap by this share, which covers the rounding of u


def remainders(bounds: Spectra, order: int, edges: Array) -> tuple[Array, Array]:
    """Least and largest remainder after an order, in each cell between two edges of u."""
    from scipy.special import gammainc

    start, stop = edges[:-1] * (1 - WIDER), edges[1:] * (1 + WIDER)
    low, high = np.full(len(start), -np.inf), np.full(len(start), np.inf)
    below, above = np.zeros(len(start)), np.zeros(len(start))
    for last in range(order, len(bounds.low)):
        if last > order:
            peak = np.clip(last / 2, start, stop)
            most = np.exp(-peak) * (2 * peak) ** (last / 2)
            below += most * min(bounds.low[last], 0.0)
            above += most * max(bounds.high[last], 0.0)
        rest = bounds.residual[last] * np.sqrt(gammainc(last + 1, 2 * stop))
        low, high = np.maximum(low, below - rest), np.minimum(high, above + rest)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)
