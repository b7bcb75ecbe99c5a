"""Order of the vectors: a sum enters, the points of its basis leave, one after the other.

Pivoted Cholesky over candidates, one at a time; candidates enter, their order leaves.
For every candidate i stand d_i, what is left of |Phi(i)|^2, and c_i, what is left of
<Phi(i), W>. Taking candidate i is one row g = (K[i] - G' G[i]) / sqrt(d_i), w = c_i / sqrt(d_i),
and then d -= g^2, c -= g w: a step costs O(k n), a candidate's score O(1).

Orderings of the basis: which candidate comes next.

    original   the order given
    sgma       largest |residual Gram row|^2 / d_i
    min-wz     largest c_i^2 / d_i: least is left of W
    min-wzn    the same over support vectors and 59 random other points per step
    mean-lhn   least sum over queries of how far the wrong end of the interval is beyond zero
    hybrid     the last among candidates that leave at most 1 % more of W than the best

A factor and, for the last two, queries enter; an `Ordering` picks candidates until it has none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.free import free_points
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.stages import Basis, embed
from svmcompile.accelerate.bounds.sums import Sum
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.stages import self_kernel
from svmcompile.progress import steps, time_is_up

TRICK = 59  # the best of so many random ones is among the best 5 % with a chance of 95 %
LOOKED = 256  # points that mean-lhn and hybrid choose by queries; the rest as min-wz does, which is cheap
NEARLY = 1.01  # so much more of W than the best may be left, for hybrid
LEAST_POINTS = 16  # when the time is up
MOST_POINTS = 1024  # of a basis: coordinates cost the square of it
MOST_SQUARE = 6000  # candidates of sgma, which needs all their kernel values at once
MOST_OTHERS = 2000  # data rows among the candidates
QUERIES = 400  # of mean-lhn and hybrid
STARTS = 300  # candidates that a free point may start from


@dataclass(frozen=True, eq=False)
class Step:
    """What taking a candidate changed."""

    chosen: int
    row: Array  # [n]: every candidate's coordinate along the new direction
    weight: float  # W's


class Factor:
    """The factorisation so far; the candidates are points [n, d], the sum's own vectors first."""

    def __init__(self, own: Sum, points: Array, limit: int, pivot_tol: float) -> None:
        self.kernel, self.points = own.kernel, points
        self.left = self_kernel(own.kernel, points)  # d
        self.products = own.products(points)  # c
        self.order: list[int] = []
        self.residual = max(0.0, float(own.weights @ self.products[: len(own.weights)]))  # of |W|^2
        self.least = pivot_tol * float(np.median(self.left)) if len(points) else 0.0
        self._rows = np.zeros((min(limit, len(points)), len(points)))

    @property
    def full(self) -> bool:
        return len(self.order) == len(self._rows)

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Candidates that are not nearly dependent on those taken."""
        return np.asarray((self.left > self.least) & (self.left > 0))

    @property
    def gains(self) -> Array:
        """How much less of |W|^2 each candidate would leave; 0 for those that are not usable."""
        with np.errstate(all="ignore"):
            return np.where(self.usable, np.square(self.products) / self.left, 0.0)

    def take(self, chosen: int) -> Step:
        """Make a candidate the next point of the basis."""
        assert self.left[chosen] > 0
        count, points = len(self.order), self.points
        values = self.kernel.values(points, points[chosen : chosen + 1])[:, 0]
        root = float(np.sqrt(self.left[chosen]))
        row = (values - self._rows[:count].T @ self._rows[:count, chosen]) / root
        weight = float(self.products[chosen]) / root
        self._rows[count] = row
        self.order.append(chosen)
        self.left = np.maximum(self.left - np.square(row), 0.0)
        self.left[chosen] = 0.0
        self.products = self.products - row * weight
        self.residual = max(0.0, self.residual - weight * weight)
        return Step(chosen, row, weight)


class Ordering:
    """Picks the next candidate, and is told of it; this one takes them as given."""

    def pick(self, factor: Factor) -> int | None:
        usable = factor.usable
        return int(np.argmax(usable)) if usable.any() else None

    def taken(self, step: Step) -> None:
        """Most orderings need to know no more than the factor does."""


class MinWz(Ordering):
    """Least is left of W; of `extra` candidates at the end, only some random ones are looked at."""

    def __init__(self, extra: int = 0, seed: int = 0) -> None:
        self.extra = extra
        self.random = np.random.default_rng(seed)

    def pick(self, factor: Factor) -> int | None:
        gains = factor.gains
        if self.extra > TRICK:
            own = len(gains) - self.extra
            shown = np.arange(len(gains)) < own
            shown[own + self.random.choice(self.extra, TRICK, replace=False)] = True
            gains = np.where(shown, gains, 0.0)
        return int(np.argmax(gains)) if gains.max() > 0 else None


class Sgma(Ordering):
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


class MeanLhn(MinWz):
    """The least mean of the interval's wrong ends over queries; `nearly` limits the candidates."""

    def __init__(
        self, cross: Array, diagonal: Array, sums: Array, bias: float, nearly: float = np.inf
    ) -> None:
        super().__init__()
        self.cross = cross.copy()  # [candidates, queries]: what is left of the kernel values
        self.left = diagonal.copy()  # R^2
        self.positive = sums > 0
        self.scores = np.full(len(sums), bias)
        self.nearly = nearly
        self.left_to_look = LOOKED

    def pick(self, factor: Factor) -> int | None:
        usable = factor.usable
        if not usable.any() or not self.left_to_look:
            return super().pick(factor)
        rest = np.maximum(factor.residual - factor.gains, 0.0)
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


