"""Text that leaves the program, and JSON that enters it.

Labels, names and notes come from files of anybody. What a terminal would act on is spelled out; JSON keeps
to its standard, which has no infinity.
"""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable
from typing import Any

ACTED_ON = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, direction, halves of characters, ends of lines


def visible(text: str) -> str:
    """The text with every character spelled out that a terminal acts on, but the ends of lines."""
    if text.isprintable():
        return text
    return "".join(one if one == "\n" or not _is_acted_on(one) else _spelled(one) for one in text)


def _is_acted_on(one: str) -> bool:
    return unicodedata.category(one) in ACTED_ON


def _spelled(one: str) -> str:
    return one.encode("unicode_escape").decode()


def json_text(value: Any, indent: int | None = 2, default: Callable[[Any], Any] | None = None) -> str:
    """Sorted by key; in place of numbers that JSON lacks the words "Infinity", "-Infinity" and "NaN"."""
    words = _in_words(value)
    return json.dumps(words, indent=indent, sort_keys=True, allow_nan=False, default=default) + "\n"


def _in_words(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _in_words(item) for key, item in value.items()}
    return [_in_words(item) for item in value] if isinstance(value, (list, tuple)) else value


def read_json(content: str | bytes) -> Any:
    """What JSON stands for; a ValueError for what is none, or nested too deep to be read."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
