"""metric-tree: rows in, the tree that replaces the kernel sum out, as a program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.calibration import refuse_rows_of_the_tree
from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.rows import margin_rule
from svmcompile.accelerate.metric_tree.build import OUT, Built, Part, Workbench
from svmcompile.accelerate.metric_tree.choose import (
    Band,
    Choice,
    Chooser,
    calibrated,
    enlarged,
    fixed,
    forms,
)
from svmcompile.accelerate.metric_tree.options import MetricTreeOptions
from svmcompile.accelerate.metric_tree.sample import Judge, Sample
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.cost import Cost
from svmcompile.ir.node import run
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM

CALIBRATION = 0.25  # of the rows, where none are given
SOME_ROWS = 2000  # enough to measure the work per row, or the spread of values
BLOCK_ROWS = 4096
POOR = 0.95  # agreement below which many classes are too many
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]


def metric_tree(svm: SVM, data: Data | None, options: MetricTreeOptions) -> Program:
    """A tree over the rows whose leaves hold one affine function per sum."""
    assert data is not None
    options.check(svm)
    generator = np.random.default_rng(options.seed)
    kept, held = _held_out(svm, _finite(svm, data.X, "the data"), options, generator)
    draft = Draft(svm)
    bench = _workbench(svm, svm.prepared(kept), options, draft.x)
    choice, sample = _chosen(bench, svm.prepared(kept), options, generator)
    built = bench.build(choice.form, enlarged(sample, bench, choice.form.augment, generator))
    draft.add_tree(built.part)
    if options.reach:
        draft.add_reach(sample.points, options.reach)
    band = _band(draft, bench, svm.prepared(held), options)
    if band is not None and band.width > 0:  # else nothing falls back, and the SVM need not be there
        draft.add_guard(band.width)
    program = draft.program(_details(built, choice, band, len(kept)))
    cost = program.cost(_some(kept))
    notes = remarks(options, built, choice, band, cost)
    origin = dataclasses.replace(program.origin, notes=(*program.origin.notes, *notes))
    return program.replace(origin=origin)


def _finite(svm: SVM, given: NDArray[Any], what: str) -> Array:
    """The rows as float64; nothing can be built from rows the kernel sees no numbers of."""
    rows = np.asarray(given, dtype=np.float64)
    if len(rows) == 0:
        raise OptionError(f"metric-tree: {what} has no rows; give rows like those to come")
    with np.errstate(all="ignore"):
        bad = np.flatnonzero(~np.isfinite(svm.prepared(rows)).all(axis=1))
    if len(bad):
        raise OptionError(
            f"metric-tree: row {bad[0]} of {what} holds a NaN or an infinity ({len(bad)} such rows); "
            "remove or fill them"
        )
    return rows


def _held_out(
    svm: SVM, rows: Array, options: MetricTreeOptions, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Rows for the tree, and rows for the guard band that the tree never sees.

    For a band of given width they only measure, and may be the same.
    """
    if options.guard != "target":
        return rows, rows
    if options.calibrate:
        held = _finite(svm, options.calibrate.read(svm), "calibrate")
        refuse_rows_of_the_tree(held, rows)
        return rows, held
    count = int(CALIBRATION * len(rows))
    if count == 0:
        raise OptionError(f"metric-tree: {len(rows)} rows are too few to hold some out for guard=target")
    order = generator.permutation(len(rows))
    return rows[np.sort(order[count:])], rows[np.sort(order[:count])]


