"""The table of labels in C."""

from __future__ import annotations

from typing import Any

from svmcompile.errors import EmitError
from svmcompile.ir.program import Labels
from svmcompile.targets.c import literals

INT32 = range(-(1 << 31), 1 << 31)
INT64 = range(-(1 << 63), 1 << 63)
MAX_STRING = 4095  # what every C99 compiler takes; for more, a warning is turned off


def label_table(labels: Labels | None) -> dict[str, Any] | None:
    """The label table: the narrowest C type that holds every label as it is."""
    if labels is None:
        return None
    values = labels.values
    if labels.kind == "str":
        items, c_type = [literals.string(str(value)) for value in values], "char *const "
    elif labels.kind == "float":
        items, c_type = [literals.real(float(value), "f64") for value in values], "double "
    elif all(int(value) in INT32 for value in values):
        items, c_type = [_integer(int(value), "INT32") for value in values], "int32_t "
    elif all(int(value) in INT64 for value in values):
        items, c_type = [_integer(int(value), "INT64") for value in values], "int64_t "
    elif all(0 <= int(value) < 1 << 64 for value in values):
        items, c_type = [f"UINT64_C({int(value)})" for value in values], "uint64_t "
    else:
        raise EmitError("the labels do not fit any integer type of C")
    names = [str(value) for value in values]
    return {
        "type": c_type,
        "count": len(items),
        "text": literals.wrap(items),
        "long": any(len(item) > MAX_STRING for item in items),
        "names": literals.wrap([literals.string(text) for text in names], " " * 8),
        "longest": max(len(text.encode()) for text in names),
        "are_text": labels.kind == "str",
    }


def _integer(value: int, kind: str) -> str:
    """An integer literal; the least value of a type has no literal of its own."""
    if value == (INT32 if kind == "INT32" else INT64).start:
        return f"{kind}_MIN"
    return str(value) if value in INT32 else f"INT64_C({value})"
