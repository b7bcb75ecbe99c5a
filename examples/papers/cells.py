"""Cells of the papers' tables: single measurements, kept on disk so that a stopped run goes on."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Figures = dict[str, float]


class Unmeasured(Exception):
    """There are no figures of a cell, and the text says why; that is kept too."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One measurement: figures of one set, usually for one split.

    `needs` names the sets of SVMCOMPILE_DATA that it reads; bundled and generated sets need none.
    """

    key: str
    needs: tuple[str, ...]
    measure: Callable[[], Figures]


@dataclass(frozen=True)
class Store:
    """Figures by cell, one JSON file each. Keys are unique within a paper, so tables can share cells."""

    folder: Path
    fresh: bool = False

    def read(self, paper: str, cell: Cell) -> Figures | None:
        path = self._path(paper, cell)
        if not path.exists():
            return None
        found: dict[str, Figures] = json.loads(path.read_text())
        return found["figures"]

    def why_none(self, paper: str, cell: Cell) -> str:
        """Why a cell that was tried has no figures."""
        path = self._path(paper, cell)
        return str(json.loads(path.read_text()).get("why", "")) if path.exists() else ""

    def measure(self, paper: str, cell: Cell) -> Figures:
        """The figures of a cell, and a file of them that is whole or not there."""
        begin = time.process_time()
        figures: Figures = {}
        content: dict[str, Any] = {}
        try:
            figures = cell.measure()
        except Unmeasured as reason:
            content["why"] = str(reason)
        path = self._path(paper, cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        content |= {"figures": figures, "seconds": round(time.process_time() - begin, 1)}
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(content, indent=1))
        part.replace(path)
        return figures

    def seconds(self, paper: str, cells: Iterable[Cell]) -> float:
        """Processor time that the cells took when they were measured."""
        paths = [self._path(paper, cell) for cell in cells]
        return sum(float(json.loads(path.read_text())["seconds"]) for path in paths if path.exists())

    def _path(self, paper: str, cell: Cell) -> Path:
        name = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in cell.key)
        return self.folder / paper / f"{name}.json"
