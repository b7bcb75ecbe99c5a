"""Lists before an SVM: which band they are grown with, and how far back their thresholds stand.

Rows go three ways: some grow lists, some choose among the lists, some prove what the chosen ones keep.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile.accelerate.builder import exact_flops
from svmcompile.accelerate.fitting.calibration import allowed_errors
from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.rows import augmented, labels_of, margin_rule
from svmcompile.accelerate.h1_tree.exits import (
    NOTHING,
    Calibration,
    Front,
    Scores,
    Trial,
    calibrated,
    last_good,
)
from svmcompile.accelerate.h1_tree.forest import Forest, Lists, exit_growth, grown
from svmcompile.accelerate.h1_tree.options import H1TreeOptions
from svmcompile.accelerate.h1_tree.rows import Rows, pairs_of
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.nodes.decisions import margins
from svmcompile.model.svm import SVM

BANDS = (0.0, 0.5)  # tried where none is given
OVERSHOOT = 0.2  # of made-up points beyond a row and its neighbour, in their distance
MOST_MADE_UP = 60_000
WIDTH = 0.5  # of the guard: answers are 1 and -1, no answer is 0


@dataclass(frozen=True, slots=True)
class Tried:
    """One way to grow lists, with what it does on rows that choose."""

    band: float
    held_back: bool  # by made-up points
    front: Front
    trial: Trial
    flops: float

    def as_dict(self) -> dict[str, Any]:
        return {
            "tau": self.band,
            "recalibrated": self.held_back,
            "planes": len(self.front.lists(0.0).nodes),
            "exit_share": round(1 - self.trial.reach, 6),
            "mean_depth": round(self.trial.depth, 3),
            "flops": round(self.flops),
        }


@dataclass(frozen=True, eq=False)
class Chosen:
    """The lists as the program will have them."""

    lists: Lists
    calibration: Calibration
    tried: list[Tried]


def rows_of(svm: SVM, points: Array, given: Any = None) -> Rows:
    """Points in kernel space with the SVM's sums; their classes are its own, or those given."""
    sums = Field(svm).values(points)
    return Rows(points, labels_of(svm, sums) if given is None else given, sums)


def verdict_of(svm: SVM) -> Callable[[Scores], Any]:
    """How answers are read: whether a row exits, and the class it then gets."""
    rule = margin_rule(svm)

    def verdict(scores: Scores) -> Any:
        return margins(scores, rule) >= WIDTH, labels_of(svm, np.asarray(scores, dtype=np.float64))

    return verdict


def chosen(svm: SVM, rows: Rows, choice: Rows, proof: Rows, options: H1TreeOptions) -> Chosen:
    """The cheapest lists on the rows that choose, at the shift that the other rows prove."""
    least, growth = _least_shift(options, len(proof)), exit_growth(options, options.min_gain)
    chooser = Chooser(svm, choice, options.target, options.confidence, least)
    forests = []
    for band, full in _forms(svm, rows, options):
        forest = grown(full, pairs_of(svm), growth, options, band, None)
        forests.append(chooser.tried(forest, band, full is not rows))
    best = min(forests, key=lambda one: one.flops)
    for count in range(1, best.front.forest.longest):  # where the SVM stands best
        shorter = best.front.forest.first(count)
        forests.append(chooser.tried(shorter, best.band, best.held_back))
    best = min(forests, key=lambda one: one.flops)
    trials = best.front.trials(proof.points, proof.classes, least)
    found = calibrated(trials, options.target, options.confidence)
    return Chosen(best.front.lists(found.shift), found, forests)


@dataclass(frozen=True, slots=True)
class Chooser:
    """Tells what lists would cost, on rows that choose."""

    svm: SVM
    rows: Rows
    target: float
    confidence: float
    least: float  # shift

    def tried(self, forest: Forest, band: float, held_back: bool) -> Tried:
        """The lists at the least careful shift that keeps the target on these rows."""
        front = Front(forest, verdict_of(self.svm))
        allowed = max(0, allowed_errors(len(self.rows), self.target, self.confidence))
        trial = last_good(front.trials(self.rows.points, self.rows.classes, self.least), allowed)
        flops = trial.flops(self.svm.kernel_width, exact_flops(self.svm))
        return Tried(band, held_back, front, trial, flops)


def _least_shift(options: H1TreeOptions, proof: int) -> float:
    """Thresholds move ahead of hard rows only where rows prove that it does no harm, and tau is free."""
    free = options.tau == -1 and allowed_errors(proof, options.target, options.confidence) >= 0
    return -NOTHING if free else 0.0


def _forms(svm: SVM, rows: Rows, options: H1TreeOptions) -> list[tuple[float, Rows]]:
    """The bands to try, with rows as they are and with made-up points among them."""
    bands = BANDS if options.tau == -1 else (options.tau,)
    if options.paper:
        bands = (0.0,)
    forms = [rows]
    times = min(options.recalibrate, MOST_MADE_UP // max(len(rows.classes), 1))
    if times and not options.paper:
        generator = np.random.default_rng(options.seed)
        forms.append(rows.joined(rows_of(svm, augmented(rows.points, times, generator, OVERSHOOT))))
    return [(band, form) for form in forms for band in bands]
