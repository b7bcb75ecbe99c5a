"""Labels that rounding cannot change: scores where they are sure, else what double says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic
from svmcompile.ir.kinds import Decision, Flags, Floats, Kind, Lazy, Level, Table, Type, Value
from svmcompile.ir.node import At, Node, Result, Work, dims, need
from svmcompile.ir.nodes.decisions import ArgMax, OvrScores, Threshold, Vote
from svmcompile.ir.pairs import classes_of, favour, pair_count


@dataclass(frozen=True, slots=True)
class Certain(Node):
    """The label that scores decide where rounding cannot change it, else (NaN too) the exact one.

    Scores are off by at most sum_k widths[k] |x - centre|^(2 k), which only a machine program knows; a
    math program has no widths, and the label is the exact one. Where x are the scores themselves, their
    last is that squared length. By rule: "sign" a score above that, `positive` and `hit` as in `Threshold`;
    "vote" and "ties" a class with more votes than any other can get from pairs not sure, or for "vote" as
    many as one behind it; "argmax" a score above each other by twice that.
    """

    is_adaptive: ClassVar = True
    out: Value
    x: Value
    scores: Value
    exact: Lazy
    centre: Table = field(metadata=dims("d", "float32"))
    widths: Table = field(metadata=dims("terms", "bound"))
    rule: Decision
    positive: bool
    hit: int

    @property
    def sized(self) -> bool:
        """Whether the squared length stands behind the scores."""
        return self.x == self.scores

    def stands_on(self, at: At) -> Level:
        return Level.MACHINE if self.widths else Level.MATH

    def result(self, at: At) -> Type:
        need(at.scores.kind is Kind.SCORES and at.exact.kind is Kind.LABEL, "needs scores and a label")
        at.fit()
        classes = int(at.exact.width)
        wanted = {"sign": 1, "argmax": classes}.get(self.rule) or pair_count(classes)
        need(at.scores.width == wanted + self.sized, f"rule {self.rule} needs {wanted} scores")
        need(self.rule != "sign" or self.hit in (0, 1), "hit must be 0 or 1")
        return Type(Kind.LABEL, classes)

    def run(self, at: At) -> NDArray[Any]:
        if not self.widths:
            return np.asarray(at.exact)
        label, sure = self.decide(at)
        return np.where(sure, label, at.exact)

    def decide(self, at: At) -> tuple[NDArray[Any], Flags]:
        """The labels that scores decide, and where those are sure."""
        scores, width = at.scores[:, : -1 if self.sized else None], self.width_of(at)[:, None]
        if self.rule == "argmax":
            rows, label = np.arange(len(scores)), np.argmax(scores, axis=1)
            lead = scores[rows, label][:, None] - scores
            lead[rows, label] = np.inf
            finite = np.isfinite(scores).all(axis=1)
            return label, np.asarray((lead > 2 * width).all(axis=1) & finite)
        sure = (np.abs(scores) > width) & np.isfinite(scores)
        if self.rule == "sign":
            hit = scores[:, 0] > 0 if self.positive else scores[:, 0] < 0
            return np.where(hit, self.hit, 1 - self.hit), np.asarray(sure[:, 0])
        return _voted(scores, sure, self.rule == "ties")

    def width_of(self, at: At) -> Floats:
        """What scores of each row may be off by."""
        h = at.x - at.centre if self.centre else at.x
        size = at.x[:, -1] if self.sized else np.square(h).sum(axis=1)
        width = np.zeros_like(size)
        for term in at.widths[:0:-1]:
            width = (width + term) * size
        return np.asarray(width + at.widths[0])

    @property
    def values_for_cost(self) -> tuple[Value, ...]:
        """Without widths none but the row: its sums take long where vectors are many."""
        return (self.x, self.scores) if self.widths else (self.x,)

    def needs_lazy(self, rows: At) -> Flags:
        if not self.widths:
            return np.zeros(len(rows.x), dtype=bool)
        return ~self.decide(rows)[1]

    def work(self, at: At, rows: At | None) -> Work:
        row = 2 * at.x.width if self.widths and len(at.widths) > 1 and not self.sized else 0
        return Work(0, row + 4 * at.scores.width)

    def error(self, at: At, a: Arithmetic) -> Result:
        exact = at.exact.value
        return exact, np.zeros(len(exact)), False

    def plain(self, n_classes: int) -> list[Node]:
        """What decides the label where scores are in double already."""
        if self.rule == "sign":
            return [Threshold(self.out, self.scores, self.positive, self.hit, 1 - self.hit)]
        if self.rule == "vote":
            return [Vote(self.out, self.scores, n_classes)]
        if self.rule == "argmax":
            return [ArgMax(self.out, self.scores)]
        by_class = f"{self.out}_scores"
        return [OvrScores(by_class, self.scores, n_classes), ArgMax(self.out, by_class)]


def _voted(pairs: Floats, sure: Flags, strict: bool) -> tuple[NDArray[Any], Flags]:
    """Who has most votes of the pairs that are sure, and whether the others can change that."""
    k = classes_of(pairs.shape[1])
    sign, sides = np.where(sure, np.sign(pairs), 0), favour(k)
    won, lost = (np.maximum(sign, 0) @ np.maximum(own, 0).T + np.maximum(-sign, 0) @ np.maximum(-own, 0).T
                 for own in (sides, -sides))  # fmt: skip
    most = k - 1 - lost
    label = np.argmax(won, axis=1)
    own, classes = won.max(axis=1, keepdims=True), np.arange(k)
    beaten = (own > most) | (classes == label[:, None])
    if not strict:  # of several the first wins
        beaten |= (own == most) & (classes > label[:, None])
    return label, np.asarray(beaten.all(axis=1))
