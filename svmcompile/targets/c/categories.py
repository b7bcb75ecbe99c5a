"""Categories in C: the names of columns of text, and the function that finds the code of one by bisection.

Slot s holds the bytes starts[s] to starts[s + 1] - 1, in the order of the bytes; column k the slots
firsts[k] to firsts[k + 1] - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.categories import MISSING, UNKNOWN, TextColumn
from svmcompile.errors import EmitError
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Function
from svmcompile.targets.templating import comment

LISTED = 50  # names of a column in a header
ROOM = (np.uint8, np.uint16, np.uint32)


@dataclass(frozen=True, slots=True)
class CategoryTables:
    """All that the templates need of categories."""

    tables: dict[str, NDArray[Any]]
    count: int  # of columns
    has_codes: bool  # codes are not in the order of the bytes
    functions: tuple[Function, Function]


def category_tables(program: Program, name: str) -> CategoryTables | None:
    """What C has of the categories of a program; None where no feature is text."""
    columns = program.categories.texts
    if not columns:
        return None
    if program.input.number:
        raise EmitError(
            f"rows of {program.input.number} (given, --input) cannot hold the codes of columns of text; "
            "leave this out, and rows are floats"
        )
    slots = [sorted((text.encode(), code) for text, code in column.codes.items()) for column in columns]
    texts = [text for column in slots for text, _ in column]
    codes = np.array([code for column in slots for _, code in column])
    firsts = np.concatenate([[0], np.cumsum([len(column) for column in slots])])
    in_order = codes == np.arange(len(codes)) - np.repeat(firsts[:-1], np.diff(firsts))
    found: dict[str, NDArray[Any]] = {
        "features": np.array([column.feature for column in columns], dtype=np.int32),
        "missing": np.array([bool(column.missing) for column in columns], dtype=np.uint8),
        "firsts": _narrow(firsts),
        "starts": _narrow(np.concatenate([[0], np.cumsum([len(text) for text in texts])])),
        "bytes": np.frombuffer(b"".join(texts) or b"\0", np.uint8),
    }
    if not in_order.all():
        found["codes"] = codes.astype(np.int32)
    return CategoryTables(
        {f"{name}_category_{key}": table for key, table in found.items()},
        len(columns),
        "codes" in found,
        category_functions(name),
    )


def _narrow(table: NDArray[Any]) -> NDArray[Any]:
    """In the narrowest type that holds it."""
    return table.astype(next(kind for kind in ROOM if table[-1] <= np.iinfo(kind).max))


def category_functions(name: str) -> tuple[Function, Function]:
    """What the header declares."""
    told = f"{name.upper()}_CATEGORY_"
    text = f"The code of a text, UTF-8 ending in NUL, in a row; {told}UNKNOWN, or {told}MISSING for NULL."
    single = Function(text, f"float {name}_category(int feature, const char *utf8)")
    sized = f"float {name}_category_n(int feature, const char *utf8, size_t n)"
    return single, Function("The same for a text of n bytes.", sized)


def category_constants(program: Program) -> dict[str, int]:
    """The codes that are no names, and how many names each column has."""
    columns = program.categories.texts
    if not columns:
        return {}
    counts = {f"N_CATEGORIES_{column.feature}": len(column.names) for column in columns}
    return {"CATEGORY_UNKNOWN": UNKNOWN, "CATEGORY_MISSING": MISSING} | counts


def category_lines(program: Program) -> list[str]:
    """What a header says of each column."""
    return [_line(column, program.feature_names) for column in program.categories.texts]


def _line(column: TextColumn, names: tuple[str, ...]) -> str:
    own = f" ({comment(names[column.feature])})" if names else ""
    listed = [f"{code} {comment(repr(name))}" for code, name in enumerate(column.names[:LISTED])]
    if len(column.names) > LISTED:
        listed.append(f"{len(column.names) - LISTED} more, which the report lists")
    if column.missing:
        listed.append(
            f"{MISSING} {comment(repr(column.marker)) if column.missing == 'text' else 'missing'}"
        )
    return f"{column.feature}{own}: {', '.join(listed)}"


def category_bytes(program: Program) -> int:
    """Bytes of the tables."""
    found = category_tables(program, "")
    return sum(table.nbytes for table in found.tables.values()) if found else 0
