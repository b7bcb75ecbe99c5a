"""metric-tree: rows in, the tree that replaces the kernel sum out, as a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder, remarked
from svmcompile.accelerate.fitting.calibration import (
    IN_FEW_BYTES,
    Band,
    fixed,
    refuse_rows_of_the_tree,
    too_few,
)
from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.rows import finite_rows, hold_out, margin_rule, spread
from svmcompile.accelerate.metric_tree.build import Built, Part, Workbench
from svmcompile.accelerate.metric_tree.choose import Choice, Chooser, calibrate, enlarged, forms
from svmcompile.accelerate.metric_tree.leaves import Judge, Sample
from svmcompile.accelerate.metric_tree.options import MetricTreeOptions
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM, LabelRule

CALIBRATION = 0.25  # of the rows, where none are given
SOME_ROWS = 2000  # enough to measure the spread of values
POOR = 0.95  # agreement below which many classes are too many


def metric_tree(svm: SVM, data: Data | None, options: MetricTreeOptions) -> Program:
    """A tree over the rows whose leaves hold one affine function per sum."""
    assert data is not None
    options.check(svm)
    generator = np.random.default_rng(options.seed)
    kept, held = _held_out(svm, finite_rows("metric-tree", data.X, svm=svm), options, generator)
    builder, points = Builder(svm), svm.prepared(kept)
    field, limits = Field(svm), (options.max_depth, options.max_leaves, options.max_bytes)
    judge = Judge.of(svm, options.tol, field.values(spread(points, SOME_ROWS)))
    bench = Workbench(field, judge, options.ridge, *limits, options.dtype, builder.preprocess())
    choice, sample = _choose(bench, points, options, generator)
    built = bench.build(choice.form, enlarged(sample, bench, choice.form.augment, generator))
    if options.max_bytes and built.part.bytes > options.max_bytes:
        raise OptionError(
            f"metric-tree: a leaf alone takes {built.part.bytes:,} bytes, max_bytes allows "
            f"{options.max_bytes:,}; {IN_FEW_BYTES}"
        )
    part = _with_reach(built.part, svm, points, options.reach) if options.reach else built.part
    builder.body += part.nodes
    builder.tables |= part.tables
    band, sums = _band(part, bench, svm.prepared(held), options), part.nodes[-1].out
    if band is not None and band.width > 0:  # else nothing falls back, and the SVM need not be there
        builder.exact_sums("exact", x=part.x)
        builder.body.append(ir.Guard("guarded", sums, "exact", band.width, margin_rule(svm)))
        sums = "guarded"
    details = _details(built, choice, band, len(kept))
    program = builder.finish(sums, "metric-tree", Claim.APPROXIMATE, details=details)
    return remarked(program, kept, _notes(options, svm, built, choice, band))


def _with_reach(part: Part, svm: SVM, points: Array, times: float) -> Part:
    """Beyond so many radii of the points, the sums at infinity."""
    radius = times * float(np.sqrt(np.square(points - part.tables["tree_centre"]).sum(axis=1).max()))
    node = ir.Reach("reached", part.x, part.nodes[-1].out, "tree_centre", "far", radius)
    return Part(part.x, (*part.nodes, node), {**part.tables, "far": svm.intercepts})


def _held_out(
    svm: SVM, rows: Array, options: MetricTreeOptions, generator: np.random.Generator
) -> tuple[Array, Array]:
    """Rows for the tree, and rows for the guard band that the tree never sees.

    For a band of given width they only measure, and may be the same.
    """
    if options.guard != "target":
        return rows, rows
    if options.calibrate:
        held = finite_rows("metric-tree", options.calibrate.read(svm), "calibrate", svm)
        refuse_rows_of_the_tree(held, rows)
        return rows, held
    count = int(CALIBRATION * len(rows))
    if count == 0:
        raise OptionError(f"metric-tree: {len(rows)} rows are too few to hold some out for guard=target")
    kept, held_out = hold_out(len(rows), count, generator)
    return rows[kept], rows[held_out]


def _choose(
    bench: Workbench, points: Array, options: MetricTreeOptions, generator: np.random.Generator
) -> tuple[Choice, Sample]:
    candidates = forms(options, bench.field.svm)
    with_targets = any(form.split == "gradient-axis" for form in candidates)
    sample = bench.sample(points, with_targets)
    chooser = Chooser(bench, options.target, options.confidence, options.guard == "target")
    return chooser.choose(candidates, sample, generator), sample


def _band(part: Part, bench: Workbench, points: Array, options: MetricTreeOptions) -> Band | None:
    if options.guard == "none":
        return None
    found = part.sums(points)
    margin = margins(found, margin_rule(bench.field.svm))
    wrong = Judge(bench.field.svm, 0.0).wrong(found, bench.field.values(points))
    if options.guard == "tau":
        return fixed(options.tau, margin, wrong)
    return calibrate(margin, wrong, options.target, options.confidence)


def _details(built: Built, choice: Choice, band: Band | None, rows: int) -> dict[str, Any]:
    details: dict[str, Any] = {"tree": built.figures(), "tried": [one.as_dict() for one in choice.tried]}
    details["rows"] = {"tree": rows, "held_out_for_choice": choice.rows}
    if band is not None:
        details["guard"] = band.as_dict()
    return details


def _notes(
    options: MetricTreeOptions, svm: SVM, built: Built, choice: Choice, band: Band | None
) -> list[str]:
    """All that a user should know before trusting the program."""
    notes = [*choice.notes(options.target)]
    if not (choice.tried or choice.reached):
        form = f"the form {built.form.name!r}"
        notes.append(f"the data is too small for a holdout, so {form} was taken unchecked")
    notes += _unsuited(svm, built, choice) if svm.counts or band is None else []
    if band is None:
        return notes
    if band.width == 0:
        agreement = f"{band.agreement:.2%} agreement on {band.rows} rows"
        notes.append(f"no guard band is needed: the tree has {agreement}")
    else:
        share = f"{band.fallback_share:.1%} of {band.rows} rows"
        notes.append(f"guard band {band.width:.3g}: {share} go to the exact sum")
    if not band.reached:
        notes.append(too_few(band.rows, band.proven_agreement, options.target, options.confidence))
    return notes


def _unsuited(svm: SVM, built: Built, choice: Choice) -> list[str]:
    """Where a tree loses too many labels, which trees for many pairs and those of few bytes do."""
    agreement, rows = built.left_out_agreement, "rows, each left out"
    for one in choice.tried:
        if one.form == choice.form:
            agreement, rows = one.agreement, "held-out rows"
    if svm.label_rule is LabelRule.NONE or agreement is None or agreement >= POOR:
        return []
    found = f"{agreement:.1%} agreement on {rows}"
    if svm.counts:
        found = f"{found}, {built.part.bytes / 1e6:.2f} MB"
        return [f"one tree for all pairs of classes does not suit this model: {found}; use method exact"]
    if choice.reached:
        return []
    return [f"a tree of {built.part.bytes:,} bytes does not suit this model: {found}; {IN_FEW_BYTES}"]


METHOD = Method(
    metric_tree, MetricTreeOptions, Claim.APPROXIMATE, needs_data=True, takes_heads=True,
    quicker=("split=gradient-axis",),
)  # fmt: skip
