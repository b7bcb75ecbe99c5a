"""`.csv`: UTF-8 text with separated fields, with or without a header line; also packed by gzip.

The first line is a header if any of its fields is not a number. Where `--label` is an index, that column
does not count (its labels may be text), unless the others are 0, 1, 2, ... as pandas names columns.

pyarrow reads the file where it is installed. Whatever it refuses, a careful parser reads from there on, so
that both give the same rows, and errors name line and column.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np

from svmcompile.data import table
from svmcompile.data.categories import UNKNOWN
from svmcompile.data.csv_arrow import NotRead, arrow_parts
from svmcompile.data.csv_layout import MISSING, Layout, Row, find_layout, is_number, open_text, rows_of
from svmcompile.errors import ReadError

DECIMAL_COMMA = str.maketrans({",": ".", ".": "?"})  # a point would separate thousands: no number


def csv_parts(path: Path, wanted: table.Wanted, chunk_rows: int) -> Iterator[table.Part]:
    """The file, a chunk of lines at a time."""
    with table.reading(path, csv.Error):
        layout, done = find_layout(path, wanted), 0
        step = table.rows_per_chunk(chunk_rows, layout.width)
        try:
            for part in arrow_parts(path, layout, wanted, step):
                done += len(part.X)
                yield part
        except NotRead:
            yield from _careful_parts(path, layout, wanted, step, done)


def _careful_parts(
    path: Path, layout: Layout, wanted: table.Wanted, step: int, done: int
) -> Iterator[table.Part]:
    """The rows after the first `done`, field by field."""
    with open_text(path) as stream:
        rows = islice(rows_of(stream, layout.separator), done + bool(layout.names), None)
        while part := _Chunk(path, layout, wanted).parse(islice(rows, step)):
            yield part


class _Chunk:
    """Turns lines of fields into numbers and labels."""

    def __init__(self, path: Path, layout: Layout, wanted: table.Wanted) -> None:
        self.path, self.layout, self.missing = path, layout, wanted.missing
        self.texts = wanted.categories.by_feature
        self.columns = layout.columns
        self.numbers = array("d")
        self.labels: list[str] = []
        self.kept: dict[str, list[str]] = {name: [] for name in layout.columns.kept}

    def parse(self, rows: Iterable[Row]) -> table.Part | None:
        """The rows as numbers, one at a time so that their text is never held; None if there are none."""
        for line, fields in rows:
            if len(fields) != self.layout.width:
                raise ReadError(
                    f"{self.path}:{line}: {len(fields)} fields, the first line has {self.layout.width}"
                )
            self._add(line, fields)
        if not self.numbers:
            return None
        matrix = np.frombuffer(self.numbers).reshape(-1, len(self.columns.features)).copy()
        labels = None if self.columns.label is None else self.labels
        return table.Part(matrix, labels, self.columns.names, self.kept)

    def _add(self, line: int, fields: list[str]) -> None:
        features = [self._plain(line, at, fields) for at in range(len(self.columns.features))]
        text = "".join(features)
        if "_" in text or not text.isascii():
            self._blame(line, fields)
        try:
            self.numbers.extend([float(field) for field in features])
        except ValueError:
            self._blame(line, fields)
        if self.columns.label is not None:
            self.labels.append(self._label(line, fields[self.columns.label]))
        for name, column in self.columns.kept.items():
            self.kept[name].append(fields[column])

    def _plain(self, line: int, at: int, fields: list[str]) -> str:
        """A field as Python reads numbers; the code of a text."""
        field = fields[self.columns.features[at]]
        if text := self.texts.get(at):
            code = text.field_code(field)
            if text.strict and code == UNKNOWN:
                raise text.unknown(field, f"{self.path}:{line}", self.columns.names)
            return str(code)
        if self.missing and field.strip() in MISSING:
            return "nan"
        if field.lower() in table.BOOLEANS:
            return str(int(table.BOOLEANS[field.lower()]))
        return field.translate(DECIMAL_COMMA) if self.layout.decimal == "," else field

    def _label(self, line: int, label: str) -> str:
        where = f"{self.path}:{line}"
        if not label.strip():
            raise ReadError(f"{where}: {self._column(self.columns.label or 0)}: the label is empty")
        return table.check_label_length(where, label)

    def _blame(self, line: int, fields: list[str]) -> NoReturn:
        """Raise for the first field that is not a number."""
        places = enumerate(self.columns.features)
        column = next(one for at, one in places if not is_number(self._plain(line, at, fields)))
        field = fields[column]
        problem = f"{field[:40]!r} is not a number" if field.strip() else "the field is empty"
        raise ReadError(
            f"{self.path}:{line}: {self._column(column)}: {problem}{self._advice(column, field)}"
        )

    def _column(self, column: int) -> str:
        return (
            f"column {self.layout.names[column]!r}"
            if self.layout.names
            else f"column {column} (counted from 0)"
        )

    def _advice(self, column: int, field: str) -> str:
        if not field.strip():
            return "; fill it in, write nan if the model has an imputer, or add --allow-missing to predict"
        if ";" in field or "\t" in field:
            return "; name the separator with --separator"
        if is_number(field.replace(",", ".")):
            return "; if this is a decimal comma, add --decimal ,"
        if self.columns.label is None:
            name = self.layout.names[column] if self.layout.names else column
            return f"; if the column holds the labels, add --label {name}"
        return ""
