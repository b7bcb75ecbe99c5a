"""Numbers, strings and tables as C text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError

WIDTH = 80
# Decimals are readable, but compilers take about a second per megabyte for
# them; larger tables become string literals, which take a tenth of that.
MAX_DECIMAL_BYTES = 1 << 18
MIN_ROW = 4  # rows at least this wide start on a line of their own

# Escapes have three digits each, so that no following digit is taken in; '?' could start a trigraph.
IN_STRING = [
    chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in range(256)
]
LINE_BYTES = 64
WHOLE = ("u8", "i8", "i16", "i32")  # number types without fractions


def real(value: float, number: str) -> str:
    """Shortest literal that gives the value back: `0.1f`, `1.0`, `3e-07f`."""
    if number in WHOLE:
        return str(int(value))
    single = number == "f32"
    with np.errstate(over="ignore"):
        held = np.float32(value) if single else np.float64(value)
    if not np.isfinite(held):
        hint = "use precision f64" if single and np.isfinite(value) else "C has no literal for it"
        raise EmitError(f"the number {float(value):.6g} cannot be written as {number}; {hint}")
    # Not str(), which numpy's print options can change.
    plain = held == 0 or 1e-4 <= abs(float(held)) < 1e7
    digits = np.format_float_positional(held, trim="0") if plain else _scientific(held)
    return digits + "f" if single else digits


def _scientific(value: np.floating[Any]) -> str:
    return np.format_float_scientific(value, trim="-", exp_digits=2)


def string(text: str) -> str:
    """A C string literal in UTF-8."""
    if "\0" in text:
        raise EmitError(f"label {text!r} holds a NUL character, which ends a string in C")
    try:
        content = text.encode()
    except UnicodeEncodeError:
        raise EmitError(f"label {text!r} is not valid text and has no UTF-8 form") from None
    return '"' + "".join(IN_STRING[byte] for byte in content) + '"'


def wrap(items: Iterable[str], indent: str = "    ") -> str:
    """Comma-separated items on lines of limited width; an item is never broken."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + len(item) + 3 <= WIDTH:
            lines[-1] += f", {item}"
        else:
            lines.append(indent + item)
    return ",\n".join(lines)


def is_bulk(table: NDArray[Any]) -> bool:
    """Whether a table goes into a string literal."""
    return table.nbytes > MAX_DECIMAL_BYTES


def halves(table: NDArray[np.float16]) -> str:
    """A table of half precision as the integers that hold its bits."""
    return wrap([str(bits) for bits in table.ravel().view(np.uint16)])


def wholes(table: NDArray[Any]) -> str:
    """A table of whole numbers that are not negative."""
    suffix = "u" if table.dtype == np.uint32 else ""
    return wrap([f"{number}{suffix}" for number in table.ravel()])


def decimals(table: NDArray[Any], number: str) -> str:
    """A table as decimal literals, row by row where rows are wide enough."""
    rows = table if table.ndim == 2 and table.shape[1] >= MIN_ROW else table.reshape(1, -1)
    return ",\n".join(wrap(real(value, number) for value in row) for row in rows)


def octets(table: NDArray[Any]) -> str:
    """A table as string literals of its little-endian bytes, one per line."""
    content = np.ascontiguousarray(table, dtype=table.dtype.newbyteorder("<")).tobytes()
    lines = (content[at : at + LINE_BYTES] for at in range(0, len(content), LINE_BYTES))
    return "\n".join('"' + "".join(map(IN_STRING.__getitem__, line)) + '"' for line in lines)
