"""Half-spaces one after the other, and the regions they label, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from common import Split
from style import REGIONS, Plane, legend, panels, patch, save, stroke

from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Program

SHOWN, INCHES = 6, 2.5  # panels of a program at most, and their side


def draw(programs: Mapping[str, Program], data: Split, path: Path) -> Path:
    """A row of panels per program; the file's path."""
    plane = Plane(data)
    figure, axes = panels(SHOWN, len(programs), INCHES)
    for at, (name, program) in enumerate(programs.items()):
        node = next(node for node in program.body if isinstance(node, ir.PlaneLists))
        total = len(program.tables[node.answers])
        own = axes[SHOWN * at : SHOWN * (at + 1)]
        counts = shown(total)
        for axis, count in zip(own, counts, strict=False):
            _panel(axis, plane, program, node, count)
            plane.rows(axis, f"{name}: {count} of {total} planes")
        for axis in own[len(counts) :]:
            axis.axis("off")
    last, others = stroke("the last plane", linewidth=1.6), stroke("those before", linewidth=0.6)
    legend(figure, [*plane.handles(), patch("no answer yet", "white"), last, others])
    return save(figure, path)


def shown(total: int) -> list[int]:
    """How many planes each panel has: evenly from one to all."""
    return sorted(set(np.linspace(1, total, SHOWN).round().astype(int).tolist()))


def _panel(axis: Any, plane: Plane, program: Program, node: ir.PlaneLists, count: int) -> None:
    """Regions that the first planes label, and the planes themselves."""
    planes, thresholds, answers, centre, rest = (
        program.tables[name]
        for name in (node.planes, node.thresholds, node.answers, node.centre, node.rest)
    )
    values = (plane.grid - centre) @ planes.T - thresholds
    said = np.full(len(values), rest[0] if count == len(answers) else 0.0)
    for index in reversed(range(count)):
        said[values[:, index] > 0] = answers[index]
    plane.regions(axis, said + 1, (REGIONS[0], "white", REGIONS[1]))
    for index in range(count):
        plane.border(axis, values[:, index], linewidths=1.6 if index == count - 1 else 0.6)
