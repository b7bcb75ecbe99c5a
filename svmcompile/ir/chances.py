"""Nodes of heads: scores side by side, and the probabilities that are made of them.

Probabilities are numbers from 0 to 1, one per column; those of a row need not add up to one before
`Shares`, `Mean` or `Couple` has seen them. NaN in gives NaN out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from svmcompile.ir.kinds import IndexTable, Level, Table, Value


@dataclass(frozen=True, slots=True)
class Beside:
    """The columns of two values, scores or probabilities, one after the other."""

    level: ClassVar = Level.BOTH
    out: Value
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class Columns:
    """out[j] = values[columns[j]]."""

    level: ClassVar = Level.BOTH
    out: Value
    values: Value
    columns: IndexTable  # [m]


@dataclass(frozen=True, slots=True)
class Shifted:
    """out = scores + by."""

    level: ClassVar = Level.BOTH
    out: Value
    scores: Value
    by: Table  # [m]


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """out[j] = 1 / (1 + exp(slopes[j] scores[j] + offsets[j])), held within floor and 1 - floor."""

    level: ClassVar = Level.BOTH
    out: Value
    scores: Value
    slopes: Table  # [m]
    offsets: Table  # [m]
    floor: float


@dataclass(frozen=True, slots=True)
class Isotonic:
    """Column j goes along straight lines from knot to knot; what lies outside counts as the nearest knot.

    Its knots stand from starts[j] to starts[j + 1] - 1, two or more, and rise; so do levels, or they fall.
    """

    level: ClassVar = Level.BOTH
    out: Value
    scores: Value
    starts: IndexTable  # [m + 1]
    knots: Table  # [knots]
    levels: Table  # [knots], from 0 to 1


@dataclass(frozen=True, slots=True)
class Density:
    """LIBSVM's probabilities of outlier and inlier, from where the score stands among marks.

    Inlier: 0.001 below the first mark, 0.999 above the last of n, else i / n for the first i >= 1 with
    score < marks[i], and 0 where the score is the last mark itself.
    """

    level: ClassVar = Level.BOTH
    out: Value
    score: Value
    marks: Table  # [n], in rising order


@dataclass(frozen=True, slots=True)
class Complement:
    """1 - p and p, for each column p in turn."""

    level: ClassVar = Level.BOTH
    out: Value
    chances: Value


@dataclass(frozen=True, slots=True)
class Shares:
    """Each of `groups` runs of columns divided by its sum; `empty` everywhere where that is zero."""

    level: ClassVar = Level.BOTH
    out: Value
    chances: Value
    groups: int
    empty: float


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of `groups` runs of columns."""

    level: ClassVar = Level.BOTH
    out: Value
    chances: Value
    groups: int


@dataclass(frozen=True, slots=True)
class Couple:
    """LIBSVM's probabilities of classes from those of pairs, i over j for i < j.

    Wu, Lin and Weng's second method (JMLR 5, 2004), with LIBSVM's own sweeps and stopping rule.
    """

    level: ClassVar = Level.BOTH
    out: Value
    pairs: Value
    n_classes: int
