"""Shares of rows by the stage that decides them, and what they cost (needs the extra `report`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from certified_sets import CASES
from sklearn.svm import SVC

import svmcompile as sc

STAGES = ("route", "order 1", "order 2", "order 3", "jets", "sum")
COLOURS = ("#b0b0b0", "#2a7fb8", "#7fc4c9", "#f2c14e", "#8d6cab", "#d1495b")


def staged(memory: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Of each set whose front end pays: share of the rows and of the exact sum's operations, by stage."""
    found = {}
    for case in CASES:
        X, y, _ = case.rows()
        model = SVC(C=case.C, gamma=case.gamma).fit(X, y)
        details = sc.compile(model, method="certified", X=X, tune="flops", max_bytes=memory).origin.details
        if details["emitted"] == "taylor":
            found[case.name] = _added_up(details)
    return found


def _added_up(details: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
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
    """Two stacked bars per set; the file's path."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = staged(memory)
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 0.32 * len(found) + 1.4), sharey=True)
    for at, (axis, title) in enumerate(
        zip(axes, ("rows decided by", "operations, exact sum = 1"), strict=True)
    ):
        _bars(axis, [{stage: both[at] for stage, both in one.items()} for one in found.values()])
        axis.set_title(title, fontsize=10)
    axes[0].set_yticks(range(len(found)), list(found), fontsize=9)
    axes[0].invert_yaxis()
    axes[0].set_xlim(0, 1)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=len(STAGES), fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    pyplot.close(figure)
    return path


def _bars(axis: Any, sets: list[dict[str, float]]) -> None:
    left = [0.0] * len(sets)
    for stage, colour in zip(STAGES, COLOURS, strict=True):
        widths = [one.get(stage, 0.0) for one in sets]
        axis.barh(range(len(sets)), widths, left=left, color=colour, label=stage)
        left = [start + width for start, width in zip(left, widths, strict=True)]
