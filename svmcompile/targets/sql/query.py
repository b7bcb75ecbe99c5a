"""Queries under construction: numbers, sums, cases, and stages of columns.

A value is a list of expressions, one per column. Those that are read more than once become columns of a
stage, a common table expression that keeps all columns of the one before. Numbers are doubles. NULL stands
for NaN: it spreads through sums, and a comparison with it takes the ELSE branch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError

TABLE = "input_rows"
COLUMN = re.compile(r"svm\d+_\d+")
LARGEST = "1.7976931348623157e308"
Columns = list[str]


def number(value: Any) -> str:
    """A double; without an exponent some databases read an exact decimal."""
    text = repr(float(value))
    if not np.isfinite(float(value)):
        raise EmitError(f"the number {text} cannot be written in SQL; use another target")
    return text if "e" in text else text.removesuffix(".0") + "e0"


def total(terms: Iterable[str]) -> str:
    """A sum in halves: databases limit how deep an expression may be."""
    parts = list(terms) or ["0e0"]
    if len(parts) == 1:
        return parts[0]
    return f"({total(parts[: len(parts) // 2])} + {total(parts[len(parts) // 2 :])})"


def case(choices: Iterable[tuple[Any, Any]], other: Any, of: str = "") -> str:
    """The value of the first condition that holds, or of the first number that `of` equals."""
    listed = " ".join(f"WHEN {when} THEN {then}" for when, then in choices)
    return f"CASE{of and ' '}{of} {listed} ELSE {other} END" if listed else str(other)


def shifted(x: Columns, centre: Iterable[float]) -> Columns:
    """x - centre."""
    return [f"({one} - {number(c)})" if c else one for one, c in zip(x, centre, strict=True)]


def dots(h: Columns, weights: NDArray[Any]) -> Columns:
    """The products of a row with each row of weights; zeros are left out."""
    rows = ([(w, one) for w, one in zip(row, h, strict=True) if w] for row in weights)
    return [total(f"{number(w)} * {one}" for w, one in row) for row in rows]


def added(*vectors: Iterable[str]) -> Columns:
    """Sums column by column."""
    return [total(terms) for terms in zip(*vectors, strict=True)]


class Query:
    """A query under construction."""

    def __init__(self) -> None:
        self.stages: list[Columns] = []

    def held(self, columns: Iterable[str]) -> Columns:
        """The names of columns that hold these expressions; a new stage unless they are names already."""
        columns = list(columns)
        if all(COLUMN.fullmatch(one) for one in columns):
            return columns
        names = [f"svm{len(self.stages)}_{place}" for place in range(len(columns))]
        self.stages.append([f"{one} AS {name}" for one, name in zip(columns, names, strict=True)])
        return names

    def poison(self, x: Columns) -> str:
        """Zero, or NULL where a column of x is not finite."""
        known = " AND ".join(f"abs({one}) <= {LARGEST}" for one in x)
        return self.held([f"CASE WHEN {known} THEN 0e0 END"])[0]

    def select(self, last: Iterable[str]) -> str:
        """The text of the query that gives the last columns."""
        lines, before = [], TABLE
        for place, columns in enumerate(self.stages):
            listed = ",\n    ".join(columns)
            lines.append(f"svm{place} AS MATERIALIZED (\n  SELECT *,\n    {listed}\n  FROM {before}\n)")
            before = f"svm{place}"
        return f"WITH {', '.join(lines)}\nSELECT\n  " + ",\n  ".join(last) + f"\nFROM {before}\n"
