"""Numbers, strings and tables as C text; polynomial coefficients of each number type."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import Number

WIDTH = 80
# Decimals are readable, but compilers take about a second per megabyte for
# them; larger tables become string literals, which take a tenth of that.
MAX_DECIMAL_BYTES = 1 << 18
MIN_ROW = 4  # rows at least this wide start on a line of their own
# Escapes have three digits each, so that no following digit is taken in; '?' could start a trigraph.
IN_STRING = [
    chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in range(256)
]
LINE_BYTES, HOST_LINE_BYTES = 64, 28  # of a string literal; host code keeps to 120 columns
WHOLE = ("u8", "i8", "i16", "i32")  # number types without fractions
# 2^f = 1 + f (c1 + f (c2 + ...)) on [-1/2, 1/2], least worst relative error.
EXP2_COEFFICIENTS: dict[Number, tuple[float, ...]] = {
    "f32": (
        1.0, 0.6931472420692444, 0.24022652208805084, 0.055503103882074356,
        0.009617692790925503, 0.0013406643411144614, 0.00015594676369801164,
    ),
    "f64": (
        1.0, 0.6931471805599457, 0.24022650695910097, 0.05550410866479039, 0.009618129107607003,
        0.001333355815343997, 0.0001540353044157185, 1.5252727385189775e-05, 1.3215442675452854e-06,
        1.0180647660573069e-07, 7.072570394540799e-09, 4.0780717860928705e-10,
    ),
}  # fmt: skip
# The same for the host profile, where an operation more is one per kernel value: as short as the
# stated error allows; on [0, 1] for processors that split off the fraction themselves.
EXP2_FROM_NEAREST: dict[Number, tuple[float, ...]] = {
    "f32": (
        1.0, 0.6931469775979313, 0.24022242084564863, 0.055507337450183304, 0.009671512676821328,
        0.001326472666658417,
    ),
    "f64": EXP2_COEFFICIENTS["f64"],
}  # fmt: skip
EXP2_FROM_FLOOR: dict[Number, tuple[float, ...]] = {
    "f32": (
        1.0, 0.6931513118146168, 0.2401644500806607, 0.055799913287969335, 0.009017030135350938,
        0.0018671301371346208,
    ),
    "f64": (
        1.0, 0.693147180559946, 0.24022650695906303, 0.05550410866560708, 0.009618129099506217,
        0.0013333558631857664, 0.00015403512238913757, 1.5253176424663647e-05, 1.3208350501098494e-06,
        1.0253339193373275e-07, 6.558991114570944e-09, 6.264450028309692e-10,
    ),
}  # fmt: skip
COSINE_TERMS: dict[Number, int] = {"f32": 7, "f64": 12}
LOG_TERMS: dict[Number, int] = {"f32": 5, "f64": 11}
LOWEST: dict[Number, str] = {"f32": "-3.4028235e+38f", "f64": "-1.7976931348623157e+308"}  # finite


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
    digits = np.format_float_positional(held, trim="0")
    digits = digits if plain else np.format_float_scientific(held, trim="-", exp_digits=2)
    return digits + "f" if single else digits


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


def decimals(table: NDArray[Any], number: str) -> str:
    """A table as decimal literals, row by row where rows are wide enough."""
    rows = table if table.ndim == 2 and table.shape[1] >= MIN_ROW else table.reshape(1, -1)
    return ",\n".join(wrap(real(value, number) for value in row) for row in rows)


def octets(table: NDArray[Any], step: int = LINE_BYTES) -> str:
    """A table as string literals of its little-endian bytes, `step` per line."""
    content = np.ascontiguousarray(table, dtype=table.dtype.newbyteorder("<")).tobytes()
    lines = (content[at : at + step] for at in range(0, len(content), step))
    return "\n".join('"' + "".join(map(IN_STRING.__getitem__, line)) + '"' for line in lines)


def cosine_terms(number: Number) -> list[float]:
    """cos(2 pi f) = sum_k (-1)^k (2 pi f)^2k / (2k)! for f up to a quarter, in powers of f^2."""
    count = COSINE_TERMS[number]
    return [(-1) ** k * (2 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in range(count)]


def cosine_numbers(number: Number) -> dict[str, Any]:
    """Literals of the cosine."""
    return {
        "cosine": [real(term, number) for term in cosine_terms(number)],
        "quarter": real(0.25, number),
        "told": real(2.0**22 if number == "f32" else 2.0**51, number),
        "all_whole": real(2.0**24 if number == "f32" else 2.0**53, number),
        "whole": "int32_t" if number == "f32" else "int64_t",
        "cos_error": "3e-7" if number == "f32" else "6e-16",
    }


def log_numbers(number: Number) -> dict[str, Any]:
    """Literals of ln m = 2 s (1 + s^2 / 3 + s^4 / 5 + ...) with s = (m - 1) / (m + 1)."""
    return {
        "log": [real(2 / (2 * k + 1), number) for k in range(LOG_TERMS[number])],
        "root_two": real(math.sqrt(2), number),
        "ln2": real(math.log(2), number),
        "tiniest": real(2.0**-126 if number == "f32" else 2.0**-1022, number),
        "log_error": "4e-7" if number == "f32" else "8e-16",
    }


def _short_chains(coefficients: list[str]) -> list[tuple[str, str]]:
    """Names and texts of steps that lead to a polynomial of f; few wait for each other."""
    steps: list[tuple[str, str]] = []
    terms, power = list(coefficients), "f"
    while len(terms) > 1:
        pairs = [terms[at : at + 2] for at in range(0, len(terms), 2)]
        terms = []
        for pair in pairs:
            if len(pair) == 2:
                steps.append((f"k{len(steps)}", f"{pair[1]} * {power} + {pair[0]}"))
            terms.append(steps[-1][0] if len(pair) == 2 else pair[0])
        if len(terms) > 1:
            steps.append((f"{power}f", f"{power} * {power}"))
            power += "f"
    return steps


def _numbers(number: Number, **own: Any) -> dict[str, Any]:
    """Literals of one number type."""
    plain = {"zero": 0.0, "half": 0.5, "one": 1.0, "two": 2.0, "raised": 16.0}
    plain["two_log2e"] = 2 * math.log2(math.e)
    values: dict[str, Any] = {key: real(value, number) for key, value in plain.items()}
    polynomials = EXP2_COEFFICIENTS, EXP2_FROM_NEAREST, EXP2_FROM_FLOOR
    for key, polynomial in zip(("coefficients", "from_nearest", "from_floor"), polynomials, strict=True):
        values[key] = [real(value, number) for value in polynomial[number]]
    values["short_chains"] = _short_chains(values["from_nearest"])
    return values | cosine_numbers(number) | log_numbers(number) | own


NUMBERS: dict[Number, dict[str, Any]] = {
    "f32": _numbers(
        "f32", bits="uint32_t", mantissa=23, bias=127, min="-126.0f", max="127", error="2e-7",
        tanh_limit="10.0f", tanh_error="3e-7", magic="12582912.0f", sign_bit=31, suffix="ps",
    ),
    "f64": _numbers(
        "f64", bits="uint64_t", mantissa=52, bias=1023, min="-1022.0", max="1023", error="4e-16",
        tanh_limit="20.0", tanh_error="6e-16", magic="6755399441055744.0", sign_bit=63, suffix="pd",
    ),
}  # fmt: skip


def is_bulk(table: NDArray[Any]) -> bool:
    """Whether a table is too large for decimals."""
    return table.nbytes > MAX_DECIMAL_BYTES
