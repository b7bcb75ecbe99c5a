"""Nodes of heads: scores, and the probabilities that are made of them.

Probabilities are numbers from 0 to 1, one per column; those of a row need not add up to one before
`Shares`, `Mean` or `Couple` has seen them. NaN in gives NaN out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import ARITHMETIC, Arithmetic, Array
from svmcompile.ir.kernel import LEAST, MOST, along_lines, sigmoid
from svmcompile.ir.kinds import IndexTable, Kind, Table, Type, Value
from svmcompile.ir.node import SHAPE_FLOPS, At, Node, Result, Work, dims, need
from svmcompile.ir.pairs import couple, coupling_errors, pair_count

SIGMOID_ROUNDINGS = 8  # of the exponential's factor, the sum, the quotient and the exponential itself
COLUMNS = (Kind.SCORES, Kind.PROBABILITIES)
TYPICAL_SWEEPS = 5  # of the coupling; its stopping rule asks for few


@dataclass(frozen=True, slots=True)
class Shifted(Node):
    """out = scores + by."""

    flops: ClassVar = 1
    out: Value
    scores: Value
    by: Table = field(metadata=dims("columns"))

    def result(self, at: At) -> Type:
        need(at.scores.kind is Kind.SCORES, "needs scores")
        at.fit(columns=at.scores.width)
        return at.scores

    def run(self, at: At) -> NDArray[Any]:
        return np.asarray(at.scores + at.by)

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        rounding = a.u * (np.abs(value) + np.abs(at.by)) + a.tiny
        return value, at.scores.error + rounding, False


@dataclass(frozen=True, slots=True)
class Sigmoid(Node):
    """out[j] = 1 / (1 + exp(slopes[j] scores[j] + offsets[j])), held within floor and 1 - floor."""

    out: Value
    scores: Value
    slopes: Table = field(metadata=dims("columns"))
    offsets: Table = field(metadata=dims("columns"))
    floor: float

    def result(self, at: At) -> Type:
        width = _count_columns(at)
        at.fit(columns=width)
        need(0 <= self.floor < 0.5, "the floor is not within 0 and a half")
        return Type(Kind.PROBABILITIES, width)

    def run(self, at: At) -> NDArray[Any]:
        return sigmoid(at.slopes * at.scores + at.offsets, self.floor)

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, at.out.width * (SHAPE_FLOPS["exp2"] + 6))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, scores = self.value(at), at.scores
        slopes, offsets = at.slopes, at.offsets
        product = np.abs(slopes * scores.value)
        z = slopes * scores.value + offsets
        rounding = a.u * (3 * product + 2 * np.abs(offsets) + 3 * np.abs(z)) + a.tiny
        error = np.abs(slopes) * scores.error + rounding
        moved = sigmoid(z - error, self.floor) - sigmoid(z + error, self.floor)
        return value, moved + (a.exp_error + SIGMOID_ROUNDINGS * a.u) * value + a.smallest, False


@dataclass(frozen=True, slots=True)
class Softmax(Node):
    """out[j] = exp(factor scores[j]), divided by their sum over all columns."""

    out: Value
    scores: Value
    factor: float  # above zero

    def result(self, at: At) -> Type:
        need(0 < self.factor < np.inf, "the factor is not above zero")
        return Type(Kind.PROBABILITIES, _count_columns(at))

    def run(self, at: At) -> NDArray[Any]:
        z = at.scores * at.scores.dtype.type(self.factor)
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, at.out.width * (SHAPE_FLOPS["exp2"] + 5))

    def error(self, at: At, a: Arithmetic) -> Result:
        """Where each exponent is off by t at most, a share grows by exp(2 t) at most."""
        value, scores = self.value(at), at.scores
        sizes = np.abs(scores.value) + scores.error
        t = self.factor * (scores.error + 4 * a.u * sizes).max(axis=1, keepdims=True) * 2 + a.tiny
        each = np.expm1(np.minimum(2 * t, 100.0)) + 2 * a.exp_error + (value.shape[1] + 8) * a.u
        return value, np.minimum(value * each, 1.0) + a.smallest + a.tiny, False


@dataclass(frozen=True, slots=True)
class Isotonic(Node):
    """Column j goes along straight lines from knot to knot; what lies outside counts as the nearest knot.

    Its knots stand from starts[j] to starts[j + 1] - 1, two or more, and rise; so do levels, or they fall.
    """

    out: Value
    scores: Value
    starts: IndexTable = field(metadata=dims("columns+1"))
    knots: Table = field(metadata=dims("knots"))
    levels: Table = field(metadata=dims("knots"))  # from 0 to 1

    def result(self, at: At) -> Type:
        width, starts = _count_columns(at), at.starts.astype(np.int64)
        knots, levels = at.knots, at.levels
        at.fit(columns=width)
        need(starts[0] == 0 and starts[-1] == len(knots), "starts do not cover the knots")
        need(bool((np.diff(starts) >= 2).all()), "a column has fewer than two knots")
        need(bool(((levels >= 0) & (levels <= 1)).all()), "a level is not a probability")
        for start, stop in pairwise(starts):
            # Numbers apart in double may be one in float, where they make a step.
            need(bool((np.diff(knots[start:stop]) >= 0).all()), "knots do not rise")
            steps = np.diff(levels[start:stop])
            need(bool((steps >= 0).all() or (steps <= 0).all()), "levels rise and fall")
        return Type(Kind.PROBABILITIES, width)

    def run(self, at: At) -> NDArray[Any]:
        parts = zip(at.scores.T, pairwise(at.starts), strict=True)
        columns = [along_lines(scores, at.knots[i:j], at.levels[i:j]) for scores, (i, j) in parts]
        return np.stack(columns, axis=1).astype(at.scores.dtype)

    def work(self, at: At, rows: At | None) -> Work:
        tests = np.ceil(np.log2(np.diff(at.starts.astype(np.float64)))).sum()
        return Work(0, float(tests) + 6 * at.out.width)

    def error(self, at: At, a: Arithmetic) -> Result:
        value, scores = self.value(at), at.scores
        starts, knots, levels = at.starts, at.knots, at.levels
        error = np.zeros_like(value)
        for column, (start, stop) in enumerate(pairwise(starts)):
            own, heights = knots[start:stop], levels[start:stop]
            x = np.clip(scores.value[:, column], own[0], own[-1])
            reach = scores.error[:, column] + 4 * a.u * (np.abs(x) + np.abs(own).max()) + a.tiny
            high, low = (along_lines(end, own, heights) for end in (x + reach, x - reach))
            error[:, column] = np.abs(high - low)
        return value, error + 8 * a.u + a.tiny, False


@dataclass(frozen=True, slots=True)
class Density(Node):
    """LIBSVM's probabilities of outlier and inlier, from where the score stands among marks.

    Inlier: 0.001 below the first mark, 0.999 above the last of n, else i / n for the first i >= 1 with
    score < marks[i], and 0 where the score is the last mark itself.
    """

    flops: ClassVar = 1
    out: Value
    score: Value
    marks: Table = field(metadata=dims("n"))  # in rising order

    def result(self, at: At) -> Type:
        need(at.score == Type(Kind.SCORES, 1), "needs one score")
        at.fit()
        need(at.marks.size > 0, "no marks")
        need(bool((np.diff(at.marks) >= 0).all()), "marks do not rise")
        return Type(Kind.PROBABILITIES, 2)

    def run(self, at: At) -> NDArray[Any]:
        score, marks = at.score, at.marks
        count = len(marks)
        above = np.searchsorted(marks[1:], score[:, 0], side="right") + 1  # the first mark above, from 1
        inlier = np.where(above < count, above / count, 0.0)
        inlier = np.where(score[:, 0] > marks[-1], MOST, np.where(score[:, 0] < marks[0], LEAST, inlier))
        inlier = np.where(np.isnan(score[:, 0]), np.nan, inlier)
        return np.stack([1.0 - inlier, inlier], axis=1).astype(score.dtype)

    def error(self, at: At, a: Arithmetic) -> Result:
        """A score that rounding can move past a mark gives no bound."""
        value, score, marks = self.value(at), at.score, at.marks
        reach = score.error + a.u * np.abs(marks) + a.tiny
        near = (np.abs(score.value - marks) <= reach).any(axis=1)
        return value, np.where(near[:, None], np.inf, 4 * a.u * np.ones_like(value)), False


@dataclass(frozen=True, slots=True)
class Complement(Node):
    """1 - p and p, for each column p in turn."""

    flops: ClassVar = 1
    out: Value
    chances: Value

    def result(self, at: At) -> Type:
        return Type(Kind.PROBABILITIES, 2 * _count_probabilities(at, "chances"))

    def run(self, at: At) -> NDArray[Any]:
        p = at.chances
        return np.stack([1 - p, p], axis=2).reshape(len(p), -1)

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        return value, np.repeat(at.chances.error, 2, axis=1) + a.u * value, False


@dataclass(frozen=True, slots=True)
class Shares(Node):
    """Each of `groups` runs of columns divided by its sum; `empty` everywhere where that is zero."""

    flops: ClassVar = 2
    out: Value
    chances: Value
    groups: int
    empty: float

    def result(self, at: At) -> Type:
        need(0 <= self.empty <= 1, "empty is not a probability")
        return Type(Kind.PROBABILITIES, self.groups * _group_width(at))

    def run(self, at: At) -> NDArray[Any]:
        p = at.chances
        parts = p.reshape(len(p), self.groups, -1)
        total = parts.sum(axis=2, keepdims=True)
        empty = parts.dtype.type(self.empty)
        return np.asarray(np.where(total != 0, parts / total, empty).reshape(p.shape))

    def error(self, at: At, a: Arithmetic) -> Result:
        """p / s moves by (e + (p / s) sum of e) / s; where rounding can make s zero there is no bound."""
        value, p = self.value(at), at.chances
        parts, errors, shares = (_grouped(array, self.groups) for array in (p.value, p.error, value))
        total, slip = parts.sum(axis=2, keepdims=True), errors.sum(axis=2, keepdims=True)
        columns = parts.shape[2]
        least = total * (1 - columns * a.u) - slip
        known = np.where(least > 0, (errors + shares * slip) / least + (columns + 2) * a.u * shares, np.inf)
        exact = (total == 0) & (slip == 0)
        return value, np.where(exact, a.u * self.empty, known).reshape(value.shape) + a.tiny, False


@dataclass(frozen=True, slots=True)
class Mean(Node):
    """The mean of `groups` runs of columns."""

    out: Value
    chances: Value
    groups: int

    def result(self, at: At) -> Type:
        return Type(Kind.PROBABILITIES, _group_width(at))

    def run(self, at: At) -> NDArray[Any]:
        p = at.chances
        total, *others = np.split(p, self.groups, axis=1)
        for part in others:  # in order, so that ties stay ties
            total = total + part
        return np.asarray(total / p.dtype.type(self.groups))

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, 2 * at.chances.width)

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        errors = _grouped(at.chances.error, self.groups).mean(axis=1)
        return value, errors + (self.groups + 2) * a.u * value + a.tiny, False


@dataclass(frozen=True, slots=True)
class Couple(Node):
    """LIBSVM's probabilities of classes from those of pairs, i over j for i < j.

    Wu, Lin and Weng's second method (JMLR 5, 2004), with LIBSVM's own sweeps and stopping rule.
    """

    out: Value
    pairs: Value
    n_classes: int

    def result(self, at: At) -> Type:
        pairs = _count_probabilities(at, "pairs")
        need(pairs == pair_count(self.n_classes), "needs one probability per pair")
        return Type(Kind.PROBABILITIES, self.n_classes)

    def run(self, at: At) -> NDArray[Any]:
        """In double, whatever the number type: the number of sweeps hangs on it."""
        pairs = at.pairs
        return couple(pairs.astype(np.float64), self.n_classes)[0].astype(pairs.dtype)

    def work(self, at: At, rows: At | None) -> Work:
        k = self.n_classes
        return Work(0, k * k * (3 + TYPICAL_SWEEPS * 8))

    def error(self, at: At, a: Arithmetic) -> Result:
        """The sweeps are in double; their own rounding counts as one more error of the pairs."""
        value, pairs = self.value(at), at.pairs
        sweeping = 16 * self.n_classes * ARITHMETIC["f64"].u
        errors: Array = pairs.error + sweeping * np.minimum(pairs.value, 1 - pairs.value)
        moved = coupling_errors(pairs.value, errors, self.n_classes)
        return value, moved + sweeping + 2 * a.u * value + a.tiny, False


def _group_width(at: At) -> int:
    """Columns of one of the groups."""
    width = _count_probabilities(at, "chances")
    need(at.groups > 0 and width % at.groups == 0, f"{width} columns do not make {at.groups} groups")
    return width // int(at.groups)


def _grouped(array: NDArray[Any], groups: int) -> NDArray[Any]:
    return array.reshape(len(array), groups, -1)


def _count_columns(at: At) -> int:
    """Of scores, or probabilities that stand for them."""
    need(at.scores.kind in COLUMNS, f"%{at.node.scores} is neither scores nor probabilities")
    return int(at.scores.width)


def _count_probabilities(at: At, field: str) -> int:
    given: Type = getattr(at, field)
    need(given.kind is Kind.PROBABILITIES, f"%{getattr(at.node, field)} is not probabilities")
    return given.width
