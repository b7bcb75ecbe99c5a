"""Rows split into three parts, and what counts on one of them say about rows to come.

Candidates are built from the fitting rows, compared on the choosing rows, and promised by the reporting
rows, which have neither built nor chosen anything. Up to TESTS candidates may be held against the reporting
rows; each is then tested at a level that allows for the others (Bonferroni), so that the promise holds with
the confidence asked for whichever of them is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import OptionError
from svmcompile.statistics import lower_bound, upper_bound

TESTS = 3
REPORT, CHOOSE = 0.4, 0.2  # shares of the rows
MOST_REPORT = 0.7
MARGIN = 1.5  # times the rows a promise needs without a difference: some may differ
MOST_ROWS, MOST_FIT = 50_000, 10_000
Indices = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Parts:
    """Numbers of the rows of each part."""

    fit: Indices
    choose: Indices
    report: Indices  # of the data, or of the file of reporting rows


def loss_bound(lost: int, won: int, rows: int, level: float) -> float:
    """A bound from above on the accuracy lost, where so many rows went wrong and so many came right."""
    return upper_bound(lost, rows, level / 2) - lower_bound(won, rows, level / 2)


def rows_needed(agreement: float, level: float) -> int:
    """So many rows without a difference show an agreement."""
    return math.ceil(math.log(level) / math.log(agreement))


def finalists_allowed(rows: int, agreement: float | None, level: float) -> int:
    """How many candidates may be held against the reporting rows: more cost power, which few rows lack."""
    if agreement is None:
        return TESTS
    if agreement >= 1:
        return 1  # no number of rows shows it
    return next((k for k in range(TESTS, 1, -1) if rows >= 2 * rows_needed(agreement, level / k)), 1)


def expected(count: int, rows: int, report_rows: int) -> int:
    """How many of the reporting rows differ, if they go as the choosing rows did."""
    return math.ceil(count / rows * report_rows)


def split(
    rows: int, needed: int, seed: int, report_rows: int | None = None, most: int = MOST_ROWS
) -> Parts:
    """Rows in random order: the first fit, the next choose, the last report.

    `needed` is how many reporting rows the promise asks for at least; `report_rows` is the number of rows
    in a file of their own. Of many rows only some are used: `most` to choose and to report with, unless the
    promise needs more.
    """
    order = np.random.default_rng(seed).permutation(rows)
    wanted, most = math.ceil(MARGIN * needed), min(most, MOST_ROWS)
    if report_rows is not None:
        count, left = min(report_rows, max(most, wanted)), rows
        report = np.sort(np.random.default_rng(seed).permutation(report_rows)[:count])
    else:
        share = max(math.ceil(REPORT * rows), min(wanted, int(MOST_REPORT * rows)))
        count = min(share, max(most, wanted))
        left, report = rows - share, order[rows - count :]
    choose = min(max(1, math.ceil(left * CHOOSE / (1 - REPORT))), left // 2, most)
    fit = min(left - choose, MOST_FIT)
    return Parts(order[:fit], order[fit : fit + choose], report)


def check_rows(rows: int, report_rows: int, agreement: float | None, confidence: float, where: str) -> None:
    """An error if the reporting rows could not show the agreement even without a difference."""
    if agreement is None:
        return
    needed = rows_needed(agreement, 1 - confidence)
    if report_rows < needed:
        raise OptionError(
            f"to show an agreement of {agreement:g} with {confidence:.0%} confidence takes {needed:,} rows "
            f"held back, even if no label differs on them; {where} has {rows:,} rows, of which "
            f"{report_rows:,} can be held back. Give {math.ceil(needed / MOST_REPORT):,} rows or more, or "
            "rows to report on with --test, or ask for --same-labels, which needs none"
        )
