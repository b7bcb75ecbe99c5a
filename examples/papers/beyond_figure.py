"""Accuracy against size and against time, of what `python examples/papers --paper beyond` measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from beyond_models import BUDGETS
from cells import Figures, Store
from common import OUTPUT
from pages.beyond import CELLS, COLUMNS, SIZED
from style import GREY, SEQUENCE, legend, pyplot, save, stroke

MARKERS = "osD^vP"
TITLES = {"kB": "parameters, kB", "time": "time, our exact C = 1"}


def figures_of(task: str) -> Figures:
    store = Store(OUTPUT / "cells")
    found: Figures = {}
    for cell in CELLS[task]:
        found |= store.read("beyond", cell) or {}
    return found


def measured() -> dict[str, Figures]:
    """Figures by set, of sets that are measured completely."""
    found = {task: figures_of(task) for task in CELLS}
    wanted = [f"{family} time 64" for family in SIZED]
    return {task: figures for task, figures in found.items() if all(name in figures for name in wanted)}


def draw(path: Path) -> Path:
    """A column of two panels per set; the file's path."""
    sets = measured()
    if not sets:
        raise SystemExit("nothing to draw: run `python examples/papers --paper beyond` first")
    figure, axes = pyplot().subplots(
        2, len(sets), figsize=(2.35 * len(sets), 4.9), sharey="col", squeeze=False
    )
    for column, (task, figures) in zip(axes.T, sets.items(), strict=True):
        for axis, (what, title) in zip(column, TITLES.items(), strict=True):
            _panel(axis, figures, what)
            axis.set_xlabel(title)
        column[0].set_title(task)
    for axis in axes[:, 0]:
        axis.set_ylabel("accuracy, %")
    lines = [
        stroke(name, colour, marker=marker, markersize=4)
        for name, colour, marker in zip(COLUMNS, SEQUENCE, MARKERS, strict=True)
    ]
    legend(figure, [*lines, stroke("the SVM itself", GREY, linestyle=":")])
    return save(figure, path)


def _panel(axis: Any, figures: Figures, what: str) -> None:
    for family, colour, marker in zip(SIZED, SEQUENCE, MARKERS, strict=True):
        points = sorted(set(_points(figures, family, what)))
        axis.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=4, linewidth=1.1)
    svm = figures["exact accuracy any"]
    axis.axhline(svm, color=GREY, linestyle=":", linewidth=1)
    found = [accuracy for family in SIZED for _, accuracy in _points(figures, family, what)]
    lowest = min(max(min(found), svm - 12), svm - 3)  # far below, nobody wants it
    axis.set_ylim(lowest - 0.3, max(*found, svm) + 0.3)
    axis.set_xscale("log")
    ticks = BUDGETS if what == "kB" else (0.01, 0.1, 1, 10)
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()


def _points(figures: Figures, family: str, what: str) -> Sequence[tuple[float, float]]:
    sizes = [str(size) for size in BUDGETS if f"{family} {what} {size}" in figures]
    return [(figures[f"{family} {what} {size}"], figures[f"{family} accuracy {size}"]) for size in sizes]
