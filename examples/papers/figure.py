"""Decision borders and the parts of the plane, as a picture (needs the extra `report`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from common import Split

from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.program import Program

STEPS = 400  # points of the grid along each side


def draw(kind: str, model: Any, programs: Mapping[str, Program], data: Split, path: Path) -> Path:
    """One panel for the machine and one per program; the file's path."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    side = np.linspace(-1.1, 1.1, STEPS)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    shape = (STEPS, STEPS)
    panels, axes = pyplot.subplots(1, 1 + len(programs), figsize=(5 * (1 + len(programs)), 5))
    titles = [f"{kind}, {len(model.support_)} support vectors", *programs]
    for axis, title, program in zip(axes, titles, (None, *programs.values()), strict=True):
        values = (model if program is None else program).decision_function(grid).reshape(shape)
        if program is not None:
            title += _parts(axis, side, program, grid)
        axis.contourf(side, side, values > 0, levels=[-0.5, 0.5, 1.5], colors=["#dce9f5", "#fbe5d6"])
        axis.contour(side, side, values, levels=[0], colors="black", linewidths=1.5)
        axis.scatter(*data.X.T, c=data.y, cmap="coolwarm", s=6)
        axis.set_title(title)
        axis.set_aspect("equal")
    path.parent.mkdir(parents=True, exist_ok=True)
    panels.savefig(path, dpi=110, bbox_inches="tight")
    pyplot.close(panels)
    return path


def _parts(axis: Any, side: Any, program: Program, grid: Any) -> str:
    """Draws where the leaf changes; how many leaves there are, in words."""
    route = next((node for node in program.body if isinstance(node, (ir.AxisRoute, ir.PlaneRoute))), None)
    if route is None:
        return ", 1 leaf"
    leaves = interpret_values(program, grid, {route.out})[route.out].reshape(STEPS, STEPS)
    change = np.zeros(leaves.shape, dtype=bool)
    change[1:] |= leaves[1:] != leaves[:-1]
    change[:, 1:] |= leaves[:, 1:] != leaves[:, :-1]
    axis.contour(side, side, change, levels=[0.5], colors="#8a8a8a", linewidths=0.4, zorder=3)
    return f", {len(program.tables[route.children]) + 1} leaves"
