"""Tables and words that the printed reports of commands share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich import markup
from rich.console import Console
from rich.segment import Segment
from rich.table import Table

from svmcompile.files.plain import visible

Report = dict[str, Any]


class Plain(Console):
    """A terminal that acts on nothing in the text it gets; colours are our own."""

    def render(self, *given: Any, **more: Any) -> Iterable[Segment]:
        for text, style, control in super().render(*given, **more):
            yield Segment(text if control else visible(text), style, control)


console = Plain(highlight=False)


def escape(text: str) -> str:
    """Text as it is, without markup and without what a terminal acts on."""
    return markup.escape(visible(text))


def titled(title: str, *columns: str, right: tuple[str, ...] = ()) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    whole = {*right, "form", "method", "contender"}
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", no_wrap=column in whole)
    return table


def narrow(table: Table) -> Table:
    """With less room between columns, to fit into 80 characters."""
    table.padding, table.pad_edge = (0, 1, 0, 0), False
    return table


def print_notes(report: Report) -> None:
    for note in report["notes"]:
        print_note(note)


def print_note(note: str) -> None:
    """A note, in one line of any length: where lines end is for the terminal to say."""
    console.print(f"note: {escape(note)}", soft_wrap=True)


def size(count: float) -> str:
    """Bytes for a person."""
    for unit in ("B", "KB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"
