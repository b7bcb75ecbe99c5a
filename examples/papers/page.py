"""Tables of figures beside a paper's own, and the page they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from cells import Cell, Figures

Read = Callable[[Cell], Figures | None]


@dataclass(frozen=True, eq=False)
class Row:
    """One quantity: what the paper has, and the names of our figures for it."""

    label: str
    cells: tuple[Cell, ...]
    paper: float | str | None
    published: str | None = None
    default: str | None = None
    form: str = "{:.3f}"
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """Quantities of one table of a paper."""

    key: str
    title: str
    rows: tuple[Row, ...]
    note: str = ""

    @property
    def cells(self) -> tuple[Cell, ...]:
        return _without_twins(cell for row in self.rows for cell in row.cells)

    def lines(self, read: Read) -> Iterator[str]:
        yield "| | paper | ours, as published | ours, by default | difference | why |"
        yield "|---|---|---|---|---|---|"
        for row in self.rows:
            yield "| " + " | ".join(row_cells(row, read)) + " |"


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a grid: a label, and one figure per column."""

    label: str
    cells: tuple[Cell, ...]
    names: tuple[str | None, ...]
    form: str | tuple[str, ...] = "{:.3f}"


@dataclass(frozen=True, eq=False)
class Grid:
    """A table with columns of its own."""

    key: str
    title: str
    head: tuple[str, ...]
    body: tuple[Line, ...]
    note: str = ""

    @property
    def cells(self) -> tuple[Cell, ...]:
        return _without_twins(cell for line in self.body for cell in line.cells)

    def lines(self, read: Read) -> Iterator[str]:
        yield "| " + " | ".join(self.head) + " |"
        yield "|" + "---|" * len(self.head)
        for line in self.body:
            forms = line.form if isinstance(line.form, tuple) else (line.form,) * len(line.names)
            texts = [
                _text(_values(line.cells, name, read), form)
                for name, form in zip(line.names, forms, strict=True)
            ]
            yield "| " + " | ".join([line.label, *texts]) + " |"


@dataclass(frozen=True, eq=False)
class Paper:
    """A paper with its tables, small ones that need no data folder, and sets that cannot be had."""

    key: str
    title: str
    tables: tuple[Table | Grid, ...]
    quick: tuple[Table | Grid, ...] = ()
    missing: dict[str, str] = field(default_factory=dict)
    about: str = ""


def row_cells(row: Row, read: Read) -> list[str]:
    """The texts of a row: label, paper, ours as published, by default, difference, why."""
    published, default = (_values(row.cells, name, read) for name in (row.published, row.default))
    gap, beyond = difference(row, published if published.size else default)
    paper = row.form.format(row.paper) if isinstance(row.paper, (int, float)) else row.paper or "-"
    why = (row.reason or "not explained") if beyond else "-"
    return [row.label, paper, _text(published, row.form), _text(default, row.form), gap, why]


def difference(row: Row, values: np.ndarray) -> tuple[str, bool]:
    """Ours minus the paper's, and whether it exceeds the spread over splits and the paper's rounding."""
    if not isinstance(row.paper, (int, float)) or not values.size:
        return "-", False
    gap = float(values.mean()) - row.paper
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    text = row.form.replace("{:", "{:+").format(gap)
    return text, abs(gap) > max(spread, _rounding(row.paper))


def _rounding(number: float) -> float:
    """Half a unit of the last digit of a published figure."""
    digits = f"{number:g}".partition(".")[2]
    return 0.5 * 10.0 ** -len(digits)


def _values(cells: tuple[Cell, ...], name: str | None, read: Read) -> np.ndarray:
    """A figure over the cells that are measured; those that lack it are left out."""
    found = [figures[name] for cell in cells if (figures := read(cell)) and name in figures] if name else []
    return np.asarray(found, dtype=np.float64)


def _text(values: np.ndarray, form: str) -> str:
    if not values.size:
        return "-"
    spread = f" ± {form.format(values.std(ddof=1))}" if len(values) > 1 else ""
    return form.format(values.mean()) + spread


def _without_twins(cells: Iterator[Cell]) -> tuple[Cell, ...]:
    return tuple({cell.key: cell for cell in cells}.values())


def section(table: Table | Grid, read: Read, level: str = "###") -> Iterator[str]:
    """A table under its title, with how much of it is measured where that is not all."""
    yield from (f"{level} {table.title}", "")
    done = sum(read(cell) is not None for cell in table.cells)
    if done < len(table.cells):
        yield from (f"Measured: {done} of {len(table.cells)} cells.", "")
    if table.note:
        yield from (table.note, "")
    if done:
        yield from table.lines(read)
        yield ""
