"""Read-back: the tables of a C file, parsed and held against the program bit for bit.

A small reader that shares nothing with what wrote the text. What it does not know, it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.program import Labels

# A table of numbers, one of bytes behind a union, or the labels, each at the start of a line.
DEFINITION = re.compile(
    r"^(?:static )?const (?:\w+_FLASH )?(?P<type>union|char|\w+_t|float|double) (?:\*const )?"
    r"(?:(?P<name>\w+)\[(?P<count>\d+)\]|\{\n"
    r"    unsigned char bytes\[(?P<bytes>\d+) \+ 1\];\n    (?P<of>\w+) values\[(?P<many>\d+)\];\n"
    r"\} (?P<bulk>\w+))"
    r"[^=;\n]* = \{\n",
    re.MULTILINE,
)
END = "\n};"
ALIAS = re.compile(r"\n#define (\w+) \((\w+)\.values\)\n")
STRING = re.compile(r'"((?:[^"\\\n]|\\[0-7]{3})*)"')
SEPARATED = re.compile(r"\s*,?\s*")
WHOLE = re.compile(r"U?INT(?:32|64)_C\((.*)\)")
LEAST = {"INT32_MIN": -(1 << 31), "INT64_MIN": -(1 << 63)}
BELOW_FLOAT = (1 << 29) - 1  # the bits of a double that a float has not
WHOLE_TYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32")
TYPES: dict[str, Any] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")} | {
    f"{kind}_t": np.dtype(kind).newbyteorder("<") for kind in WHOLE_TYPES
}


class Found(NamedTuple):
    """A table as it stands in the text."""

    type: str
    size: int
    text: str
    bytes: int = 0  # of a table of bytes


def check_tables(
    source: str, tables: Mapping[str, NDArray[Any]], labels: Labels | None, label_name: str, parts: set[str]
) -> None:
    """Raise an EmitError unless the C holds these tables and labels to the last bit, and no others.

    `parts` are tables that nodes bring with their code, as they may.
    """
    try:
        found = {name: table for name, table in _definitions(source) if name not in parts}
        told = found.pop(label_name, None)
        _need((told is None) == (labels is None), f"{label_name} is missing, or too many")
        if told and labels:
            _need(_labels(told) == list(labels.values), f"{label_name} differs")
        _need(found.keys() == tables.keys(), f"tables {sorted(found.keys() ^ tables.keys())} do not match")
        for name, table in tables.items():
            _check(name, found[name], np.ascontiguousarray(table).ravel())
    except (ValueError, OverflowError) as error:
        raise EmitError(
            f"the C does not read back as the program it was made of: {error}; nothing was written. "
            "This is a fault of svmcompile: please report it with the model"
        ) from None


def differences(source: str, tables: Mapping[str, NDArray[Any]]) -> list[str]:
    """What is told of tables that the C has, and holds otherwise than these."""
    found, told = dict(_definitions(source)), []
    for name in found.keys() & tables.keys():
        try:
            _check(name, found[name], np.ascontiguousarray(tables[name]).ravel())
        except (ValueError, OverflowError) as error:
            told.append(str(error))
    return sorted(told)


def whole_tables(source: str) -> dict[str, NDArray[Any]]:
    """The tables of whole numbers in a C file, as they stand there."""
    found = {}
    for name, table in _definitions(source):
        kind = TYPES.get(table.type)
        if kind is not None and kind.kind != "f":
            if table.bytes:
                content = "".join(_strings(table.text)).encode("latin-1")
                found[name] = np.frombuffer(content, kind)
            else:
                found[name] = np.array([_integer(item.strip()) for item in table.text.split(",")], kind)
    return found


def without_tables(source: str) -> str:
    """The C with its tables declared only."""
    parts, at = [], 0
    for one in DEFINITION.finditer(source):
        end = source.index(END, one.end()) + len(END)
        alias = ALIAS.match(source, end) if one["bulk"] else None
        name, kind = (alias[1], one["of"]) if alias else (one["name"], one["type"])
        parts += [source[at : one.start()], f"static const {kind} {name}[{one['count'] or one['many']}];"]
        at = alias.end() if alias else end
    return "".join(parts) + source[at:]


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _definitions(source: str) -> Iterator[tuple[str, Found]]:
    """The tables of a file by the name that code calls them, each defined once."""
    seen: set[str] = set()
    for one in DEFINITION.finditer(source):
        end = source.index(END, one.end())
        text, name = source[one.end() : end], one["name"]
        found = Found(one["type"], int(one["count"] or 0), text)
        if one["bulk"]:
            alias = ALIAS.match(source, end + len(END))
            _need(alias is not None and alias[2] == one["bulk"], f"{one['bulk']} has no name of its own")
            assert alias
            name, found = alias[1], Found(one["of"], int(one["many"]), text, int(one["bytes"]))
        _need(name not in seen, f"{name} is defined twice")
        seen.add(name)
        yield name, found


def _check(name: str, found: Found, table: NDArray[Any]) -> None:
    wanted = table.view(np.uint16) if table.dtype == np.float16 else table
    kind = TYPES.get(found.type)
    _need(kind == wanted.dtype.newbyteorder("<"), f"{name} is of type {found.type}, not {wanted.dtype}")
    _need(found.size == wanted.size, f"{name} has {found.size} numbers, not {wanted.size}")
    assert kind is not None
    if found.bytes:
        content = "".join(_strings(found.text)).encode("latin-1")
        _need(len(content) == found.bytes == wanted.nbytes, f"{name} has {len(content)} bytes")
        _need(content == wanted.astype(kind).tobytes(), f"{name} differs")
        return
    items = found.text.split(",")
    _need(len(items) == wanted.size, f"{name} holds {len(items)} numbers, not {wanted.size}")
    if kind.kind != "f":
        numbers = np.array(items).astype(np.int64)
        _need(bool((numbers == wanted).all()), f"{name} differs")
        return
    if kind.itemsize == 4:
        items = [item.strip().removesuffix("f") for item in items]
        _need(found.text.count("f") == len(items), f"{name} holds numbers that are not float")
    read = np.array(items).astype(np.float64)
    other = read.astype(kind).view(f"u{kind.itemsize}") != wanted.view(f"u{kind.itemsize}")
    if kind.itemsize == 4:  # rounded twice by now, as no compiler does: look at what the first made a tie
        other |= read.view(np.uint64) & BELOW_FLOAT == (BELOW_FLOAT + 1) // 2
    for at in np.flatnonzero(other):
        _need(
            _is_nearest(Fraction(items[at]), wanted[at]), f"{name}[{at}] is {items[at]}, not {wanted[at]!r}"
        )


def _is_nearest(decimal: Fraction, number: Any) -> bool:
    """Whether a decimal rounds to a number: closer to no neighbour; a tie goes to the even one."""
    away = [np.nextafter(number, number.dtype.type(end)) for end in (-np.inf, np.inf)]
    off = abs(decimal - Fraction(float(number)))
    others = [abs(decimal - Fraction(float(other))) for other in away if np.isfinite(other)]
    even = int(number.view(f"u{number.dtype.itemsize}")) % 2 == 0
    return bool(number != 0) and all(off < other or (off == other and even) for other in others)


def _strings(text: str) -> Iterator[str]:
    """The string literals of a text, one character a byte, with nothing but commas between them."""
    at = 0
    while at < len(text):
        one = STRING.match(text, at)
        _need(one is not None, "a string is not as we write them")
        assert one
        yield one[1].encode("ascii").decode("unicode_escape")
        separated = SEPARATED.match(text, one.end())
        at = separated.end() if separated else len(text)


def _labels(found: Found) -> list[Any]:
    """Labels as they stand in the text."""
    if found.type == "char":
        values: list[Any] = [one.encode("latin-1").decode() for one in _strings(found.text.strip())]
    elif found.type == "double":
        values = [float(item) for item in found.text.split(",")]
    else:
        values = [_integer(item.strip()) for item in found.text.split(",")]
    _need(len(values) == found.size, "labels are missing")
    return values


def _integer(text: str) -> int:
    return LEAST[text] if text in LEAST else int(WHOLE.sub(r"\1", text))
