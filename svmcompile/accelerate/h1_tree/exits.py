"""Lists before an SVM: which band they are grown with, how far back their thresholds stand, exits by proof.

Rows go three ways: some grow lists, some choose among the lists, some prove what the best ones keep.

A Taylor polynomial of first order is a half-space with a bound on what it leaves
out. A row exits where that bound leaves no doubt; the others go through a sum that
stops when its own sign is certain. So no label changes, and the claim is SAME_LABEL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.margins import row_error
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.program import anytime
from svmcompile.accelerate.bounds.sums import centre_vectors, merge_vectors
from svmcompile.accelerate.builder import exact_flops
from svmcompile.accelerate.fitting.calibration import allowed_errors, upper_bound
from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.rows import augmented, labels_of, margin_rule, rounded
from svmcompile.accelerate.h1_tree.forest import OUT, Forest, Lists, exit_growth, grown
from svmcompile.accelerate.h1_tree.grow import PlaneList, projected
from svmcompile.accelerate.h1_tree.options import H1TreeOptions
from svmcompile.accelerate.h1_tree.rows import Rows, pairs_of
from svmcompile.accelerate.taylor.front import shares, undecided_sum, with_front
from svmcompile.data import Data
from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.graph import maker
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM

NOTHING = float("inf")  # a shift at which no row exits
SHIFTS = (NOTHING, 5.0, 3.0, 2.0, 1.5, 1.2, 1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07,
          0.04, 0.02, 0.0, -0.02, -0.04, -0.07, -0.1, -0.15, -0.2, -0.25, -0.3, -0.4, -0.5)  # fmt: skip
Scores = NDArray[np.floating[Any]]
BANDS = (0.0, 0.5)  # tried where none is given
OVERSHOOT = 0.2  # of made-up points beyond a row and its neighbour, in their distance
MOST_MADE_UP = 60_000
WIDTH = 0.5  # of the guard: answers are 1 and -1, no answer is 0
HELD = 0.25  # of the rows measure how many exits are proven
ROWS = 20_000  # that centres are made from


@dataclass(frozen=True, slots=True)
class Trial:
    """Lists with thresholds moved by a shift, on some rows."""

    shift: float
    rows: int
    wrong: int  # rows that exit with another label than the original's
    reach: float  # share of rows that go on to the SVM
    depth: float  # mean number of planes a row is held against

    def flops(self, width: int, exact: int) -> float:
        return width + self.depth * (2 * width + 1) + self.reach * exact


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the held-out rows tell of the lists at their final shift."""

    shift: float
    rows: int
    exit_share: float
    mean_depth: float
    agreement: float
    proven_agreement: float
    reached: bool

    def as_dict(self) -> dict[str, Any]:
        found = rounded(self, exit_share=6, mean_depth=6, agreement=6, proven_agreement=6)
        return found | {"shift": None if self.shift == NOTHING else self.shift}


@dataclass(frozen=True, eq=False)
class Front:
    """Lists of every shift, and how scores are read: who exits, and as what."""

    forest: Forest
    verdict: Callable[[Scores], tuple[NDArray[np.bool_], NDArray[np.int64]]]  # scores -> (exits, classes)
    settled: dict[float, Lists] = field(default_factory=dict)

    def lists(self, shift: float) -> Lists:
        """The lists at a shift; empty ones where nothing is to exit."""
        if shift not in self.settled:
            found = self.forest.lists(0.0 if shift == NOTHING else shift)
            empty = tuple(PlaneList((), one.rest) for one in found.lists)
            self.settled[shift] = Lists(empty, found.order) if shift == NOTHING else found
        return self.settled[shift]

    def trials(self, points: Array, classes: NDArray[np.int64], least: float) -> list[Trial]:
        """What every shift (not below the least) does to rows in kernel space, the safest first."""
        planes = self.lists(0.0).planes
        along = projected(points, planes) if len(planes) else np.zeros((len(points), 0))
        return [self._trial(shift, along, classes) for shift in SHIFTS if shift >= least]

    def _trial(self, shift: float, along: Array, classes: NDArray[np.int64]) -> Trial:
        lists = self.lists(shift)
        if not lists.nodes:
            return Trial(shift, len(along), 0, 1.0, 0.0)
        walk = lists.walk(along > lists.thresholds)
        exits, said = self.verdict(walk.scores)
        wrong = exits & (said != classes)
        return Trial(shift, len(along), int(wrong.sum()), float((~exits).mean()), float(walk.tests.mean()))


def last_good(trials: list[Trial], allowed: int) -> Trial:
    """The last in a row of trials, safest first, with no more errors than allowed.

    It stops at the first that has more: what is proven of each trial with some confidence is then
    proven of the one that is taken, though several were looked at.
    """
    good = trials[0]
    for trial in trials:
        if trial.wrong > allowed:
            break
        good = trial
    return good


