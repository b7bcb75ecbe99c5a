"""Early exits: how far the thresholds of lists must stand back for the agreement asked for.

Lists in front of an SVM answer some rows and leave the others to it. All thresholds move together, each in
units of its plane's spread: the farther back, the fewer rows exit, and the fewer of them wrongly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.calibration import allowed_errors, upper_bound
from svmcompile.accelerate.h1_tree.nodes import HalfSpace, PlaneList, projected
from svmcompile.accelerate.h1_tree.tables import Lists
from svmcompile.kernel import Array

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
    """Lists, the spread of each plane's values, and how scores are read: who exits, and as what."""

    lists: Lists
    spreads: Array
    verdict: Callable[[Scores], tuple[NDArray[np.bool_], NDArray[np.int64]]]  # scores -> (exits, classes)

    def trials(self, points: Array, classes: NDArray[np.int64]) -> list[Trial]:
        """What every shift does to rows in kernel space, the safest first."""
        nodes = self.lists.nodes
        if not nodes:
            return [Trial(NOTHING, len(points), 0, 1.0, 0.0)]
        thresholds = np.array([node.threshold for node in nodes])
        slack = (projected(points, self.lists.planes) - thresholds) / self.spreads
        return [self._trial(shift, slack, classes) for shift in SHIFTS]

    def _trial(self, shift: float, slack: Array, classes: NDArray[np.int64]) -> Trial:
        if shift == NOTHING:
            return Trial(shift, len(slack), 0, 1.0, 0.0)
        walk = self.lists.walk(slack > shift)
        exits, said = self.verdict(walk.scores)
        wrong = exits & (said != classes)
        return Trial(shift, len(slack), int(wrong.sum()), float((~exits).mean()), float(walk.tests.mean()))

    def moved(self, shift: float) -> Lists:
        """The lists with thresholds at a shift; none where nothing is to exit."""
        spread = iter(self.spreads)
        lists = [
            PlaneList(tuple(_moved(node, shift * float(next(spread))) for node in one.nodes), one.rest)
            for one in self.lists.lists
        ]
        empty = [PlaneList((), one.rest) for one in lists]
        return Lists(tuple(empty if shift == NOTHING else lists), self.lists.order)


def _moved(node: HalfSpace, by: float) -> HalfSpace:
    return HalfSpace(node.plane, node.threshold + by, node.answer, node.reach)


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
        1 - upper_bound(best.wrong, rows, confidence) if best.shift != NOTHING else 1.0,
        allowed >= 0 or best.shift == NOTHING,
    )
