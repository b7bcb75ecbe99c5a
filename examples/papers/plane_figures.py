"""The sv-tree's path, DTSVM's cells and certified's stages, in the plane."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from common import Split
from figure import leaves_of, route_of
from style import GREY, INK, Plane, legend, panels, patch, same, save, stroke

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_orders
from svmcompile.ir.program import Program

QUERIES = 3
STAGES = ("#d7e6f4", "#a5d0dc", "#f3d58b", "#dd8b97")  # decided by order 1, 2, 3, by the support vectors


def draw_paths(model: Any, data: Split, path: Path) -> Path:
    """Which support vectors an sv-tree evaluates for a few rows, in their order."""
    program = sc.compile(model, method="sv-tree", X=data.X)
    node = next(node for node in program.body if isinstance(node, ir.PathSum))
    plane = Plane(data)
    values, meant = program.decision_function(plane.grid), model.decision_function(plane.grid)
    own, met = model.predict(data.X_test), evaluated(program, node, data.X_test)
    figure, axes = panels(1 + QUERIES)
    plane.regions(axes[0], values > 0)
    plane.border(axes[0], meant, linewidths=0.9, linestyles="dotted")
    plane.border(axes[0], values, linewidths=1.3)
    mean = np.mean([len(one) for one in met])
    plane.rows(
        axes[0],
        f"{mean:.1f} of {len(model.support_)} vectors a row\n{same(program.predict(data.X_test), own)}",
    )
    vectors = program.tables[node.vectors]
    for axis, at in zip(axes[1:], spread(data.X_test), strict=True):
        _path(axis, plane, data.X_test[at], vectors[met[at]])
    lines = [
        stroke("decision border"), stroke("the SVM's", linestyle=":"),
        stroke("the row to classify", marker="*", linestyle="", markersize=11),
        stroke("its support vectors, in order", marker="o", markerfacecolor="white", linewidth=0.9),
    ]  # fmt: skip
    legend(figure, [*plane.handles(), *lines])
    return save(figure, path)


def evaluated(program: Program, node: ir.PathSum, rows: Any) -> list[list[int]]:
    """Vectors on each row's way to its leaf, those met before left out."""
    picks, thresholds, children = (
        program.tables[name] for name in (node.picks, node.thresholds, node.children)
    )
    x = interpret_values(program, rows, {node.x})[node.x]
    values = node.kernel.values(x, program.tables[node.vectors])
    found = []
    for row in values:
        levels: list[float] = []
        own: list[int] = []
        at = 0
        while at >= 0:
            pick = int(picks[at])
            value = levels[~pick] if pick < 0 else row[pick]
            levels.append(value)
            own += [pick] if pick >= 0 else []
            at = int(children[at, int(value > thresholds[at])])
        found.append(own)
    return found


def spread(rows: Any) -> list[int]:
    """A few rows far from each other: each the farthest from those before."""
    chosen = [int(np.square(rows - rows.mean(axis=0)).sum(axis=1).argmin())]
    while len(chosen) < QUERIES:
        near = np.square(rows[:, None] - rows[chosen]).sum(axis=2).min(axis=1)
        chosen.append(int(near.argmax()))
    return chosen


def _path(axis: Any, plane: Plane, query: Any, vectors: Any) -> None:
    plane.rows(axis, f"a row that needs\n{len(vectors)} kernel values")
    for collection in axis.collections:
        collection.set_alpha(0.25)
    axis.plot(*vectors.T, color=INK, linewidth=0.9, zorder=4)
    axis.scatter(*vectors.T, s=75, color="white", edgecolors=INK, linewidths=0.9, zorder=5)
    for number, vector in enumerate(vectors, 1):
        axis.annotate(str(number), vector, ha="center", va="center", fontsize=6.5, zorder=6)
    axis.scatter(*query, marker="*", s=130, color=INK, zorder=7)


def draw_cells(model: Any, data: Split, path: Path) -> Path:
    """DTSVM in front of an SVM: leaves of one class answer at once, the others have a small SVM."""
    plane = Plane(data)
    own, meant = model.predict(data.X_test), model.decision_function(plane.grid)
    figure, axes = panels(3)
    for axis, ceiling in zip(axes, (200, 60, 25), strict=True):
        program = sc.compile(model, method="dtsvm", X=data.X, ceiling=ceiling, delta="0", min_leaf=5)
        leaves = leaves_of(program, plane.grid).astype(int)
        mixed = mixed_leaves(program)
        values = program.decision_function(plane.grid)
        plane.regions(axis, values > 0)
        axis.contourf(
            *plane.sides, plane.square(mixed[leaves]), levels=[0.5, 1.5], colors="none", hatches=["////"]
        )
        plane.parts(axis, leaves, width=0.7)
        plane.border(axis, meant, linewidths=0.9, linestyles="dotted")
        plane.border(axis, values, linewidths=1.3)
        limit = f"{ceiling} rows a leaf: {len(mixed)} leaves"
        plane.rows(axis, f"at most {limit}\n{same(program.predict(data.X_test), own)}")
    lines = [
        stroke("decision border"), stroke("the SVM's", linestyle=":"),
        stroke("edges of leaves", GREY, linewidth=0.7),
        patch("leaves with an SVM of their own", "white", hatch="////"),
    ]  # fmt: skip
    legend(figure, [*plane.handles(), *lines])
    return save(figure, path)


def mixed_leaves(program: Program) -> Any:
    """Which leaves have an SVM."""
    node = next((node for node in program.body if isinstance(node, ir.LeafSums)), None)
    if node is None or route_of(program) is None:
        return np.ones(1, dtype=bool)
    return np.diff(program.tables[node.firsts]) > 1


def draw_stages(model: Any, data: Split, path: Path) -> Path:
    """Which polynomial decides where, for one, four and sixteen centres."""
    plane = Plane(data)
    meant = model.decision_function(plane.grid)
    figure, axes = panels(3)
    for axis, centres in zip(axes, (1, 4, 16), strict=True):
        options: dict[str, Any] = {"order": 3, "fallback": "direct", "force": True, "max_bytes": 10**6}
        program = sc.compile(model, method="certified", X=data.X, leaves=centres, **options)
        stage = stages_of(program, plane.grid)
        plane.regions(axis, stage, STAGES)
        plane.parts(axis, leaves_of(program, plane.grid))
        plane.border(axis, meant, linewidths=1.3)
        rest = float((stages_of(program, data.X_test) == len(STAGES) - 1).mean())
        word = "centre" if centres == 1 else "centres"
        plane.rows(axis, f"{centres} {word}: polynomials decide\n{100 * (1 - rest):.1f} % of unseen rows")
    names = ("decided by order 1", "by order 2", "by order 3", "by the support vectors")
    patches = [patch(name, colour) for name, colour in zip(names, STAGES, strict=True)]
    lines = stroke("decision border"), stroke("edges of centres", GREY, linewidth=0.6)
    legend(figure, [*patches, *plane.handles(), *lines])
    return save(figure, path)


def stages_of(program: Program, rows: Any) -> Any:
    """The first order that is sure of each row's sign; the last stage where none is."""
    node = next(node for node in program.body if isinstance(node, ir.TaylorSum))
    env = interpret_values(program, rows, {node.x, node.leaf})
    sure = taylor_orders(At(node, program.tables, env), env[node.x], env[node.leaf]).sure
    return np.where(sure.any(axis=1), sure.argmax(axis=1), len(STAGES) - 1)
