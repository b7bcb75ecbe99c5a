"""How the interval around a decision value narrows: four digits that are held out, 3 against 8.

    python examples/papers/anytime_figure.py

Lower end, estimate and upper end after every kernel value, and where the program stops because zero
is outside. Needs no data folder.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from common import read_words
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from style import CLASSES, GREY, INK, REGIONS, legend, patch, pyplot, save, stroke

import svmcompile as sc
from svmcompile.ir.interpret import Trace

TRAINED = 240
RANKS = (2, 12, 40, -5)  # by distance from the border


@dataclass(frozen=True, eq=False)
class Four:
    """Four rows: their intervals, their decision values, and the kernel values each needs."""

    trace: Trace
    values: Any
    stops: list[int]
    vectors: int


def four_digits() -> Four:
    X, y = load_digits(return_X_y=True)
    X, y = X[np.isin(y, (3, 8))] / 16.0, y[np.isin(y, (3, 8))]
    model = SVC(C=5.0, gamma=0.02).fit(X[:TRAINED], y[:TRAINED])
    program = sc.compile(
        model, method="anytime", X=X[:TRAINED], block=1, k_max=80, r_coords="all", force=True
    )
    values = model.decision_function(X[TRAINED:])
    chosen = np.argsort(np.abs(values))[list(RANKS)]
    trace = program.trace(X[TRAINED:][chosen])
    stops = [int(trace.ends[stop]) for stop in trace.stop]
    return Four(trace, values[chosen], stops, len(model.support_))


def draw(four: Four, path: Path) -> Path:
    """A panel per row, the nearest to the border first; the file's path."""
    figure, axes = pyplot().subplots(1, 4, figsize=(12.4, 3.2), sharex=True, sharey=True)
    ends = four.trace.ends[:-1]
    for at, (axis, value, stop) in enumerate(zip(axes, four.values, four.stops, strict=True)):
        axis.fill_between(ends, four.trace.low[at, :-1], four.trace.high[at, :-1], color=REGIONS[0])
        axis.plot(ends, four.trace.estimate[at, :-1], color=CLASSES[0], linewidth=1.2)
        axis.axhline(value, linestyle="--", color=GREY, linewidth=1)
        axis.axhline(0, color=INK, linewidth=0.8)
        axis.axvline(stop, color=CLASSES[1], linewidth=1.2)
        axis.set_title(f"value {value:+.2f}: certain after {stop} of {four.vectors}")
        axis.set_xlabel("kernel values computed")
    axes[0].set_ylabel("decision value")
    axes[0].set_yscale("symlog", linthresh=1)
    axes[0].set_yticks([-10, -1, 0, 1, 10], ["-10", "-1", "0", "1", "10"])
    lines = [
        patch("between the bounds", REGIONS[0]), stroke("estimate", CLASSES[0]),
        stroke("decision value", GREY, linestyle="--"), stroke("the label is certain", CLASSES[1]),
    ]  # fmt: skip
    legend(figure, lines)
    return save(figure, path)


if __name__ == "__main__":
    read_words(__doc__, ())
    found = four_digits()
    print(f"certain after {found.stops} of {found.vectors} kernel values")
