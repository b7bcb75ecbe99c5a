"""Metric trees: decision borders and the parts of the plane, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from common import Split
from style import GREY, Plane, legend, panels, same, save, stroke

from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.program import Program


def draw(kind: str, model: Any, programs: Mapping[str, Program], data: Split, path: Path) -> Path:
    """One panel for the machine and one per program; the file's path."""
    plane = Plane(data)
    meant, own = model.decision_function(plane.grid), model.predict(data.X_test)
    figure, axes = panels(1 + len(programs))
    plane.regions(axes[0], model.predict(plane.grid) == plane.classes[1])
    plane.border(axes[0], meant, linewidths=1.3)
    plane.rows(axes[0], f"{kind}:\n{len(model.support_)} support vectors")
    for axis, (name, program) in zip(axes[1:], programs.items(), strict=True):
        values, leaves = program.decision_function(plane.grid), leaves_of(program, plane.grid)
        plane.regions(axis, program.predict(plane.grid) == plane.classes[1])
        plane.parts(axis, leaves)
        plane.border(axis, meant, linewidths=0.9, linestyles="dotted")
        plane.border(axis, values, linewidths=1.3)
        plane.rows(axis, f"{name}: {count_of(program)} leaves\n{same(program.predict(data.X_test), own)}")
    borders = stroke("decision border"), stroke(f"the {kind}'s", linestyle=":")
    legend(figure, [*plane.handles(), *borders, stroke("edges of leaves", GREY, linewidth=0.6)])
    return save(figure, path)


def route_of(program: Program) -> ir.AxisRoute | ir.PlaneRoute | None:
    return next((node for node in program.body if isinstance(node, (ir.AxisRoute, ir.PlaneRoute))), None)


def leaves_of(program: Program, grid: Any) -> Any:
    route = route_of(program)
    return np.zeros(len(grid)) if route is None else interpret_values(program, grid, {route.out})[route.out]


def count_of(program: Program) -> int:
    route = route_of(program)
    return 1 if route is None else len(program.tables[route.children]) + 1