def calibrate(trials: list[Trial], target: float, confidence: float) -> Calibration:
    """The least careful shift that is proven to keep the target; without an error where none is proven."""
    rows = trials[0].rows
    allowed = allowed_errors(rows, target, confidence)
    best = last_good(trials, max(allowed, 0))
    return Calibration(
        best.shift,
        rows,
        1 - best.reach,
        best.depth,
        1 - best.wrong / max(rows, 1),
        1 - upper_bound(best.wrong, rows, confidence) if best.reach < 1 else 1.0,
        allowed >= 0 or best.reach == 1,
    )


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
class Choice:
    """The lists as the program will have them."""

    lists: Lists
    calibration: Calibration
    tried: list[Tried]


def rows_of(svm: SVM, points: Array, given: Any = None) -> Rows:
    """Points in kernel space with the SVM's sums; their classes are its own, or those given."""
    sums = Field(svm).values(points)
    return Rows(points, labels_of(svm, sums) if given is None else given, sums)


def choose(svm: SVM, rows: Rows, choice: Rows, proof: Rows, options: H1TreeOptions) -> Choice:
    """The cheapest lists on the rows that choose, at the shift that the other rows prove."""
    target, confidence, rule = options.target, options.confidence, margin_rule(svm)
    # Thresholds move ahead of hard rows only where rows prove that it does no harm, and tau is free.
    free = options.tau == -1 and allowed_errors(len(proof), target, confidence) >= 0
    least, allowed = -NOTHING if free else 0.0, max(0, allowed_errors(len(choice), target, confidence))

    def verdict(scores: Scores) -> Any:
        return margins(scores, rule) >= WIDTH, labels_of(svm, np.asarray(scores, dtype=np.float64))

    def attempt(forest: Forest, band: float, held_back: bool) -> Tried:
        """The lists at the least careful shift that keeps the target on the rows that choose."""
        front = Front(forest, verdict)
        trial = last_good(front.trials(choice.points, choice.classes, least), allowed)
        return Tried(band, held_back, front, trial, trial.flops(svm.kernel_width, exact_flops(svm)))

    growth = exit_growth(options, options.min_gain)
    tried = [
        attempt(grown(full, pairs_of(svm), growth, options, band, None), band, full is not rows)
        for band, full in _forms(svm, rows, options)
    ]
    best = min(tried, key=lambda one: one.flops)
    for count in range(1, best.front.forest.longest):  # where the SVM stands best
        tried.append(attempt(best.front.forest.first(count), best.band, best.held_back))
    best = min(tried, key=lambda one: one.flops)
    trials = best.front.trials(proof.points, proof.classes, least)
    found = calibrate(trials, target, confidence)
    return Choice(best.front.lists(found.shift), found, tried)


def _forms(svm: SVM, rows: Rows, options: H1TreeOptions) -> list[tuple[float, Rows]]:
    """The bands to try, with rows as they are and with made-up points among them."""
    bands = BANDS if options.tau == -1 else (options.tau,)
    if options.paper:
        bands = (0.0,)
    forms = [rows]
    times = min(options.recalibrate, MOST_MADE_UP // max(len(rows.classes), 1))
    if times and not options.paper:
        generator = np.random.default_rng(options.seed)
        more = rows_of(svm, augmented(rows.points, times, generator, OVERSHOOT))
        counted = np.repeat([True, False], [len(rows), len(more)])  # the others hold thresholds back
        forms.append(replace(rows.joined(more), counted=counted))
    return [(band, form) for form in forms for band in bands]


def proven(svm: SVM, data: Data, listed: Program, centres: int) -> Program:
    """`listed` is the program with exits by measurement, which are counted against the proven ones."""
    behind = anytime(svm, data, AnytimeOptions(force=True))
    if behind.origin.details["emitted"] != "bounded" or svm.counts or svm.kernel.kind != "rbf":
        raise UnsupportedError(
            "h1-tree: exits can be proven for one decision value of an RBF kernel; "
            "leave out proven=true, or use method anytime"
        )
    rows = np.asarray(data.X, dtype=np.float64)
    rows = rows[np.isfinite(rows).all(axis=1)]
    held = np.arange(len(rows)) % round(1 / HELD) == 0
    x, _ = undecided_sum(behind)
    seen = interpret_values(behind, rows[~held][:ROWS], {x})[x]
    own = centre_vectors(merge_vectors(svm))
    program = with_front(svm, behind, row_error(own.front, own.n_features), seen, centres, order=1)
    figures = _figures(program, listed, rows[held])
    note = f"{figures['rows']:.1%} of held-out rows exit by proof; the claim covers every row"
    origin = replace(
        program.origin,
        method="h1-tree",
        notes=(*svm.notes, note),
        details={"proven": {"centres": centres, **figures}},
    )
    return program.replace(origin=origin)


def _figures(program: Program, listed: Program, rows: NDArray[np.float64]) -> dict[str, float]:
    """Shares of rows, and of the rows that exit by measurement, whose exit is proven."""
    exits = _exits(listed, rows)
    found = {"rows": shares(program, rows)[0], "exits_by_measurement": float(exits.mean())}
    if exits.any():
        found["of_those_exits"] = shares(program, rows[exits])[0]
    return {name: round(value, 4) for name, value in found.items()}


def _exits(listed: Program, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    if maker(listed, OUT) is None:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(interpret_values(listed, rows, {OUT})[OUT][:, 0] != 0)
