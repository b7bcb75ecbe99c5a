"""Shares of rows by the stage that decides them, and what they cost (needs the extra `report`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certified_sets import CASES, Case
from common import OUTPUT
from style import SEQUENCE, legend, patch, percent, pyplot, save

import svmcompile as sc

STAGES = {
    "order 1": "polynomial of order 1",
    "order 2": "order 2",
    "order 3": "order 3",
    "jets": "support vectors in blocks, polynomials for those to come",
    "sum": "all support vectors",
    "route": "finding the centre (decides no row)",
}
Stages = dict[str, tuple[float, float]]


def staged(memory: int) -> dict[str, Stages]:
    """Of each set whose front end pays: share of the rows and of the exact sum's operations, by stage."""
    found = {case.name: kept(case, memory) for case in CASES}
    return {name: stages for name, stages in found.items() if stages}


def kept(case: Case, memory: int) -> Stages:
    """The stages of a set, computed once; none where the exact sum is emitted."""
    path = OUTPUT / "stages" / f"{case.name.replace(' ', '-')}-{memory}.json"
    if not path.exists():
        X, y, _ = case.rows()
        model = case.machine(X, y).fit(X, y)
        details = sc.compile(model, method="certified", X=X, tune="flops", max_bytes=memory).origin.details
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_added_up(details) if details["emitted"] == "taylor" else {}))
    stages: Stages = json.loads(path.read_text())
    return stages


def _added_up(details: Mapping[str, Any]) -> Stages:
    """Share and cost by stage; the blocks of jets are one."""
    found = dict.fromkeys(STAGES, (0.0, 0.0))
    for stage in details["stages"]:
        first = stage["stage"].partition(" in ")[0]  # order 2 in few directions is order 2
        name = "jets" if first.startswith("block") else first
        name = name if name in STAGES else "sum"
        share, cost = found[name]
        found[name] = (share + stage["share"], cost + stage["cost"] / details["exact_cost"])
    return found


def draw(path: Path, memory: int) -> Path:
    """Two stacked bars per set, the cheapest first; the file's path."""
    found = staged(memory)
    names = sorted(found, key=lambda name: sum(cost for _, cost in found[name].values()))
    figure, axes = pyplot().subplots(1, 2, figsize=(10, 0.24 * len(names) + 1.5), sharey=True)
    titles = "rows decided by each stage", "operations of each stage (all support vectors = 100 %)"
    for at, (axis, title) in enumerate(zip(axes, titles, strict=True)):
        _bars(axis, [{stage: both[at] for stage, both in found[name].items()} for name in names])
        axis.set_title(title)
        percent(axis)
        axis.margins(x=0.02, y=0.02)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    legend(figure, [patch(name, colour) for name, colour in zip(STAGES.values(), SEQUENCE, strict=True)])
    return save(figure, path)


def _bars(axis: Any, sets: list[dict[str, float]]) -> None:
    left = [0.0] * len(sets)
    for stage, colour in zip(STAGES, SEQUENCE, strict=True):
        widths = [one.get(stage, 0.0) for one in sets]
        axis.barh(range(len(sets)), widths, left=left, color=colour, height=0.72)
        left = [start + width for start, width in zip(left, widths, strict=True)]
