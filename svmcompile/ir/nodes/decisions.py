"""From scores to labels: sums, guards, votes, thresholds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array, Bounded
from svmcompile.ir.kinds import Floats, Kind, Lazy, Rule, Table, Type, Value
from svmcompile.ir.node import At, Node, Result, Work, dims, need
from svmcompile.ir.pairs import classes_of, pair_count, pair_indices, vote


@dataclass(frozen=True, slots=True)
class Add(Node):
    """out = left + right."""

    takes_whole: ClassVar = True
    flops: ClassVar = 1
    out: Value
    left: Value
    right: Value

    def result(self, at: At) -> Type:
        need(at.left.kind is Kind.SCORES, "needs scores")
        need(at.left == at.right, "the two are not alike")
        return at.left

    def run(self, at: At) -> NDArray[Any]:
        return np.asarray(at.left + at.right)

    def whole_limit(self, at: At) -> int:
        return int(at.left.limit + at.right.limit)

    def error(self, at: At, a: Arithmetic) -> Result:
        value = self.value(at)
        return value, at.left.error + at.right.error + a.u * np.abs(value) + a.tiny, False


@dataclass(frozen=True, slots=True)
class Reach(Node):
    """`far` for rows farther than `radius` from the centre, else the score."""

    out: Value
    x: Value
    score: Value
    centre: Table = field(metadata=dims("d", "float32"))
    far: Table = field(metadata=dims("scores"))
    radius: float

    def result(self, at: At) -> Type:
        need(at.score.kind is Kind.SCORES, "needs scores")
        need(math.isfinite(self.radius) and self.radius >= 0, "the radius makes no sense")
        at.fit(scores=at.score.width)
        return at.score

    def run(self, at: At) -> NDArray[Any]:
        distance = np.square(at.x - at.centre, dtype=np.float64).sum(axis=1)
        beyond = np.asarray(distance > self.radius**2) & np.isfinite(at.x).all(axis=1)
        return np.where(beyond[:, None], at.far, at.score)

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, 3 * at.x.width + 1)

    def error(self, at: At, a: Arithmetic) -> Result:
        x, score = at.x, at.score
        h = x.value - at.centre
        distance = np.sqrt(np.square(h).sum(axis=1))
        error = np.sqrt(np.square(x.error).sum(axis=1)) + a.u * (h.shape[1] + 4) * (distance + self.radius)
        beyond = (distance > self.radius)[:, None]
        rounded = a.u * np.abs(at.far) + a.tiny
        unstable = np.abs(distance - self.radius) <= error
        return self.value(at), np.where(beyond, rounded, score.error), unstable


@dataclass(frozen=True, slots=True)
class Guard(Node):
    """The score where its margin is at least `width`, else (NaN too) the exact one.

    Margin, by rule: "sign" |score|; "vote" the least value, signed in favour of the
    vote's winner, among the winner's pairs; "argmax" the largest minus the next.
    """

    guards: ClassVar = True
    flops: ClassVar = 2
    takes_whole: ClassVar = True
    is_adaptive: ClassVar = True
    out: Value
    score: Value
    exact: Lazy
    width: float
    rule: Rule

    def result(self, at: At) -> Type:
        found, exact = at.score, at.exact
        if self.rule == "sign":  # the exact one may be in double, for its sign
            exact = replace(exact, wide=found.wide)
        need(found.kind is Kind.SCORES and found == exact, "needs two scores that are alike")
        need(self.width >= 0, "the width is below zero")
        need(self.rule != "sign" or found.width == 1, "the rule of signs needs one score")
        need(self.rule != "argmax" or found.width > 1, "the rule of the largest needs several scores")
        by_pairs = self.rule != "vote" or classes_of(found.width) > 1
        need(by_pairs, "the rule of votes needs one score per pair")
        return found

    def run(self, at: At) -> NDArray[Any]:
        sure = margins(at.score, self.rule) >= self.width
        return np.where(sure[:, None], at.score, at.exact)

    def needs_lazy(self, rows: At) -> NDArray[np.bool_]:
        return np.asarray(~(margins(rows.score, self.rule) >= self.width))

    def gives_sign(self, types: Mapping[str, Type]) -> bool:
        return types[self.exact].wide and not types[self.score].wide

    def whole_limit(self, at: At) -> int:
        return int(max(at.score.limit, at.exact.limit))

    def near(self, at: At, slack: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(np.abs(margins(at.score, self.rule) - self.width) <= slack[0])

    def error(self, at: At, a: Arithmetic) -> Result:
        score = at.score
        margin = margins(score.value, self.rule)
        near = ~(margin >= self.width)
        width = min(self.width, float(np.finfo(np.float64).max))  # an infinite one is met by no margin
        unstable = ~(np.abs(margin - width) > _margin_error(score, self.rule, a) + a.u * width)
        if self.rule == "vote":  # another winner has another margin
            unstable |= score.near_zero.any(axis=1)
        return self.value(at), np.where(near[:, None], at.exact.error, score.error), unstable


@dataclass(frozen=True, slots=True)
class OvrScores(Node):
    """scikit-learn's one-vs-rest form of pair sums: votes plus a squashed sum of confidences."""

    out: Value
    pairs: Value
    n_classes: int

    def result(self, at: At) -> Type:
        need(at.pairs == Type(Kind.SCORES, pair_count(self.n_classes)), "needs one score per pair")
        return Type(Kind.SCORES, self.n_classes)

    def run(self, at: At) -> NDArray[Any]:
        pairs = at.pairs
        votes = np.zeros((len(pairs), self.n_classes), dtype=pairs.dtype)
        confidence = np.zeros_like(votes)
        for column, (i, j) in enumerate(pair_indices(self.n_classes)):
            value = pairs[:, column]
            confidence[:, i] += value
            confidence[:, j] -= value
            votes[:, j] += value < 0  # zero counts for i here, unlike in Vote
            votes[:, i] += ~(value < 0)
        return np.asarray(votes + confidence / (3 * (np.abs(confidence) + 1)))

    def whole_error(self, at: At, error: float) -> tuple[Any, NDArray[np.bool_]] | None:
        near = (np.abs(at.pairs) <= error).any(axis=1)
        # A sum of errors, squashed by a function that rises by a third at most; plus float rounding.
        return np.where(near, np.inf, (self.n_classes - 1) * error / 3 + 1e-5)[:, None], near

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, 2 * at.pairs.width + 4 * self.n_classes)

    def error(self, at: At, a: Arithmetic) -> Result:
        value, pairs = self.value(at), at.pairs
        error = np.zeros((len(value), self.n_classes))
        size = np.zeros_like(error)
        for column, (i, j) in enumerate(pair_indices(self.n_classes)):
            for c in (i, j):
                error[:, c] += pairs.error[:, column]
                size[:, c] += np.abs(pairs.value[:, column])
        rounding = a.u * self.n_classes * (size + 2 * np.abs(value) + 4)
        return value, error / 3 + rounding, pairs.near_zero.any(axis=1)


