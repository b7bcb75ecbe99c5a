"""The text of LIBSVM's and LIBLINEAR's models: bytes in, a header and rows of numbers out.

Every number is checked here, and nothing larger than a small multiple of the
file is ever made. What the numbers mean is the business of `model.py`.
"""

from __future__ import annotations

import io
import re
from array import array
from dataclasses import dataclass, field
from math import isfinite
from operator import lt

from svmcompile.errors import ReadError
from svmcompile.read.kernels import MAX_FEATURES


@dataclass(frozen=True, slots=True)
class Grammar:
    """The keys of a header, those whose number of values nr_class gives, and the line that ends it."""

    library: str
    keys: tuple[str, ...]
    per_class: tuple[str, ...]
    end: str


LIBSVM = Grammar(
    "LIBSVM",
    (
        "svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv", "rho",
        "label", "probA", "probB", "prob_density_marks", "nr_sv",
    ),
    ("rho", "label", "probA", "probB", "nr_sv"),
    "SV",
)  # fmt: skip

INT_MIN, INT_MAX = -(2**31), 2**31 - 1  # labels and counts are C ints
TEXT = re.compile(rb"[\t\x20-\x7e]*")
WHOLE = re.compile(rb"[+-]?[0-9]{1,10}")
# Python's float reads `nan`, `inf` and `1_0` too; without their letters it is as strict as C.
DECIMAL = b"0123456789+-.eE"
SPARSE = DECIMAL + b": \t"


@dataclass
class Header:
    """The values behind each key, and the line each stands on."""

    where: str
    grammar: Grammar = LIBSVM
    values: dict[str, list[bytes]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    ends_in_space: bool = False  # as ThunderSVM writes the last line

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def error(self, key: str, text: str) -> ReadError:
        return ReadError(f"{self.place(key)}: {text}")

    def place(self, key: str) -> str:
        return f"{self.where}:{self.lines[key]}"

    def list_of(self, key: str, count: int | None) -> list[bytes]:
        """The values of a key that must be there, `count` of them if that is known."""
        if key not in self.values:
            raise ReadError(f"{self.where}:{self.lines[self.grammar.end]}: the header has no {key!r}")
        found = self.values[key]
        if count is not None and len(found) != count:
            raise self.error(key, f"{key} has {len(found)} value(s), expected {count}")
        return found

    def word(self, key: str) -> str:
        return self.list_of(key, 1)[0].decode("ascii")

    def wholes(self, key: str, count: int, low: int, high: int) -> list[int]:
        """Integers within low..high."""
        found = []
        for token in self.list_of(key, count):
            value = int(token) if WHOLE.fullmatch(token) else None
            if value is None or not low <= value <= high:
                raise self.error(key, f"{key} has {shown(token)}, expected an integer in {low}..{high}")
            found.append(value)
        return found

    def class_count(self, kind: str, classifiers: tuple[str, ...]) -> int:
        """nr_class, which is 2 for everything that is not a classifier."""
        count = self.wholes("nr_class", 1, 1, INT_MAX)[0]
        if kind not in classifiers and count != 2:
            raise self.error(
                "nr_class", f"nr_class is {count}, but {self.grammar.library} writes 2 for {kind}"
            )
        if count == 1:
            raise self.error("nr_class", "the model has only one class; train with two or more classes")
        return count

    def decimals(self, key: str, count: int | None) -> list[float]:
        """Finite numbers."""
        found = []
        for token in self.list_of(key, count):
            value = decimal(token)
            if value is None:
                raise self.error(key, f"{key} has {shown(token)}, which is not a finite number")
            found.append(value)
        return found


@dataclass
class Rows:
    """Support vectors as read: flat, so that memory follows the file and not what it announces."""

    coefficients: array[float] = field(default_factory=lambda: array("d"))
    indices: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))
    lengths: array[int] = field(default_factory=lambda: array("q"))
    largest: int = 0  # the largest index
    largest_line: int = 0
    from_zero: bool = False  # whether a vector has the index 0

    def __len__(self) -> int:
        return len(self.lengths)


class Lines:
    """The lines of a file one by one, with the number of the last."""

    def __init__(self, content: bytes, where: str) -> None:
        self.where = where
        self.number = 0
        self._lines = io.BytesIO(content)

    def next(self) -> bytes | None:
        """The next line without its end, or None after the last."""
        line = self._lines.readline()
        if not line:
            return None
        self.number += 1
        return line.removesuffix(b"\n").removesuffix(b"\r")

    def error(self, text: str) -> ReadError:
        return ReadError(f"{self.where}:{self.number}: {text}")


