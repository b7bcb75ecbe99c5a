"""Half-spaces one after the other, and the regions they label, as a picture (needs the extra `report`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from common import Split

from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Program

STEPS = 500  # points of the grid along each side
SHOWN = (1, 2, 3, 5)  # after so many planes, and at the end
COLOURS = ("#dce9f5", "#ffffff", "#fbe5d6")  # one class, nobody yet, the other


def draw(programs: Mapping[str, Program], data: Split, path: Path) -> Path:
    """A row of panels per program; the file's path."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = len(SHOWN) + 1
    panels, axes = pyplot.subplots(len(programs), columns, figsize=(3.4 * columns, 3.6 * len(programs)))
    for row, (name, program) in zip(np.atleast_2d(axes), programs.items(), strict=True):
        node = next(node for node in program.body if isinstance(node, ir.PlaneLists))
        total = len(program.tables[node.answers])
        for axis, count in zip(row, (*(min(n, total) for n in SHOWN), total), strict=True):
            _panel(axis, program, node, data, count, count == total and axis is row[-1])
            axis.set_title(f"{name}: {count} of {total} planes", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    panels.savefig(path, dpi=90, bbox_inches="tight")
    pyplot.close(panels)
    return path


def _panel(axis: Any, program: Program, node: ir.PlaneLists, data: Split, count: int, ends: bool) -> None:
    """Regions that the first planes label, the planes themselves, and the rows."""
    low, high = data.X.min(axis=0) - 0.1, data.X.max(axis=0) + 0.1
    sides = [np.linspace(low[j], high[j], STEPS) for j in range(2)]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2) - program.tables[node.centre]
    planes, thresholds, answers = (program.tables[t] for t in (node.planes, node.thresholds, node.answers))
    said = np.full(len(grid), program.tables[node.rest][0] if ends else 0.0)
    for index in reversed(range(count)):
        said[grid @ planes[index] > thresholds[index]] = answers[index]
    axis.contourf(*sides, said.reshape(STEPS, STEPS), levels=[-1.5, -0.5, 0.5, 1.5], colors=COLOURS)
    for index in range(count):
        value = (grid @ planes[index] - thresholds[index]).reshape(STEPS, STEPS)
        axis.contour(
            *sides, value, levels=[0], colors="black", linewidths=1.2 if index == count - 1 else 0.5
        )
    axis.scatter(*data.X.T, c=data.y, cmap="coolwarm", s=4)
    axis.set_xticks([])
    axis.set_yticks([])