@dataclass(frozen=True, slots=True)
class Vote(Node):
    """LIBSVM's vote: pair (i, j) above zero counts for i, else for j; most votes, first index wins."""

    may_be_whole: ClassVar = True
    out: Value
    pairs: Value
    n_classes: int

    def result(self, at: At) -> Type:
        need(at.pairs == Type(Kind.SCORES, pair_count(self.n_classes)), "needs one score per pair")
        return Type(Kind.LABEL, self.n_classes)

    def run(self, at: At) -> NDArray[Any]:
        return vote(at.pairs, self.n_classes)

    def work(self, at: At, rows: At | None) -> Work:
        return Work(0, 2 * at.pairs.width + 4 * self.n_classes)

    def error(self, at: At, a: Arithmetic) -> Result:
        return self.sure_value(at, at.pairs.near_zero.any(axis=1))


@dataclass(frozen=True, slots=True)
class ArgMax(Node):
    """Index of the largest score (or probability), first index wins; NaN counts as minus infinity."""

    compares: ClassVar = True
    flops: ClassVar = 1
    may_be_whole: ClassVar = True
    out: Value
    scores: Value

    def result(self, at: At) -> Type:
        need(at.scores.kind in (Kind.SCORES, Kind.PROBABILITIES), "needs scores or probabilities")
        return Type(Kind.LABEL, at.scores.width)

    def run(self, at: At) -> NDArray[Any]:
        scores = at.scores
        return np.asarray(np.argmax(np.where(np.isnan(scores), -np.inf, scores), axis=1))

    def error(self, at: At, a: Arithmetic) -> Result:
        value, scores = self.value(at), at.scores
        rows = np.arange(len(value))
        own = scores.error[rows, value]
        floor = scores.value[rows, value] - own
        rivals = scores.value + scores.error
        rivals[rows, value] = -np.inf
        # Without rounding a tie is a tie everywhere, and the first index wins.
        rounded = scores.error + own[:, None] > 0
        return value, np.zeros(len(value)), ((rivals >= floor[:, None]) & rounded).any(axis=1)


@dataclass(frozen=True, slots=True)
class Threshold(Node):
    """`hit` where the score is above zero (`positive`) or below it (not `positive`), else `miss`."""

    flops: ClassVar = 1
    may_be_whole: ClassVar = True
    out: Value
    score: Value
    positive: bool
    hit: int
    miss: int

    def result(self, at: At) -> Type:
        need(at.score == Type(Kind.SCORES, 1), "needs one score")
        need({self.hit, self.miss} == {0, 1}, "hit and miss must be 0 and 1")
        return Type(Kind.LABEL, 2)

    def run(self, at: At) -> NDArray[Any]:
        score = at.score[:, 0]
        return np.where(score > 0 if self.positive else score < 0, self.hit, self.miss)

    def error(self, at: At, a: Arithmetic) -> Result:
        return self.sure_value(at, at.score.near_zero[:, 0])


def margins(scores: Floats, rule: str) -> Floats:
    """How far each row's scores are from giving another label; NaN where a score is."""
    if rule == "sign":
        return np.abs(scores[:, 0])
    if rule == "argmax":
        top = np.sort(scores, axis=1)  # NaN goes last
        return np.asarray(top[:, -1] - top[:, -2])
    n_classes = classes_of(scores.shape[1])
    winner = vote(scores, n_classes)
    margin = np.full(len(scores), np.inf, dtype=np.result_type(scores.dtype, np.float32))
    for column, (i, j) in enumerate(pair_indices(n_classes)):
        value = scores[:, column]
        own = np.where(winner == i, value, np.where(winner == j, -value, margin))
        margin = np.minimum(margin, own)
    return np.asarray(margin)


def _margin_error(score: Bounded, rule: str, a: Arithmetic) -> Array:
    worst = np.asarray(score.error.max(axis=1))
    if rule != "argmax":
        return worst
    return np.asarray(2 * worst + 2 * a.u * np.abs(score.value).max(axis=1))
