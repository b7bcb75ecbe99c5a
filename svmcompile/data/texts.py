"""Files with a column of text: `.csv` with a header line, or `.parquet`. A path enters; texts leave."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from svmcompile.data import table
from svmcompile.data.csv_layout import SEPARATORS, open_text, rows_of
from svmcompile.data.parquet import opened
from svmcompile.errors import OptionError, ReadError

Rows = list[tuple[int, list[Any]]]  # the number of a row or line, and its fields


def text_parts(path: Path, format: str, wanted: table.Wanted, chunk_rows: int) -> Iterator[table.Part]:
    """The texts of a file, a chunk of rows at a time, with labels and columns that are kept."""
    if format not in ("csv", "parquet"):
        raise ReadError(
            f"{path}: the model takes text, which {format} files do not hold; use .csv or .parquet"
        )
    with table.reading(path, csv.Error):
        yield from (_csv_parts if format == "csv" else _parquet_parts)(path, wanted, chunk_rows)


def _csv_parts(path: Path, wanted: table.Wanted, chunk_rows: int) -> Iterator[table.Part]:
    usual = "\t" if ".tsv" in path.suffixes else ","
    separator = SEPARATORS.get(wanted.separator or usual)
    if separator is None:
        raise OptionError(f"--separator {wanted.separator!r}: must be one of comma, semicolon, tab")
    with open_text(path) as stream:
        rows = rows_of(stream, separator)
        _, names = next(rows, (0, []))
        columns = _columns(path, tuple(name.strip() for name in names), wanted)
        while part := _part(f"{path}:", list(islice(rows, chunk_rows)), len(names), columns):
            yield part


def _parquet_parts(path: Path, wanted: table.Wanted, chunk_rows: int) -> Iterator[table.Part]:
    with opened(path, wanted) as (_, file):
        names, first = tuple(file.schema_arrow.names), 0
        columns = _columns(path, names, wanted)
        for batch in file.iter_batches(batch_size=chunk_rows):
            fields = zip(*map(_values, batch.columns), strict=True)
            rows = [(first + at, list(row)) for at, row in enumerate(fields)]
            first += len(rows)
            if part := _part(f"{path}: row ", rows, len(names), columns):
                yield part


def _values(column: Any) -> list[Any]:
    """A column of a batch; equal texts of a dictionary are one object."""
    if not hasattr(column, "dictionary"):
        return list(column.to_pylist())
    column.validate(full=True)  # of places in the dictionary
    known = column.dictionary.to_pylist()
    return [None if at is None else known[at] for at in column.indices.to_pylist()]


def _columns(path: Path, names: tuple[str, ...], wanted: table.Wanted) -> table.Columns:
    """The column of text, as the one feature, and the others that are asked for."""
    width = len(names)
    if not width:
        raise ReadError(f"{path}: holds no rows")
    label = (
        None if wanted.label is None else table.find_column(path, width, names, wanted.label, "the label")
    )
    kept = {name: table.find_column(path, width, names, name, "--keep") for name in wanted.keep}
    if wanted.text is not None:
        text = table.find_column(path, width, names, wanted.text, "--text")
    else:
        left = [at for at in range(width) if at not in {label, *kept.values()}]
        found = left if len(left) == 1 else [at for at in left if names[at].lower() == "text"]
        if len(found) != 1:
            raise OptionError(
                f"{path}: which column holds the text? name it with --text; columns: {', '.join(names)}"
            )
        text = found[0]
    return table.Columns((text,), label if wanted.with_labels else None, (names[text],), kept)


def _part(place: str, rows: Rows, width: int, columns: table.Columns) -> table.Part | None:
    if not rows:
        return None
    texts: Any = np.empty(len(rows), dtype=object)
    for at, (number, fields) in enumerate(rows):
        if len(fields) != width:
            raise ReadError(f"{place}{number}: {len(fields)} fields, the first line has {width}")
        texts[at] = fields[columns.features[0]]
        if not isinstance(texts[at], str):
            raise ReadError(
                f"{place}{number}: column {columns.names[0]!r} holds {texts[at]!r:.40}, not text"
            )
    labels = None
    if columns.label is not None:
        at = columns.label
        labels = [table.check_label_length(f"{place}{number}", str(fields[at])) for number, fields in rows]
    kept = {name: [fields[at] for _, fields in rows] for name, at in columns.kept.items()}
    return table.Part(texts, labels, (), kept)
