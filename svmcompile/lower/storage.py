"""Which table suits the vectors: a dense one, or one by feature that leaves zeros out.

The times below are nanoseconds measured on models of text, web and census
data and of handwritten digits (`examples/peers/sparse_tables.py` prints the
whole comparison). Only their ratios matter: what is compared is the expected
time of a row, given whole, that is filled like the vectors themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import BYTES, Number
from svmcompile.lower.tiled import LANES

Storage = Literal["auto", "dense", "sparse"]

NEAR, BEYOND = 0.6, 3.0  # a vector instruction's operand from a dense table in a near cache, or beyond it
NEAR_BYTES = 2 << 20
TILED = 0.15  # the same for batches, where rows share what is read but zeros are not skipped
FULL = 1.0  # a vector instruction's operand from a column that is stored for all vectors
ENTRY = 0.6  # one entry of a column that is not
FEATURE = 5.0  # finding a feature
PREPARE, SCAN = 1.0, 0.3  # one number of a row on its way to a dense table, and to a sparse one
SCALAR = 0.19  # one multiplication of the portable profile's dense table
# So much smaller a table is worth so much more time, which other data in the cache would take back.
SMALLER, SLOWER = 4.0, 1.5


@dataclass(frozen=True, slots=True)
class Layout:
    """How a profile stores sparse vectors."""

    segment: int  # vectors whose dot products stand on the stack at once
    full: float  # share of a segment's vectors from which a feature is stored for all of them


# Full columns are added with vector instructions, which pays from one vector in eight.
LAYOUTS = {"host": Layout(4096, 0.125), "portable": Layout(1024, 2.0)}


def sparse_pays(vectors: NDArray[Any], number: Number, profile: str) -> bool:
    """Whether vectors are better stored by feature."""
    n, d = vectors.shape
    counts = np.count_nonzero(vectors, axis=0)
    full = counts >= LAYOUTS[profile].full * n
    size = BYTES[number]
    dense_bytes = n * d * size
    entries = int(counts[~full].sum() + n * full.sum())
    starts = np.count_nonzero(counts) * -(-n // LAYOUTS[profile].segment)
    sparse_bytes = entries * (size + 2) + 4 * starts + d / 4
    sparse = SCAN * d + _sparse_time(counts / max(1, n), counts, full, n / LANES[number])
    dense = n * d * SCALAR
    if profile == "host":
        dense = _dense_time(counts.sum() / max(1, n), d, n / LANES[number], dense_bytes)
    limit = SLOWER * dense if dense_bytes >= SMALLER * sparse_bytes else dense
    return bool(counts.any() and sparse <= limit)


def _sparse_time(
    share: NDArray[np.float64], counts: NDArray[np.intp], full: NDArray[np.bool_], blocks: float
) -> float:
    """`share` of the rows have each feature."""
    listed = ENTRY * (share * counts)[~full].sum()
    return float(FEATURE * share.sum() + listed + FULL * blocks * share[full].sum())


def _dense_time(filled: float, width: int, blocks: float, table_bytes: int) -> float:
    """Rows with `filled` features, looked at alone or in batches, whichever is faster."""
    alone = filled * blocks * (NEAR if table_bytes <= NEAR_BYTES else BEYOND)
    return PREPARE * width + min(alone, width * blocks * TILED)
