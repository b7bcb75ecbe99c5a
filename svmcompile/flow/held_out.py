"""Rows held out: a program that was fitted to rows is judged by others."""

from __future__ import annotations

import numpy as np

from svmcompile.data import Data

SHARE, LEAST, MOST = 0.2, 10, 10_000  # of the rows are held out: a share, but never fewer or more


def hold_out(data: Data, seed: int = 0) -> tuple[Data, Data | None]:
    """Rows to fit to, in their order, and rows to report on; None where there are too few to spare any."""
    rows = len(data.X)
    count = min(round(SHARE * rows), MOST)
    if count < LEAST:
        return data, None
    order = np.random.default_rng(seed).permutation(rows)
    return data.take(np.sort(order[count:])), data.take(np.sort(order[:count]))