def order_candidates(factor: Factor, ordering: Ordering) -> list[int]:
    """The candidates one after the other, up to the factor's limit."""
    with steps("ordering vectors", len(factor.left)) as advance:
        while not factor.full:
            chosen = ordering.pick(factor)
            if chosen is None or (time_is_up() and len(factor.order) >= LEAST_POINTS):
                break
            ordering.taken(factor.take(chosen))
            advance(1)
    return factor.order


@dataclass(frozen=True, eq=False)
class Ordered:
    """A basis, and which of the sum's vectors its points are (-1: a row of the data)."""

    basis: Basis
    picks: NDArray[np.int64]


def order_basis(own: Sum, rows: Array, options: AnytimeOptions) -> Ordered:
    """The basis of a sum; `rows` are data rows in the kernel's space."""
    points = np.concatenate([own.vectors, _others(own, rows, options)])
    placed = _placed(own, points, rows, options)
    points = np.concatenate([points, placed])
    limit = min(options.k_max or MOST_POINTS, MOST_POINTS, len(points))
    factor, ordering = Factor(own, points, limit, options.pivot_tol), _ordering(own, points, rows, options)
    for chosen in range(len(points) - len(placed), len(points)):
        if factor.usable[chosen] and not factor.full:
            ordering.taken(factor.take(chosen))
    order = np.array(order_candidates(factor, ordering), dtype=np.int64)
    picks = np.where(order < len(own.vectors), order, -1)
    return Ordered(embed(own, points[order]), picks)


def _placed(own: Sum, points: Array, rows: Array, options: AnytimeOptions) -> Array:
    """Points anywhere in space, which come first: by queries or by W alone, as the ordering has it."""
    if not options.free:
        return points[:0]
    queries = _queries(rows, options) if options.ordering in ("mean-lhn", "hybrid") else points[:0]
    signs = np.sign(own.products(queries) + own.bias)
    some = points[np.sort(np.random.default_rng(options.seed).permutation(len(points))[:STARTS])]
    return free_points(own, some, queries, signs, options.free)


def _queries(rows: Array, options: AnytimeOptions) -> Array:
    return np.asarray(rows[np.sort(np.random.default_rng(options.seed).permutation(len(rows))[:QUERIES])])


def _others(own: Sum, rows: Array, options: AnytimeOptions) -> Array:
    """Data rows that may be points of the basis: none of them a vector."""
    if not options.needs_data:
        return rows[:0]
    known = {row.tobytes() for row in own.vectors}
    fresh = np.array([row.tobytes() not in known for row in rows], dtype=bool)
    others = np.unique(rows[fresh], axis=0)
    picks = np.random.default_rng(options.seed).permutation(len(others))[:MOST_OTHERS]
    return np.asarray(others[np.sort(picks)])


def _ordering(own: Sum, points: Array, rows: Array, options: AnytimeOptions) -> Ordering:
    if options.ordering == "original":
        return Ordering()
    if options.ordering in ("min-wz", "min-wzn"):
        return MinWz(len(points) - len(own.vectors), options.seed)
    if options.ordering == "sgma":
        if len(points) > MOST_SQUARE:
            raise OptionError(
                f"anytime: ordering sgma is for at most {MOST_SQUARE} vectors, here are {len(points)}; "
                "use min-wz"
            )
        return Sgma(own.kernel.values(points, points))
    queries = _queries(rows, options)
    sums, nearly = own.products(queries) + own.bias, NEARLY if options.ordering == "hybrid" else np.inf
    cross, diagonal = own.kernel.values(points, queries), self_kernel(own.kernel, queries)
    return MeanLhn(cross, diagonal, sums, own.bias, nearly)
