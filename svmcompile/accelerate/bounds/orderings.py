"""Orderings of the basis: which candidate comes next.

    original   the order given
    sgma       largest |residual Gram row|^2 / d_i
    min-wz     largest c_i^2 / d_i: least is left of W
    min-wzn    the same over support vectors and 59 random other points per step
    mean-lhn   least sum over queries of how far the wrong end of the interval is beyond zero
    hybrid     the last among candidates that leave at most 1 % more of W than the best

A factor and, for the last two, queries enter; an `Ordering` picks candidates until it has none.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from svmcompile.accelerate.bounds.greedy import Factor, Step
from svmcompile.ir.kernel import Array
from svmcompile.progress import steps

TRICK = 59  # the best of so many random ones is among the best 5 % with a chance of 95 %
LOOKED = 256  # points that mean-lhn and hybrid choose by queries; the rest as min-wz does, which is cheap
NEARLY = 1.01  # so much more of W than the best may be left, for hybrid


class Ordering(Protocol):
    """Picks the next candidate, and is told of it."""

    def pick(self, factor: Factor) -> int | None: ...

    def taken(self, step: Step) -> None: ...


class Original:
    """As given."""

    def pick(self, factor: Factor) -> int | None:
        usable = factor.usable
        return int(np.argmax(usable)) if usable.any() else None

    def taken(self, step: Step) -> None:
        pass


class MinWz:
    """Least is left of W; of `extra` candidates at the end, only some random ones are looked at."""

    def __init__(self, extra: int = 0, seed: int = 0) -> None:
        self.extra = extra
        self.random = np.random.default_rng(seed)

    def pick(self, factor: Factor) -> int | None:
        gains, usable = factor.gains, factor.usable
        if self.extra > TRICK:
            own = len(gains) - self.extra
            hidden = np.ones(len(gains), dtype=bool)
            hidden[:own] = False
            hidden[own + self.random.choice(self.extra, TRICK, replace=False)] = False
            gains, usable = np.where(hidden, 0.0, gains), usable & ~hidden
        return int(np.argmax(gains)) if usable.any() and gains.max() > 0 else None

    def taken(self, step: Step) -> None:
        pass


class Sgma:
    """The direction that all candidates together have most of."""

    def __init__(self, gram: Array) -> None:
        self.gram = gram.copy()  # what is left of it

    def pick(self, factor: Factor) -> int | None:
        usable = factor.usable
        if not usable.any():
            return None
        with np.errstate(all="ignore"):
            shares = np.square(self.gram).sum(axis=1) / factor.left
        return int(np.argmax(np.where(usable, shares, -1.0)))

    def taken(self, step: Step) -> None:
        self.gram -= np.outer(step.row, step.row)


class MeanLhn:
    """The least mean of the interval's wrong ends over queries; `nearly` limits the candidates."""

    def __init__(
        self, cross: Array, diagonal: Array, sums: Array, bias: float, nearly: float = np.inf
    ) -> None:
        self.cross = cross.copy()  # [candidates, queries]: what is left of the kernel values
        self.left = diagonal.copy()  # R^2
        self.positive = sums > 0
        self.scores = np.full(len(sums), bias)
        self.nearly = nearly
        self.left_to_look = LOOKED

    def pick(self, factor: Factor) -> int | None:
        gains, usable = factor.gains, factor.usable
        if not usable.any():
            return None
        if not self.left_to_look:
            return int(np.argmax(gains)) if gains.max() > 0 else None
        rest = np.maximum(factor.residual - gains, 0.0)
        most = np.inf if np.isinf(self.nearly) else self.nearly**2 * float(rest[usable].min())
        allowed = np.flatnonzero(usable & (rest <= most))
        roots = np.sqrt(factor.left[allowed])[:, None]
        q = self.cross[allowed] / roots
        scores = self.scores + factor.products[allowed, None] / roots * q
        gaps = np.sqrt(rest[allowed, None] * np.maximum(self.left - np.square(q), 0.0))
        wrong = np.where(self.positive, np.maximum(gaps - scores, 0.0), np.maximum(scores + gaps, 0.0))
        return int(allowed[np.argmin(wrong.sum(axis=1))])

    def taken(self, step: Step) -> None:
        if not self.left_to_look:
            return
        self.left_to_look -= 1
        root = float(step.row[step.chosen])  # sqrt(d_i), as it was
        q = self.cross[step.chosen] / root
        self.cross -= np.outer(step.row, q)
        self.left = np.maximum(self.left - np.square(q), 0.0)
        self.scores += step.weight * q


def ordered(factor: Factor, ordering: Ordering) -> list[int]:
    """The candidates one after the other, up to the factor's limit."""
    with steps("ordering vectors", len(factor.left)) as advance:
        while not factor.full:
            chosen = ordering.pick(factor)
            if chosen is None:
                break
            ordering.taken(factor.take(chosen))
            advance(1)
    return factor.order