def _some(rows: Array) -> Array:
    return rows[:: -(-len(rows) // SOME_ROWS)]


def _workbench(svm: SVM, points: Array, options: MetricTreeOptions, x: str) -> Workbench:
    field = Field(svm)
    judge = Judge.of(svm, options.tol, field.values(_some(points)))
    limits = (options.max_leaves, options.max_bytes)
    return Workbench(field, judge, options.ridge, *limits, options.dtype, x)


def _chosen(
    bench: Workbench, points: Array, options: MetricTreeOptions, generator: np.random.Generator
) -> tuple[Choice, Sample]:
    candidates = forms(options, bench.field.svm)
    with_targets = any(form.split == "gradient-axis" for form in candidates)
    sample = bench.sample(points, with_targets)
    chooser = Chooser(bench, options.target, options.confidence, options.guard == "target")
    return chooser.choose(candidates, sample, generator), sample


def _band(draft: Draft, bench: Workbench, points: Array, options: MetricTreeOptions) -> Band | None:
    if options.guard == "none":
        return None
    found = draft.values(points)
    margin = margins(found, margin_rule(bench.field.svm))
    wrong = bench.judge.by_label().wrong(found, bench.field.values(points))
    if options.guard == "tau":
        return fixed(options.tau, margin, wrong)
    return calibrated(margin, wrong, options.target, options.confidence)


def _details(built: Built, choice: Choice, band: Band | None, rows: int) -> dict[str, Any]:
    details: dict[str, Any] = {"tree": built.figures(), "tried": [one.as_dict() for one in choice.tried]}
    details["rows"] = {"tree": rows, "held_out_for_choice": choice.rows}
    if band is not None:
        details["guard"] = band.as_dict()
    return details


class Draft:
    """Nodes so far. `x` names the row in kernel space, `sums` what the heads will read."""

    def __init__(self, svm: SVM) -> None:
        self.builder = Builder(svm)
        self.x = self.builder.preprocess()
        self.steps = len(self.builder.body)
        self.sums = ""

    def add_tree(self, part: Part) -> None:
        self.builder.body.extend(part.nodes)
        self.builder.tables.update(part.tables)
        self.sums = OUT

    def add_reach(self, points: Array, times: float) -> None:
        """Beyond so many radii of the points, the sums at infinity."""
        centre = self.builder.tables["tree_centre"]
        radius = times * float(np.sqrt(np.square(points - centre).sum(axis=1).max()))
        far = self.builder.table("far", self.builder.svm.intercepts)
        self.builder.body.append(ir.Reach("reached", self.x, self.sums, "tree_centre", far, radius))
        self.sums = "reached"

    def add_guard(self, width: float) -> None:
        """Sums with a margin below the width come from the SVM itself."""
        self.builder.exact_sums("exact", x=self.x)
        self.builder.body.append(
            ir.Guard("guarded", self.sums, "exact", width, margin_rule(self.builder.svm))
        )
        self.sums = "guarded"

    def values(self, points: Array) -> Array:
        """The sums of rows in kernel space, so far."""
        starts = range(0, max(len(points), 1), BLOCK_ROWS)
        return np.concatenate([self._block(points[at : at + BLOCK_ROWS]) for at in starts])

    def _block(self, points: Array) -> Array:
        env: dict[str, NDArray[Any]] = {self.x: points}
        for node in self.builder.body[self.steps :]:
            env[node.out] = run(node, env, self.builder.tables)
        return np.asarray(env[self.sums])

    def program(self, details: Mapping[str, Any]) -> Program:
        return self.builder.finish(self.sums, "metric-tree", Claim.APPROXIMATE, details=details)


def remarks(
    options: MetricTreeOptions, built: Built, choice: Choice, band: Band | None, cost: Cost
) -> tuple[str, ...]:
    """All that a user should know before trusting the program."""
    found = [*choice.notes(options.target), *_few_rows(built, choice), *_many_classes(built, choice)]
    if band is not None:
        found += _guard(options, band)
    if cost.mean_flops >= cost.exact_flops:
        found.append(
            f"method exact is cheaper here: {cost.exact_flops:,} flops per row, "
            f"this program takes {cost.mean_flops:,.0f}"
        )
    return tuple(found)


def _few_rows(built: Built, choice: Choice) -> list[str]:
    if choice.tried or choice.reached:
        return []
    return [f"the data is too small for a holdout, so the form {built.form.name!r} was taken unchecked"]


def _many_classes(built: Built, choice: Choice) -> list[str]:
    """Pairs of classes share one tree, which does not suit many of them."""
    if not built.several_classes:
        return []
    held = [one.agreement for one in choice.tried if one.form == choice.form]
    agreement, rows = (
        (held[0], "held-out rows") if held else (built.left_out_agreement, "rows, each left out")
    )
    if agreement is None or agreement >= POOR:
        return []
    return [
        f"one tree for all pairs of classes does not suit this model: {agreement:.1%} agreement on {rows}, "
        f"{built.part.bytes / 1e6:.2f} MB; use method exact"
    ]


def _guard(options: MetricTreeOptions, band: Band) -> list[str]:
    notes = [f"guard band {band.width:.3g}: {band.fallback:.1%} of {band.rows} rows go to the exact sum"]
    if band.width == 0:
        notes = [
            f"no guard band is needed: the tree has {band.agreement:.2%} agreement on {band.rows} rows"
        ]
    if not band.reached:
        notes.append(
            f"{band.rows} rows cannot prove {options.target:.2%} agreement with {options.confidence:.0%} "
            f"confidence, {band.proven:.2%} at best; give more rows (calibrate=FILE) or a lower target"
        )
    return notes
