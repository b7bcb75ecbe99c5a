"""How a CSV file is written: its separator, its decimal point, its header line; found by its start."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from svmcompile.data import table
from svmcompile.errors import OptionError, ReadError

SAMPLE = 1 << 16  # bytes that tell separator and decimal point
SEPARATORS = {",": ",", ";": ";", "\t": "\t", "comma": ",", "semicolon": ";", "tab": "\t"}
MISSING = ("", "NA", "N/A", "NULL", "null", "None")  # beside nan, where values may be missing
Row = tuple[int, list[str]]  # line number, fields


@dataclass(frozen=True, slots=True)
class Layout:
    """What the start of a file tells."""

    separator: str
    decimal: str
    names: tuple[str, ...]  # of the header line, none without one
    header_lines: int  # lines before the first row
    width: int
    columns: table.Columns
    quoted: bool  # quotes in the sample, the header left aside


def find_layout(path: Path, wanted: table.Wanted) -> Layout:
    """Open the file, look at its start, and choose columns."""
    with open_text(path) as stream:
        lines = stream.read(SAMPLE) + stream.readline()  # whole lines
        lines += stream.readline() if lines.count("\n") < 2 else ""
    separator = _option(wanted.separator) or _separator(lines)
    rows = rows_of(io.StringIO(lines, newline=""), separator)
    line, first = next(rows, (0, []))
    if not first:
        raise ReadError(f"{path}: holds no rows")
    header = bool(wanted.categories) or has_header(first, wanted.label, separator != ",")
    names = tuple(name.strip() for name in first) if header else ()
    rest = lines.split("\n", line)[-1] if header else lines
    decimal = wanted.decimal or _decimal(rest, separator)
    if decimal == separator or decimal not in (".", ","):
        raise OptionError(
            f"--decimal {decimal!r}: must be . or , and differ from the separator {separator!r}"
        )
    columns = _columns(path, len(first), names, wanted)
    return Layout(separator, decimal, names, line if header else 0, len(first), columns, '"' in rest)


def open_text(path: Path) -> TextIO:
    """The file as text, with the line ends it has."""
    return io.TextIOWrapper(table.open_bytes(path), encoding="utf-8-sig", newline="")


def rows_of(stream: Iterator[str], separator: str) -> Iterator[Row]:
    """Line number and fields of every line that is not blank."""
    reader = csv.reader(stream, strict=True, delimiter=separator)
    for fields in reader:
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield reader.line_num, fields


def has_header(first: list[str], label: str | None, decimal_comma: bool = False) -> bool:
    """Is the first line one of names?"""

    def numeric(text: str) -> bool:
        return is_number(text.replace(",", ".") if decimal_comma else text)

    index = None if label is None or label in first else table.column_index(label)
    if index is not None and -len(first) <= index < len(first):
        others = [field for at, field in enumerate(first) if at != index % len(first)]
        if all(map(numeric, others)):
            counts_up = len(others) > 1 and others == [str(at) for at in range(len(others))]
            return not numeric(first[index]) and counts_up
    return not all(map(numeric, first))


def is_number(text: str) -> bool:
    """Whether the text is a number as this reader takes it."""
    try:
        table.number(text)
    except ValueError:
        return False
    return True


def _option(given: str | None) -> str | None:
    if given is None:
        return None
    if given not in SEPARATORS:
        raise OptionError(f"--separator {given!r}: must be one of {', '.join(list(SEPARATORS)[3:])}")
    return SEPARATORS[given]


def _separator(sample: str) -> str:
    """The one that makes most fields numbers, on lines of equal length; a comma in doubt."""
    best, score = ",", 0.0
    for separator in (",", ";", "\t"):
        found = _share_of_numbers(sample, separator)
        if found > score:
            best, score = separator, found
    return best


def _share_of_numbers(sample: str, separator: str) -> float:
    """Of the fields after the first line; 0 where lines differ in length or hold one field only."""
    rows: list[list[str]] = []
    with suppress(csv.Error):  # the sample may end within quotes
        rows.extend(fields for _, fields in rows_of(io.StringIO(sample, newline=""), separator))
    widths = {len(row) for row in rows}
    if len(widths) != 1 or widths == {1}:
        return 0.0
    fields = [field for row in rows[1:] or rows for field in row]
    comma = separator != ","
    return sum(is_number(field.replace(",", ".") if comma else field) for field in fields) / len(fields)


def _decimal(sample: str, separator: str) -> str:
    """A comma if fields that are no numbers with a point become such, and no field has a point."""
    if separator == ",":
        return "."
    fields: list[str] = []
    with suppress(csv.Error):
        for _, row in rows_of(io.StringIO(sample, newline=""), separator):
            fields.extend(row)
    points = any("." in field and is_number(field) for field in fields)
    commas = any("," in field and is_number(field.replace(",", ".")) for field in fields)
    return "," if commas and not points else "."


def _columns(path: Path, width: int, names: tuple[str, ...], wanted: table.Wanted) -> table.Columns:
    if wanted.label is not None and not names and table.column_index(wanted.label) is None:
        raise OptionError(
            f"{path}: has no header line, so the label cannot be {wanted.label!r}; "
            f"give its index, 0 to {width - 1}"
        )
    return table.choose_columns(path, width, names, wanted)
