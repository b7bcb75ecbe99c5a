"""Numbers, strings and tables as C text: what is written is what comes back."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmcompile.errors import EmitError
from svmcompile.targets.c.literals import WIDTH, decimals, octets, real, string, wrap

ESCAPE = re.compile(rb"\\([0-7]{3})|([^\\])")


def c_string(literal: str) -> bytes:
    """What a C compiler makes of one string literal with three-digit escapes."""
    assert literal[0] == literal[-1] == '"'
    found = ESCAPE.finditer(literal[1:-1].encode("ascii"))
    return b"".join(bytes([int(m[1], 8)]) if m[1] else m[2] for m in found)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_float_comes_back(value: float) -> None:
    text = real(value, "f32")
    assert text.endswith("f") and re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?f", text)
    assert "." in text or "e" in text
    assert np.float32(text[:-1]).tobytes() == np.float32(value).tobytes()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_double_comes_back(value: float) -> None:
    text = real(value, "f64")
    assert "." in text or "e" in text
    assert np.float64(text).tobytes() == np.float64(value).tobytes()


def test_literals_are_short() -> None:
    assert [real(v, "f32") for v in (0.1, 1, -2.5, 3e-7, 1e30)] == [
        "0.1f",
        "1.0f",
        "-2.5f",
        "3e-07f",
        "1e+30f",
    ]
    assert [real(v, "f64") for v in (0.1, 1 / 3, 0.0)] == ["0.1", "0.3333333333333333", "0.0"]


def test_print_options_change_nothing() -> None:
    with np.printoptions(legacy="1.13", precision=3):
        assert real(np.float32(0.123456789), "f32") == "0.12345679f"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_numbers_without_a_literal_are_refused(value: float, number: str) -> None:
    with pytest.raises(EmitError, match="cannot be written"):
        real(value, number)


def test_a_double_beyond_float_asks_for_f64() -> None:
    with pytest.raises(EmitError, match="use precision f64"):
        real(1e39, "f32")
    assert real(1e39, "f64") == "1e+39"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_string_comes_back(text: str) -> None:
    literal = string(text)
    assert c_string(literal) == text.encode()
    assert literal.isascii() and literal.isprintable()
    assert "?" not in literal and '"' not in literal[1:-1]


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_strings_c_cannot_hold_are_refused(text: str) -> None:
    with pytest.raises(EmitError, match="label"):
        string(text)


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters='\n"\\,'), min_size=1)))
def test_wrap_keeps_items_whole(words: list[str]) -> None:
    items = [f'"{word}"' for word in words]
    text = wrap(items)
    assert [item for line in text.split("\n") for item in re.findall(r'"[^"]*"', line)] == items
    for line in text.split("\n"):
        assert len(line) <= WIDTH or line.count('"') == 2


def test_spaces_in_a_label_survive_the_end_of_a_line() -> None:
    label = "two  spaces " * 10
    assert string(label) in wrap([string("first label"), string(label), string("x")])


def test_rows_of_a_table_start_on_new_lines() -> None:
    table = np.arange(8, dtype=np.float32).reshape(2, 4)
    assert decimals(table, "f32") == "    0.0f, 1.0f, 2.0f, 3.0f,\n    4.0f, 5.0f, 6.0f, 7.0f"
    assert decimals(table.reshape(4, 2), "f32").count("\n") == 0


@given(st.binary(min_size=1, max_size=200))
def test_octets_are_the_bytes(content: bytes) -> None:
    table = np.frombuffer(content.ljust(-(-len(content) // 4) * 4, b"\0"), dtype="<f4")
    text = octets(table)
    assert b"".join(map(c_string, text.split("\n"))) == table.tobytes()
    assert text.replace("\n", "").isprintable() and "?" not in text


def test_octets_are_little_endian() -> None:
    table = np.array([1.5, -2.0])
    assert octets(table) == octets(table.astype(">f8"))