def shown(token: bytes) -> str:
    """A piece of the file, cut to a size that fits a message."""
    text = token[:40].decode("ascii", "backslashreplace")
    return f"'{text}{'...' if len(token) > 40 else ''}'"


def decimal(token: bytes) -> float | None:
    """A finite number, or None."""
    if not token or token.strip(DECIMAL):
        return None
    try:
        value = float(token)
    except ValueError:
        return None
    return value if isfinite(value) else None


def read_header(lines: Lines, grammar: Grammar = LIBSVM) -> Header:
    """All lines up to the one that ends a header."""
    header = Header(lines.where, grammar)
    while (line := lines.next()) is not None:
        if not TEXT.fullmatch(line):
            raise lines.error(f"{shown(line)} is not plain text, so this is not a {grammar.library} model")
        key, *values = line.split() or [b""]
        name = key.decode("ascii")
        if name == grammar.end and not values:
            header.lines[name] = lines.number
            header.ends_in_space = line.endswith(b" ")
            return header
        _check_key(lines, header, name, key)
        header.values[name], header.lines[name] = values, lines.number
    raise lines.error(
        f"the file ends before the line '{grammar.end}'; it was cut off or is not a {grammar.library} model"
    )


def _check_key(lines: Lines, header: Header, name: str, key: bytes) -> None:
    grammar = header.grammar
    if name not in grammar.keys:
        known = ", ".join(grammar.keys)
        raise lines.error(f"{shown(key)} is not a header key of {grammar.library}; known: {known}")
    if name in header:
        raise lines.error(f"{name} appears twice, first on line {header.lines[name]}")
    # The library itself reads these lists by the nr_class met before.
    if name in grammar.per_class and "nr_class" not in header:
        raise lines.error(f"{name} comes before nr_class")


def read_rows(lines: Lines, total: int, n_coefficients: int) -> Rows:
    """`total` lines of coefficients and index:value pairs, and nothing but blank lines after them."""
    rows = Rows()
    while (line := lines.next()) is not None:
        if len(rows) < total:
            read_row(lines, line, n_coefficients, rows)
        elif line.strip(b" \t"):
            raise lines.error(f"text after the last of {total} support vectors: {shown(line)}")
    if len(rows) < total:
        raise lines.error(f"the file ends after {len(rows)} support vectors, total_sv says {total}")
    return rows


def read_row(lines: Lines, line: bytes, n_coefficients: int, rows: Rows) -> None:
    tokens = line.split()
    try:
        if line.strip(SPARSE):
            raise ValueError
        coefficients = [float(token) for token in tokens[:n_coefficients]]
        pairs = [token.split(b":") for token in tokens[n_coefficients:]]
        indices = [int(index) for index, _ in pairs]
        values = [float(value) for _, value in pairs]
    except ValueError:
        raise lines.error(_explain(line, n_coefficients)) from None
    if len(coefficients) != n_coefficients or not all(map(isfinite, coefficients + values)):
        raise lines.error(_explain(line, n_coefficients))
    if indices:
        _check_indices(lines, indices)
        rows.from_zero |= indices[0] == 0
        if indices[-1] > rows.largest:
            rows.largest, rows.largest_line = indices[-1], lines.number
    rows.coefficients.extend(coefficients)
    rows.indices.extend(indices)
    rows.values.extend(values)
    rows.lengths.append(len(indices))


def _check_indices(lines: Lines, indices: list[int]) -> None:
    if indices[0] < 0:
        raise lines.error(f"feature index {indices[0]}; indices start at 1, or at 0")
    if not all(map(lt, indices, indices[1:])):
        raise lines.error("feature indices must increase from left to right, without repeats")
    if indices[-1] > MAX_FEATURES:
        raise lines.error(f"feature index {indices[-1]} is above the limit of {MAX_FEATURES}")


def _explain(line: bytes, n_coefficients: int) -> str:
    """What is wrong with a row, found the slow way."""
    tokens = line.split()
    for token in tokens[:n_coefficients]:
        if decimal(token) is None:
            return f"{shown(token)} is not a finite number; expected {n_coefficients} coefficient(s) first"
    if len(tokens) < n_coefficients:
        return f"{len(tokens)} coefficient(s), expected {n_coefficients} (nr_class - 1)"
    for token in tokens[n_coefficients:]:
        index, _, value = token.partition(b":")
        if not WHOLE.fullmatch(index) or decimal(value) is None:
            return f"{shown(token)} is not a pair index:value with a finite value"
    return f"{shown(line)} is not a support vector"
