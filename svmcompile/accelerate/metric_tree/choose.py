"""The choice among forms by a holdout: the first, from cheap to dear, that agrees well enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.metric_tree.augment import augmented
from svmcompile.accelerate.metric_tree.build import PUBLISHED, Form, Workbench
from svmcompile.accelerate.metric_tree.options import MetricTreeOptions
from svmcompile.accelerate.metric_tree.sample import Sample
from svmcompile.kernel import Array
from svmcompile.svm import SVM

Indices = NDArray[np.int64]

HOLDOUT = 0.2
LEAST_HOLDOUT = 10  # rows; with fewer nothing is compared
FINE_EPS = 0.0003  # expected errors, for the finer axis tree


def forms(options: MetricTreeOptions, svm: SVM) -> list[Form]:
    """What the options leave to choose from, cheap ones first."""
    leaf = "ridge" if options.leaf == "auto" else options.leaf
    if svm.kernel.kind == "linear":
        return [Form("affine", "affine", "taylor", 0.0, 1)]
    if options.paper:
        split = "median" if options.split == "median" else "midpoint"
        taylor = "taylor" if options.leaf == "auto" else options.leaf
        return [Form("published", split, taylor, PUBLISHED.eps, PUBLISHED.min_leaf, options.augment)]
    risk = options.stop == "risk"
    if options.split != "auto":
        axis = options.split == "gradient-axis"
        return [
            _form(
                options, options.split, options.split, leaf, 0.002 if axis else 0.0, 16 if axis else 8, risk
            )
        ]
    found = [
        _form(options, "affine", "affine", leaf, 0.0, 1, False),
        _form(options, "axis", "gradient-axis", leaf, 0.002, 16, risk),
        _form(options, "axis, finer", "gradient-axis", leaf, FINE_EPS, 16, True),
        _form(options, "oblique", "midpoint", leaf, 0.0, 8, risk),
    ]
    # A vector of functions for every row would be larger than the model.
    return found if svm.counts else [*found, PUBLISHED]


def _form(
    options: MetricTreeOptions, name: str, split: str, leaf: str, eps: float, min_leaf: int, risk: bool
) -> Form:
    """A form with what the options say instead of its own settings."""
    eps = eps if options.eps == -1 else options.eps
    return Form(name, split, leaf, eps, options.min_leaf or min_leaf, options.augment, risk)


@dataclass(frozen=True, slots=True)
class Tried:
    """One form on the holdout."""

    form: Form
    agreement: float
    bytes: int
    leaves: int

    def as_dict(self) -> dict[str, Any]:
        return {
            "form": self.form.name,
            "agreement": round(self.agreement, 6),
            "bytes": self.bytes,
            "leaves": self.leaves,
        }


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
            f"the best, {self.form.name}, has {found:.2%}: use guard=target, more data, or method exact",
        )


def choose(
    candidates: Sequence[Form],
    bench: Workbench,
    sample: Sample,
    target: float,
    generator: np.random.Generator,
) -> Choice:
    """The first form that reaches the target on held-out rows, else the best."""
    count = int(HOLDOUT * len(sample.points))
    if len(candidates) == 1 or count < LEAST_HOLDOUT:
        return Choice(candidates[min(1, len(candidates) - 1)], (), 0, len(candidates) == 1)
    order = generator.permutation(len(sample.points))
    held, kept = sample.some(np.sort(order[:count])), sample.some(np.sort(order[count:]))
    kept = enlarged(kept, bench, candidates[0].augment, generator)
    tried: list[Tried] = []
    for one in _trials(candidates, bench, kept, held):
        tried.append(one)
        if one.agreement >= target:
            return Choice(one.form, tuple(tried), count, True)
    return Choice(best_of(tried, count).form, tuple(tried), count, False)


def _trials(candidates: Sequence[Form], bench: Workbench, kept: Sample, held: Sample) -> Iterator[Tried]:
    for form in candidates:
        built = bench.build(form, kept)
        agreement = bench.judge.agreement(built.part.sums(held.points), held.sums)
        yield Tried(form, agreement, built.part.bytes, built.n_leaves)


def best_of(tried: Sequence[Tried], rows: int) -> Tried:
    """The best agreement, the smaller of equals; the published tree only if it is clearly better.

    It is a hundred times as large as the others, so a standard error is asked of it.
    """
    small = [one for one in tried if not one.form.grows_out]
    best = max(small, key=lambda one: (one.agreement, -one.bytes))
    error = float(np.sqrt(best.agreement * (1 - best.agreement) / rows))
    large = [one for one in tried if one.form.grows_out and one.agreement > best.agreement + error]
    return large[0] if large else best


def enlarged(sample: Sample, bench: Workbench, times: int, generator: np.random.Generator) -> Sample:
    """The sample with rows made between its own."""
    if times == 0:
        return sample
    more: Array = augmented(sample.points, times, generator)
    return bench.sample(np.concatenate([sample.points, more]), sample.targets is not None)
