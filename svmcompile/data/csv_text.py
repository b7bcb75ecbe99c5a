"""`.csv`: comma-separated UTF-8 text, with or without a header line.

The first line is a header if any of its fields is not a number. Where `--label` is an index, that column
does not count (its labels may be text), unless the others are 0, 1, 2, ... as pandas names columns.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NoReturn

import numpy as np

from svmcompile.data import table
from svmcompile.errors import OptionError, ReadError

Row = tuple[int, list[str]]  # line number, fields


def csv_parts(path: Path, wanted: table.Wanted, chunk_rows: int) -> Iterator[table.Part]:
    """The file, a chunk of lines at a time."""
    with table.reading(path, csv.Error), path.open(newline="", encoding="utf-8-sig") as stream:
        rows = _rows(stream)
        line, first = next(rows, (0, []))
        if not first:
            raise ReadError(f"{path}: holds no rows")
        names = tuple(name.strip() for name in first) if has_header(first, wanted.label) else ()
        if not names:
            rows = chain([(line, first)], rows)
        columns = _columns(path, len(first), names, wanted)
        step = table.rows_per_chunk(chunk_rows, len(first))
        while part := _Chunk(path, len(first), names, columns).parse(islice(rows, step)):
            yield part


def has_header(first: list[str], label: str | None) -> bool:
    """Is the first line one of names?"""
    index = None if label is None or label in first else table.column_index(label)
    if index is not None and -len(first) <= index < len(first):
        others = [field for at, field in enumerate(first) if at != index % len(first)]
        if all(map(_is_number, others)):
            counts_up = len(others) > 1 and others == [str(at) for at in range(len(others))]
            return not _is_number(first[index]) and counts_up
    return not all(map(_is_number, first))


def _rows(stream: Iterator[str]) -> Iterator[Row]:
    """Line number and fields of every line that is not blank."""
    reader = csv.reader(stream, strict=True)
    for fields in reader:
        if len(fields) > 1 or any(field.strip() for field in fields):
            yield reader.line_num, fields


def _columns(path: Path, width: int, names: tuple[str, ...], wanted: table.Wanted) -> table.Columns:
    if wanted.label is not None and not names and table.column_index(wanted.label) is None:
        raise OptionError(
            f"{path}: has no header line, so the label cannot be {wanted.label!r}; "
            f"give its index, 0 to {width - 1}"
        )
    return table.choose_columns(path, width, names, wanted)


def _is_number(text: str) -> bool:
    try:
        table.number(text)
    except ValueError:
        return False
    return True


class _Chunk:
    """Turns lines of fields into numbers and labels."""

    def __init__(self, path: Path, width: int, names: tuple[str, ...], columns: table.Columns) -> None:
        self.path, self.width, self.names, self.columns = path, width, names, columns
        self.numbers = array("d")
        self.labels: list[str] = []

    def parse(self, rows: Iterable[Row]) -> table.Part | None:
        """The rows as numbers, one at a time so that their text is never held; None if there are none."""
        for line, fields in rows:
            if len(fields) != self.width:
                raise ReadError(
                    f"{self.path}:{line}: {len(fields)} fields, the first line has {self.width}"
                )
            self._add(line, fields)
        if not self.numbers:
            return None
        matrix = np.frombuffer(self.numbers).reshape(-1, len(self.columns.features)).copy()
        return table.Part(matrix, None if self.columns.label is None else self.labels, self.columns.names)

    def _add(self, line: int, fields: list[str]) -> None:
        features = [fields[column] for column in self.columns.features]
        text = "".join(features)
        if "_" in text or not text.isascii():
            self._blame(line, fields)
        try:
            self.numbers.extend([float(field) for field in features])
        except ValueError:
            self._blame(line, fields)
        if self.columns.label is not None:
            self.labels.append(self._label(line, fields[self.columns.label]))

    def _label(self, line: int, label: str) -> str:
        where = f"{self.path}:{line}"
        if not label.strip():
            raise ReadError(f"{where}: {self._column(self.columns.label or 0)}: the label is empty")
        return table.check_label_length(where, label)

    def _blame(self, line: int, fields: list[str]) -> NoReturn:
        """Raise for the first field that is not a number."""
        column = next(column for column in self.columns.features if not _is_number(fields[column]))
        field = fields[column]
        problem = f"{field[:40]!r} is not a number" if field.strip() else "the field is empty"
        raise ReadError(
            f"{self.path}:{line}: {self._column(column)}: {problem}{self._advice(column, field)}"
        )

    def _column(self, column: int) -> str:
        return f"column {self.names[column]!r}" if self.names else f"column {column} (counted from 0)"

    def _advice(self, column: int, field: str) -> str:
        if not field.strip():
            return "; write nan for a missing value"
        if ";" in field or "\t" in field:
            return "; separate fields by commas"
        if self.columns.label is None:
            name = self.names[column] if self.names else column
            return f"; if the column holds the labels, add --label {name}"
        return ""
