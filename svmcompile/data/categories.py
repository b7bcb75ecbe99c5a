"""Columns of text in rows of numbers: each text has a code, its place among the names of its column.

A text that the column does not know is UNKNOWN. What is missing is MISSING where the model knows such
values, else it is unknown, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.text import is_unicode
from svmcompile.errors import UnknownCategoryError

UNKNOWN, MISSING = -1, -2
NAN = float("nan")
MOST_NAMES = 1 << 24  # codes that float32 holds
SHOWN = 5  # names in a message
BLANKS = frozenset(("", "NA", "N/A", "NULL", "null", "None", "nan", "NaN"))  # missing values in text files
MissingKind = Literal["", "NaN", "None", "text"]


class Name(str):
    """A category in the table of an encoder, before it has a code; `strict` ones know no others beside."""

    __slots__ = ("strict",)
    strict: bool

    def __new__(cls, text: str, strict: bool = False) -> Name:
        made = super().__new__(cls, text)
        made.strict = strict
        return made


@dataclass(frozen=True)
class TextColumn:
    """The categories of one feature; one without names is not read, and may hold anything."""

    feature: int
    names: tuple[str, ...]  # in the order of their codes
    missing: MissingKind = ""  # what is MISSING; empty where the model knows no such value
    marker: str = ""  # the text that stands for missing values
    strict: bool = False  # the original raises an error for what is unknown

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each text that is known."""
        found = {name: code for code, name in enumerate(self.names)}
        return found | ({self.marker: MISSING} if self.missing == "text" else {})

    def code(self, value: Any) -> int:
        """The code of a value as Python has it; a number is none."""
        if isinstance(value, str) or not self.names:
            return self.codes.get(value, UNKNOWN)
        kind = "None" if value is None else "NaN" if is_nan(value) else ""
        if not kind:
            raise TypeError(f"{value!r:.40} is {type(value).__name__}, not text")
        return MISSING if kind == self.missing else UNKNOWN

    def field_code(self, value: str | None) -> int:
        """The code of a field of a file, where None or a blank is any missing value."""
        if value is not None and value in self.codes:
            return self.codes[value]
        return MISSING if self.missing and (value is None or value.strip() in BLANKS) else UNKNOWN

    def value(self, code: float) -> Any:
        """What stands behind a code; a text that is no name for one that is unknown."""
        if 0 <= code < len(self.names) and float(code).is_integer():
            return self.names[int(code)]
        if code == MISSING and self.missing:
            return {"NaN": NAN, "None": None, "text": self.marker}[self.missing]
        return max(self.codes, key=len, default="") + "?"

    def unknown(self, value: Any, where: str, names: Sequence[str]) -> UnknownCategoryError:
        """The error that the original would raise as well."""
        told = repr(names[self.feature]) if names else f"{self.feature} (counted from 0)"
        what = f"{value!r:.60} is no category of the model"
        what = what if isinstance(value, str) else "the text is missing"
        known = ", ".join(map(repr, self.names[:SHOWN])) + ", ..." * (len(self.names) > SHOWN)
        return UnknownCategoryError(
            f"{where}, column {told}: {what}, whose encoder takes no others: {known}; "
            "train it with handle_unknown='ignore', or leave the row out"
        )

    def problems(self, width: int) -> Iterator[str]:
        """What does not fit, in words."""
        if not 0 <= self.feature < width:
            yield f"feature {self.feature} of {width} has categories"
        told = len(self.names) + (self.missing == "text")
        if len(self.codes) < told or told > MOST_NAMES:
            yield f"the {len(self.names)} categories of feature {self.feature} are not told apart"
        if not all(is_unicode(name) for name in (*self.names, self.marker)):
            yield f"a category of feature {self.feature} is not valid Unicode"


@dataclass(frozen=True)
class Categories:
    """The features of a model that are text, and those that it does not read."""

    columns: tuple[TextColumn, ...] = field(default=())

    def __bool__(self) -> bool:
        return bool(self.columns)

    @cached_property
    def by_feature(self) -> dict[int, TextColumn]:
        return {column.feature: column for column in self.columns}

    @property
    def texts(self) -> list[TextColumn]:
        """The columns that are read."""
        return [column for column in self.columns if column.names]

    def problems(self, width: int) -> Iterator[str]:
        """What does not fit, in words."""
        if len(self.by_feature) < len(self.columns):
            yield "a feature has categories twice"
        for column in self.columns:
            yield from column.problems(width)

    def decoded(self, rows: NDArray[Any]) -> list[Any]:
        """The columns of rows, with texts in place of codes."""
        columns: list[Any] = list(rows.T)
        for one in self.columns:
            columns[one.feature] = np.empty(len(rows), dtype=object)
            columns[one.feature][:] = [one.value(code) for code in rows[:, one.feature].tolist()]
        return columns

    def frame(self, rows: NDArray[Any], names: Sequence[str]) -> Any:
        """Rows as the original was trained on them: a frame where it knows names, else an array."""
        columns = self.decoded(rows) if self else None
        if names:
            with suppress(ImportError):
                from pandas import DataFrame

                held = rows if columns is None else dict(zip(names, columns, strict=True))
                return DataFrame(held, columns=list(names))
        return rows if columns is None else np.array(columns, dtype=object).T

    def facts(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """What reports say of each column."""
        return [
            {
                "feature": column.feature,
                "name": names[column.feature] if names else None,
                "missing": column.missing
                and (column.marker if column.missing == "text" else column.missing),
                "unknown": "error" if column.strict else "ignored",
                "names": list(column.names),
            }
            for column in self.texts
        ]


NO_CATEGORIES = Categories()


def is_nan(value: Any) -> bool:
    """NaN, or what pandas has in its place."""
    number = isinstance(value, (float, np.floating)) and bool(value != value)
    return number or type(value).__name__ in ("NAType", "NaTType")


def column_codes(
    column: TextColumn, values: Iterable[Any], names: Sequence[str], first: int = 0, of_file: str = ""
) -> NDArray[np.float64]:
    """The codes of a column of values; those of a file are texts, or None."""
    held, code = list(values), column.field_code if of_file else column.code
    try:
        found = np.array([code(value) for value in held], dtype=np.float64)
    except TypeError as error:
        told = repr(names[column.feature]) if names else column.feature
        raise UnknownCategoryError(
            f"column {told} is text, and {error}; pass the texts, or all rows as an array of numbers "
            "with codes in place of texts"
        ) from None
    if column.strict and (found == UNKNOWN).any():
        at = int(np.argmax(found == UNKNOWN))
        raise column.unknown(held[at], f"{of_file}row {at + first}", names)
    return found
