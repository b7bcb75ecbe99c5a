"""Calibration: rows that built nothing set how far an approximation is trusted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import statistics
from svmcompile.accelerate.fitting.rows import rounded
from svmcompile.data import read_data
from svmcompile.data.rows import as_rows
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.model.svm import SVM, digest

CHANCE = 5  # standard deviations
WIDEST = float(np.finfo(np.float32).max)
Flags = NDArray[np.bool_]
Floats = NDArray[np.floating[Any]]


def upper_bound(errors: int, rows: int, confidence: float) -> float:
    """Clopper and Pearson's one-sided bound on the share of errors."""
    return statistics.upper_bound(errors, rows, 1 - confidence)


def allowed_errors(rows: int, target: float, confidence: float) -> int:
    """The most errors that still prove the target; -1 where even none does not."""
    allowed = -1
    while allowed < rows and 1 - upper_bound(allowed + 1, rows, confidence) >= target:
        allowed += 1
    return allowed


# What notes of trees that lose too many labels advise.
IN_FEW_BYTES = "methods reduced-set and proto keep more labels in as few bytes"


def too_few(rows: int, proven: float | None, target: float, confidence: float) -> str:
    """The note that rows cannot prove an agreement."""
    return (
        f"{rows} rows cannot prove {target:.2%} agreement with {confidence:.0%} confidence, "
        f"{proven:.2%} at best; give more rows (calibrate=FILE) or a lower target"
    )


@dataclass(frozen=True, slots=True)
class Band:
    """Scores with a margin below `width` go to the exact sum."""

    width: float
    rows: int  # that it was measured on
    fallback_share: float  # of these rows go to the exact sum
    agreement: float  # of these rows, with the band
    proven_agreement: float | None  # holds with the confidence asked for
    reached: bool = True

    def as_dict(self) -> dict[str, Any]:
        found = rounded(self, fallback_share=6, agreement=6, proven_agreement=6)
        return {key: value for key, value in found.items() if key != "reached"}


def fixed(width: float, margins: Floats, wrong: Flags) -> Band:
    """A band of a given width, with what it does to the rows."""
    width = min(width, WIDEST)
    outside = margins >= width
    return Band(width, len(margins), float((~outside).mean()), float(1 - (wrong & outside).mean()), None)


class CalibrationRows:
    """Rows that set the guard band: a data file, or (from Python) anything `predict` accepts."""

    def __init__(self, given: Any = "") -> None:
        self.given = given

    def __bool__(self) -> bool:
        return not (isinstance(self.given, str) and self.given == "")

    def __str__(self) -> str:
        """For reports: the file as given, or the content of an array in short."""
        if isinstance(self.given, (str, Path)):
            return str(self.given)
        return f"array sha256:{digest({'rows': np.asarray(self.given)})[:16]}"

    def read(self, svm: SVM) -> Array:
        """The rows, checked against the model."""
        if not isinstance(self.given, (str, Path)):
            rows = as_rows(self.given, svm.n_features, svm.feature_names, svm.categories)
            return rows.astype(np.float64)
        known: Any = {"feature_names": svm.feature_names, "categories": svm.categories}
        data = read_data(self.given, n_features=svm.n_features, **known)
        return as_rows(data.X, svm.n_features).astype(np.float64)


def refuse_rows_of_the_tree(calibration: Array, built: Array, method: str = "metric-tree") -> None:
    """Rows that built a tree promise an agreement that new rows do not keep.

    Where rows have few values, new ones may equal old ones: as many as have a
    twin among those that built the tree are let through.
    """
    counts = Counter(row.tobytes() for row in np.ascontiguousarray(built))
    share = sum(count for count in counts.values() if count > 1) / max(len(built), 1)
    common = sum(row.tobytes() in counts for row in np.ascontiguousarray(calibration))
    n = len(calibration)
    if common > share * n + CHANCE * np.sqrt(n * share * (1 - share)):
        raise OptionError(
            f"{method}: {common} of the {n} rows in calibrate built the tree, so they are too optimistic; "
            "give other rows, or none to hold out 25 % of the data"
        )


NO_ROWS = CalibrationRows()
