"""The choice among forms by a holdout, and the guard band, from rows that built nothing.

First come the forms that the options leave open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from svmcompile.accelerate.fitting.calibration import (
    Band,
    Flags,
    Floats,
    allowed_errors,
    fixed,
    upper_bound,
)
from svmcompile.accelerate.fitting.rows import augmented, hold_out, margin_rule, rounded
from svmcompile.accelerate.metric_tree.build import PUBLISHED, Form, Workbench
from svmcompile.accelerate.metric_tree.leaves import Sample
from svmcompile.accelerate.metric_tree.options import QUADRATIC_FEATURES, MetricTreeOptions
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.nodes.decisions import margins
from svmcompile.model.svm import SVM

HOLDOUT = 0.2
LEAST_HOLDOUT = 10  # rows; with fewer nothing is compared
FINE_EPS = 0.0001  # share of expected errors, where these decide
NEARLY = 0.002  # share of rows
FURTHER = 2  # holdouts to tell close forms apart
CLOSE = 3  # standard errors


def calibrate(margins: Floats, wrong: Flags, target: float, confidence: float) -> Band:
    """The narrowest band with at most so many errors outside that the bound keeps the target.

    Where the rows are too few for that, the narrowest without an error.
    """
    rows = len(margins)
    if rows == 0:
        raise OptionError("metric-tree: there are no rows to calibrate the guard band with")
    allowed = allowed_errors(rows, target, confidence)
    width = width_for(margins, wrong, max(allowed, 0))
    found = fixed(width, margins, wrong)
    outside = int((wrong & (margins >= found.width)).sum())
    proven = 1 - upper_bound(outside, rows, confidence)
    return Band(found.width, rows, found.fallback_share, found.agreement, proven, allowed >= 0)


def width_for(margins: Floats, wrong: Flags, allowed: int) -> float:
    """The least width that leaves at most `allowed` errors outside, as a float32 number."""
    errors = np.sort(margins[wrong])[::-1]
    if len(errors) <= allowed:
        return 0.0
    inner = float(errors[allowed])  # the largest margin that must fall back
    above = margins[margins > inner]
    outer = float(above.min()) if len(above) else inner * 1.01
    width = np.float32((inner + outer) / 2)
    return float(width if width > inner else np.nextafter(width, np.float32(np.inf)))


def forms(options: MetricTreeOptions, svm: SVM) -> list[Form]:
    """What the options leave to choose from, cheap ones first."""
    leaf = "ridge" if options.leaf == "auto" else options.leaf
    risk = options.stop == "risk"
    if svm.kernel.kind == "linear":
        return [Form("affine", "affine", "taylor", 0.0, 1)]
    if options.paper:
        split = "median" if options.split == "median" else "midpoint"
        taylor = "taylor" if options.leaf == "auto" else options.leaf
        return [replace(PUBLISHED, split=split, leaf=taylor, augment=options.augment)]
    if options.split == "gradient-axis":
        return [_form(options, Form("axis", options.split, leaf, 0.002, 16, 0, risk))]
    if options.split != "auto":
        return [_form(options, Form(options.split, options.split, leaf, 0.0, 8, 0, risk))]
    return _all_forms(options, svm, leaf, risk)


def _all_forms(options: MetricTreeOptions, svm: SVM, leaf: str, risk: bool) -> list[Form]:
    found = [
        Form("affine", "affine", leaf, 0.0, 1),
        Form("axis", "gradient-axis", leaf, 0.002, 16, 0, risk),
        Form("axis, finer", "gradient-axis", leaf, FINE_EPS, 16, 0, True),
        Form("oblique", "midpoint", leaf, 0.0, 8, 0, risk),
    ]
    if options.guard == "target":
        # Large leaves are seldom wrong by much, and second order is seldom wrong: both spare exact sums.
        found[2] = Form("axis, coarser", "gradient-axis", leaf, FINE_EPS, 64, 0, True)
        if options.leaf == "auto" and svm.kernel_width <= QUADRATIC_FEATURES:
            found.append(Form("oblique, quadratic", "midpoint", "quadratic", FINE_EPS, 16, 0, True))
    found = [_form(options, form) for form in found]
    # For pairs of classes a vector of functions for every row would be larger than the model.
    return found if svm.counts else [*found, PUBLISHED]


def _form(options: MetricTreeOptions, form: Form) -> Form:
    """A form with what the options say instead of its own settings."""
    eps = form.eps if options.eps == -1 else options.eps
    return replace(form, eps=eps, min_leaf=options.min_leaf or form.min_leaf, augment=options.augment)


@dataclass(frozen=True, slots=True)
class Tried:
    """One form on the holdout."""

    form: Form
    agreement: float
    fallback_for_target: float  # share of rows a guard band would have to send to the exact sum
    bytes: int
    leaves: int
    holdouts: int = 1  # that the agreement is the mean of

    def as_dict(self) -> dict[str, Any]:
        return rounded(self, agreement=6, fallback_for_target=6) | {"form": self.form.name}


@dataclass(frozen=True, slots=True)
class Choice:
    """The form chosen, what was tried on how many rows, and whether the target was reached."""

    form: Form
    tried: tuple[Tried, ...]
    rows: int
    reached: bool

    def notes(self, target: float) -> tuple[str, ...]:
        if self.reached or not self.tried:
            return ()
        found = next(one.agreement for one in self.tried if one.form == self.form)
        return (
            f"no tree reaches the target agreement of {target:.2%} on the {self.rows} rows held out; "
            f"the best, {self.form.name!r}, has {found:.2%}: use guard=target, more data, or method exact",
        )


@dataclass(frozen=True, slots=True)
class Chooser:
    """Compares forms on held-out rows."""

    bench: Workbench
    target: float
    confidence: float
    guarded: bool

    def choose(self, candidates: Sequence[Form], sample: Sample, generator: np.random.Generator) -> Choice:
        """The first form that reaches the target, else the best; with a guard, the one that spares most."""
        count = int(HOLDOUT * len(sample.points))
        if len(candidates) == 1 or count < LEAST_HOLDOUT:
            return Choice(candidates[min(1, len(candidates) - 1)], (), 0, len(candidates) == 1)
        parts = self._parts(sample, count, candidates[0].augment, generator)
        tried: list[Tried] = []
        for form in candidates:
            tried.append(self._try(form, *parts))
            if self._will_do(tried[-1]):
                return Choice(form, tuple(tried), count, True)
        if self.guarded:
            return Choice(sparing(tried).form, tuple(tried), count, True)
        for _ in range(FURTHER):
            parts = self._parts(sample, count, candidates[0].augment, generator)
            tried = [self._again(one, *parts) if one in close(tried, count) else one for one in tried]
        return Choice(best_of(tried, count).form, tuple(tried), count, False)

    def _parts(
        self, sample: Sample, count: int, augment: int, generator: np.random.Generator
    ) -> tuple[Sample, Sample]:
        """Rows to build from and rows to compare on."""
        kept, held = (sample.some(rows) for rows in hold_out(len(sample.points), count, generator))
        return enlarged(kept, self.bench, augment, generator), held

    def _again(self, one: Tried, kept: Sample, held: Sample) -> Tried:
        """The mean with one more holdout."""
        more, n = self._try(one.form, kept, held), one.holdouts
        return replace(one, agreement=(n * one.agreement + more.agreement) / (n + 1), holdouts=n + 1)

    def _will_do(self, one: Tried) -> bool:
        return one.fallback_for_target <= NEARLY if self.guarded else one.agreement >= self.target

    def _try(self, form: Form, kept: Sample, held: Sample) -> Tried:
        built = self.bench.build(form, kept)
        found = built.part.sums(held.points)
        wrong = self.bench.judge.wrong(found, held.sums)
        margin = margins(found, margin_rule(self.bench.field.svm))
        allowed = max(0, allowed_errors(len(wrong), self.target, self.confidence))
        fallback = float((margin < width_for(margin, wrong, allowed)).mean())
        return Tried(form, float(1 - wrong.mean()), fallback, built.part.bytes, built.n_leaves)


def close(tried: Sequence[Tried], rows: int) -> list[Tried]:
    """The forms that chance alone may have put behind the best; never the large published tree."""
    small = [one for one in tried if not one.form.grows_out]
    best = max(one.agreement for one in small)
    return [one for one in small if one.agreement >= best - CLOSE * _error(best, rows)]


def _error(agreement: float, rows: int) -> float:
    """The standard error of an agreement."""
    return float(np.sqrt(agreement * (1 - agreement) / rows))


def sparing(tried: Sequence[Tried]) -> Tried:
    """The form whose guard band sends the fewest rows to the exact sum; the first of nearly equals."""
    least = min(one.fallback_for_target for one in tried)
    return next(one for one in tried if one.fallback_for_target <= least + NEARLY)


def best_of(tried: Sequence[Tried], rows: int) -> Tried:
    """The best agreement, the smaller of equals; the published tree only if it is clearly better.

    It is a hundred times as large as the others, so a standard error is asked of it.
    """
    best = max(close(tried, rows), key=lambda one: (one.agreement, -one.bytes))
    enough = best.agreement + _error(best.agreement, rows)
    large = [one for one in tried if one.form.grows_out and one.agreement > enough]
    return large[0] if large else best


def enlarged(sample: Sample, bench: Workbench, times: int, generator: np.random.Generator) -> Sample:
    """The sample with rows made between its own."""
    if times == 0:
        return sample
    more: Array = augmented(sample.points, times, generator)
    return bench.sample(np.concatenate([sample.points, more]), sample.targets is not None)
