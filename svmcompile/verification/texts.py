"""Texts among what is compared: they have no rounding of their own, and are counted some at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.bounds import Bounds
from svmcompile.ir.program import Program

Rows = NDArray[Any]


def are_texts(rows: Rows) -> bool:
    """Whether rows are texts, not numbers."""
    return rows.dtype == object


def in_type(rows: Rows, kind: Any) -> Rows:
    """Rows in a number type; texts as they are."""
    with np.errstate(over="ignore"):
        return rows if are_texts(rows) else rows.astype(kind)


def finite_rows(rows: Rows) -> NDArray[np.bool_]:
    """Which rows have finite numbers alone; texts have none that are not."""
    if are_texts(rows):
        return np.full(len(rows), True)
    compressed = getattr(rows, "finite_rows", None)
    return np.asarray(compressed() if compressed else np.isfinite(rows).all(axis=1))


def bounded(rows: Rows, bound: Callable[..., Bounds], program: Program, *told: Any) -> Bounds:
    """Bounds for rows; of texts, for what is counted in them."""
    if not are_texts(rows):
        return bound(rows, program, *told)
    text = program.input.text
    parts = [bound(text.rows(rows[part]), program, *told) for part in text.chunks(rows)]
    return Bounds(*(np.concatenate(one) for one in zip(*parts, strict=True)))
