"""metric-tree: rows in, the tree that replaces the kernel sum out, as a program."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.calibration import refuse_rows_of_the_tree
from svmcompile.accelerate.fitting.decide import margin_rule
from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.metric_tree.build import Built, Workbench
from svmcompile.accelerate.metric_tree.choose import Choice, Chooser, enlarged, forms
from svmcompile.accelerate.metric_tree.draft import Draft
from svmcompile.accelerate.metric_tree.guard import Band, calibrated, fixed
from svmcompile.accelerate.metric_tree.judge import Judge
from svmcompile.accelerate.metric_tree.options import MetricTreeOptions
from svmcompile.accelerate.metric_tree.remarks import remarks
from svmcompile.accelerate.metric_tree.sample import Sample
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import Array
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM

CALIBRATION = 0.25  # of the rows, where none are given
SOME_ROWS = 2000  # enough to measure the work per row, or the spread of values


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
