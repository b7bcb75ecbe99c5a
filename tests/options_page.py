"""Writes docs/options.md: every option of every method, from the dataclasses that declare them.

python -m tests.options_page docs/options.md      (make options-page)
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from svmcompile.accelerate.registry import METHODS
from svmcompile.commands.methods import facts, text
from tests.api_page import table

HEAD = """# Options of the methods

`make options-page` writes this page from the code; a test says that it is up to date. Give options as
`svmcompile compile ... --method NAME --set KEY=VALUE`, or as `sc.compile(model, method="NAME", key=value)`.
`svmcompile methods NAME` prints them. What methods do and which one suits you: [methods](methods.md).
"""
CLAIM = "Claim {claim}. {needs}"
NEEDS = {True: "Needs representative rows (`--data`, `X`).", False: "Needs no data."}


def page() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(part for name in METHODS for part in of_method(facts(name)))])


def of_method(one: dict[str, Any]) -> Iterator[str]:
    """A heading, what the method does, and its tables."""
    yield f"## {one['name']}\n\n{one['summary']}\n"
    yield CLAIM.format(claim=one["claim"], needs=NEEDS[one["needs_data"]]) + "\n"
    yield rows(one["options"]) or "It has no options.\n"
    if one["trains"]:
        yield f"### Training with {one['name']}\n"
        yield f"Options of `svmcompile train --method {one['name']}` and `sc.train`.\n"
        yield rows(one["train_options"])


def rows(options: list[dict[str, Any]]) -> str:
    head = ("option", "type", "default", "range", "what it does")
    return table(
        head,
        (
            (f"`{one['name']}`", one["type"], shown(one["default"]), one["range"], one["text"])
            for one in options
        ),
    )


def shown(default: Any) -> str:
    return f"`{text(default)}`" if text(default) else "none"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
