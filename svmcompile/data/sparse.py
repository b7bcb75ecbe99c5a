"""Matrices of which zeros are not held: rows of text, and the vectors of its models."""

from __future__ import annotations

from typing import Any

from svmcompile.errors import OptionError

KEPT_FROM = 1 << 22  # numbers from which a matrix stays sparse; smaller ones are dense as before
FILLED = 16  # at most one number in so many is not zero
MOST_DENSE = 1 << 27  # numbers of a matrix that may be made dense: 1 GiB of float64


def is_sparse(data: Any) -> bool:
    """Any matrix or array of scipy.sparse."""
    return hasattr(data, "tocsr") and hasattr(data, "nnz")


def stays_sparse(shape: tuple[int, ...], entries: int) -> bool:
    """Whether a matrix is worth keeping sparse."""
    size = shape[0] * shape[1]
    return size >= KEPT_FROM and 0 < FILLED * entries <= size


def gigabytes(shape: tuple[int, ...]) -> str:
    return f"{8 * shape[0] * shape[1] / 1e9:.1f} GB"


def check_dense(shape: tuple[int, ...], what: str, way_out: str = "") -> None:
    """Refuse to make an array of a matrix that would fill the memory."""
    if shape[0] * shape[1] > MOST_DENSE:
        raise OptionError(
            f"{what} ({shape[0]:,} x {shape[1]:,}) would take {gigabytes(shape)} as a dense table, above "
            f"the limit of {8 * MOST_DENSE / 1e9:.1f} GB; {way_out or 'pass fewer of them at a time'}"
        )
