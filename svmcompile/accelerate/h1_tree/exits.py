"""Early exits: how far the thresholds of lists must stand back for the agreement asked for.

Lists in front of an SVM answer some rows and leave the others to it. All thresholds move together, each in
units of its plane's spread: the farther back, the fewer rows exit, and the fewer of them wrongly. Ahead
of hard rows they move as well, where the target leaves room for errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.binomial import allowed_errors, upper_bound
from svmcompile.accelerate.h1_tree.forest import Forest
from svmcompile.accelerate.h1_tree.nodes import PlaneList, projected
from svmcompile.accelerate.h1_tree.tables import Lists
from svmcompile.ir.kernel import Array

NOTHING = float("inf")  # a shift at which no row exits
SHIFTS = (NOTHING, 5.0, 3.0, 2.0, 1.5, 1.2, 1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07,
          0.04, 0.02, 0.0, -0.02, -0.04, -0.07, -0.1, -0.15, -0.2, -0.25, -0.3, -0.4, -0.5)  # fmt: skip

Scores = NDArray[np.floating[Any]]


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
        found = {key: round(v, 6) if isinstance(v, float) else v for key, v in asdict(self).items()}
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
        walk = lists.walk(along > np.array([node.threshold for node in lists.nodes]))
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


def calibrated(trials: list[Trial], target: float, confidence: float) -> Calibration:
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
