"""Votes of Taylor polynomials: which parts of a vote each row meets, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Flags, Wholes
from svmcompile.ir.layout import filled_up, rows_of, triangle_places
from svmcompile.ir.node import TABLES, At, field_kinds, need, within
from svmcompile.ir.pairs import UNSURE, pair_count, pair_indices, pair_table, vote
from svmcompile.ir.polynomials import quadratic


@dataclass(frozen=True, slots=True)
class Settled:
    """The label of each row, and what it met on the way there."""

    label: Wholes  # [rows], UNSURE where a pair stays so
    champions: Wholes  # [rows], how many
    tests: Wholes  # [rows], on ways to centres
    tried: Wholes  # [rows, 2]: champions whose pairs were looked at in either order
    pairs: Wholes  # [rows, 2]: pairs that order 2 had to look at, and pairs left after it
    direct: Flags  # [rows, pairs]
    values: Flags  # [rows, classes] whose kernel values were met


def in_rows(at: At) -> dict[str, NDArray[Any]]:
    """The tables by field, as they are without lanes."""
    kinds = field_kinds(type(at.node))
    found = {field: getattr(at, field) for field, kind in kinds.items() if kind in TABLES}
    lanes, others = found["vectors"].shape[2], len(at.counts) - 1
    if lanes > 1:
        found["slopes"] = found["slopes"].swapaxes(1, 2)[:, :others]
        if at.rank:
            found["axes"] = found["axes"].swapaxes(1, 2)[:, : at.rank]
        if found["squares"].ndim > 1:
            kept = triangle_places(at.rank or found["centres"].shape[1], lanes)
            found["squares"] = found["squares"][:, :, kept]
        found["guess_weights"] = found["guess_weights"].T[: others + 1]
        found["guess_bias"] = found["guess_bias"][: others + 1]
        for field in ("offsets", "constants", "middles", "loose", "gaps", "margins"):
            if found[field].ndim > 1:
                found[field] = found[field][..., :others]
    return found


class Votes:
    """A vote's rows, on their way from champion to champion."""

    def __init__(self, at: At, rows: NDArray[Any]) -> None:
        self.node, self.x, self.k = at.node, rows.astype(np.float64), len(at.counts)
        self.t = in_rows(at)
        self.pair = pair_table(self.k)
        n, pairs = len(rows), self.k * (self.k - 1) // 2
        self.vectors = rows_of(self.t["vectors"]).astype(np.float64)
        self.starts = np.concatenate([[0], np.cumsum(at.counts)])
        self.signs = np.zeros((n, pairs), dtype=np.int64)  # 1 for the first of a pair, -1, 0 if not known
        champions, tests = np.zeros((2, n), dtype=np.int64)
        tried, left = np.zeros((2, n, 2), dtype=np.int64)
        direct, values = np.zeros((n, pairs), dtype=bool), np.zeros((n, self.k), dtype=bool)
        self.met = Settled(np.full(n, UNSURE), champions, tests, tried, left, direct, values)

    def settled(self) -> Settled:
        """The labels, from the guesses on."""
        guess = self.x @ self.t["guess_weights"].T + self.t["guess_bias"]
        champion = np.where(np.isnan(guess), -np.inf, guess).argmax(axis=1)
        beaten = np.zeros((len(self.x), self.k), dtype=bool)
        active = np.arange(len(self.x))
        while len(active):
            following = np.empty(len(active), dtype=np.int64)
            for own in np.unique(champion[active]):
                at = champion[active] == own
                following[at] = self._defended(active[at], int(own))
            won = following == self.k
            self.met.label[active[won]] = champion[active[won]]
            active, following = active[following >= 0], following[following >= 0]
            active, following = active[following < self.k], following[following < self.k]
            beaten[active, champion[active]] = True
            again = beaten[active, following]
            self._vote(active[again])
            active, following = active[~again], following[~again]
            champion[active] = following
        return self.met

    def _defended(self, rows: Wholes, own: int) -> Wholes:
        """Who beats the champion in each row: k for nobody, -1 where that is not sure."""
        scores, state = self._taylor(rows, own)
        others = np.delete(np.arange(self.k), own)
        known = self.signs[np.ix_(rows, self.pair[own, others])] * np.where(own < others, 1, -1)
        state = np.where((state == 0) & (known != 0), known, state)
        lost = np.where(state < 0, scores, np.inf)
        following = np.where((state < 0).any(axis=1), others[lost.argmin(axis=1)], self.k)
        at = np.flatnonzero((following == self.k) & (state == 0).any(axis=1))
        if len(at):
            following[at] = self._directly(rows[at], own, others, scores[at], state[at] == 0)
        beaten = np.flatnonzero((following >= 0) & (following < self.k))
        winners = following[beaten]
        self.signs[rows[beaten], self.pair[own, winners]] = np.where(own < winners, -1, 1)
        return following

    def _directly(self, rows: Wholes, own: int, others: Wholes, scores: Array, open_: Flags) -> Wholes:
        """The same for rows with open pairs: these go to their direct sums, the least score first."""
        following = np.full(len(rows), self.k)
        order = np.where(open_, scores, np.inf).argsort(axis=1, kind="stable")
        for place in range(int(open_.sum(axis=1).max())):
            q = order[:, place]
            at = np.flatnonzero((following == self.k) & open_[np.arange(len(rows)), q])
            for one in np.unique(q[at]):
                some = at[q[at] == one]
                rival = int(others[one])
                won = self.direct(rows[some], min(own, rival), max(own, rival)) * (1 if own < rival else -1)
                following[some] = np.where(won > 0, self.k, np.where(won < 0, rival, -1))
        return following

    def direct(self, rows: Wholes, i: int, j: int) -> Wholes:
        """Signs of a pair from all vectors of its classes, i < j; 0 where that is not sure."""
        pair = int(self.pair[i, j])
        self.met.direct[rows, pair] = True
        self.met.values[rows, i] = self.met.values[rows, j] = True
        members = [slice(self.starts[c], self.starts[c + 1]) for c in (i, j)]
        weights = np.concatenate([self.t["weights"][j - 1, members[0]], self.t["weights"][i, members[1]]])
        vectors = np.concatenate([self.vectors[members[0]], self.vectors[members[1]]])
        terms = self.node.kernel.values(self.x[rows], vectors) * weights
        score = terms.sum(axis=1) + self.t["bias"][pair]
        bounds = [self.t[name][pair] for name in ("rounding", "closer")]
        spread = np.abs(terms).sum(axis=1)
        error = np.minimum(*(by_sum * spread + fixed for by_sum, fixed in bounds))
        sure = (np.abs(score) > error) & np.isfinite(self.x[rows]).all(axis=1)
        found = np.where(sure, np.sign(score), 0).astype(np.int64)
        self.signs[rows, pair] = found
        return found

    def _vote(self, rows: Wholes) -> None:
        """Settle all pairs of some rows."""
        for i, j in pair_indices(self.k):
            at = np.flatnonzero(self.signs[rows, self.pair[i, j]] == 0)
            if len(at):
                self.direct(rows[at], i, j)
        sure = (self.signs[rows] != 0).all(axis=1)
        self.met.label[rows] = np.where(sure, vote(self.signs[rows], self.k), UNSURE)

    def centre_of(self, rows: Wholes, own: int) -> Wholes:
        """The champion's centre that its tests lead a row to."""
        at = np.full(len(rows), int(self.t["roots"][own]))
        while (at >= 0).any():
            some = np.flatnonzero(at >= 0)
            tests = at[some]
            value = np.einsum("ij,ij->i", self.x[rows[some]], self.t["planes"][tests])
            right = value > self.t["thresholds"][tests]
            at[some] = self.t["children"][tests, right.astype(np.int64)]
            self.met.tests[rows[some]] += 1
        return ~at

    def _taylor(self, rows: Wholes, own: int) -> tuple[Array, Wholes]:
        """Scores of the champion's pairs, and what is sure of them: 1 won, -1 lost, 0 open."""
        scores = np.zeros((len(rows), self.k - 1))
        state = np.zeros(scores.shape, dtype=np.int64)
        centre = self.centre_of(rows, own)
        self.met.champions[rows] += 1
        for one in np.unique(centre):
            at = np.flatnonzero(centre == one)
            scores[at], state[at] = self._about(rows[at], own, int(one))
        return scores, state

    def _about(self, rows: Wholes, own: int, centre: int) -> tuple[Array, Wholes]:
        t = self.t
        h = self.x[rows] - t["centres"][centre]
        square = np.square(h).sum(axis=1)
        u = self.node.kernel.gamma * square
        orders, _, cells, _, _ = t["gaps"].shape
        place = u * t["steps"][centre]
        inside = place < cells
        cell = np.where(inside, place, 0).astype(np.int64)
        self.met.tried[rows[inside], 0] += 1
        fade = np.exp(-u)[:, None]
        gaps = t["margins"][:, centre, None, None] + u[:, None, None] * t["gaps"][:, centre, cell]
        sums = t["constants"][centre] + h @ t["slopes"][centre].T
        scores = t["offsets"][own] + fade * sums
        state = np.where(inside[:, None], _signs(scores, gaps[0]), 0)
        more = inside & (state == 0).any(axis=1) & ~(state < 0).any(axis=1)
        if orders > 1 and more.any():
            self.met.tried[rows[more], 1] += 1
            self.met.pairs[rows[more], 0] += (state[more] == 0).sum(axis=1)
            further, loose = self._second(h[more], square[more], centre)
            second = t["offsets"][own] + fade[more] * (sums[more] + further)
            gap = gaps[1][more] + (fade[more] * loose)[:, None]
            again = np.where(state[more] == 0, _signs(second, gap), state[more])
            scores[more] = np.where(state[more] == 0, second, scores[more])
            state[more] = again
            self.met.pairs[rows[more], 1] += (again == 0).sum(axis=1)
        return np.where(inside[:, None], scores, 0.0), state

    def _second(self, h: Array, square: Array, centre: int) -> tuple[Array, Array]:
        """The part of order 2 of every pair, and what axes may leave of it."""
        t, y = self.t, h
        middle, loose = np.zeros((2, len(h), self.k - 1))
        if self.node.rank:
            y = h @ t["axes"][centre].T
            along = np.square(y).sum(axis=1)
            left = np.maximum((1 + self.node.slack) * square - along, 0.0)
            middle = left[:, None] * t["middles"][centre]
            loose = np.stack([along, left], axis=1) @ t["loose"][centre]
        return middle + quadratic(y, t["squares"][centre].T), loose


def _signs(scores: Array, gaps: Array) -> Wholes:
    """1 and -1 where scores [rows, q] are sure by the gaps [rows, 2, q] of either side, else 0."""
    return (scores > gaps[:, 0]).astype(np.int64) - (-scores > gaps[:, 1]).astype(np.int64)


@dataclass(frozen=True, slots=True)
class VoteFlops:
    """Flops of the parts of a vote."""

    guess: int
    test: int
    centre: int  # the way from a centre
    first: int  # all pairs of a champion
    turn: int  # coordinates and their products, once for all pairs
    second: int  # a pair
    direct: Array  # [pairs], beside kernel values


def vote_flops(at: At) -> VoteFlops:
    """Of a node, from the shapes of its tables."""
    k, d = len(at.counts), at.centres.shape[1]
    along = at.rank or d
    products = along * (along + 1) // 2
    turn = products + (2 * at.rank * (d + 1) + 3 if at.rank else 0)
    direct = np.array([4 * (at.counts[i] + at.counts[j]) for i, j in pair_indices(k)])
    return VoteFlops(2 * d * k, 2 * d, 3 * d + 18, (k - 1) * (2 * d + 6), turn, 2 * products + 12, direct)


def sound_vote(at: At, k: int, d: int) -> None:
    """Tables fit each other, and tests lead on to later tests or to centres."""
    _routes(at)
    blocks, _, lanes = at.vectors.shape
    orders, centres = at.gaps.shape[:2]
    need(orders in (1, 2), f"order {orders} is neither 1 nor 2")
    need(all(count % lanes == 0 for count in at.counts), "a class does not end with a block")
    need(sum(at.counts) == blocks * lanes, "counts do not add up to the vectors")
    others, along, own = filled_up(k - 1, lanes), at.rank or d, at.rank > 0
    rank, n = filled_up(along, lanes), sum(filled_up(row, lanes) for row in range(1, along + 1))
    guess, slopes, axes = ((count, d) for count in (filled_up(k, lanes), others, rank))
    if lanes > 1:
        guess, slopes, axes = guess[::-1], slopes[::-1], axes[::-1]
    tests = len(at.children) if at.planes.ndim > 1 else 0
    starts = (centres, others + (filled_up(at.rank, lanes) if at.rank else 0))
    absent = ([] if own else ["middles", "loose"]) + ([] if orders > 1 else ["squares"])
    at.fit(
        guess_weights=guess, planes=(tests, d) if tests else (1,), slopes=(centres, *slopes),
        axes=(centres, *axes) if own else (1,), norms=(sum(at.counts),) if len(at.norms) > 1 else (1,),
        starts=starts if at.starts.ndim > 1 else (1,), **dict.fromkeys(absent, (1,)),
        classes=filled_up(k, lanes), k=k, tests=max(tests, 1), others=others, triangle=n,
        n=blocks * lanes, pairs=pair_count(k), centres=centres, orders=orders,
    )  # fmt: skip


def _routes(at: At) -> None:
    roots, children = at.roots, at.children
    centres = len(at.centres)
    within(~roots[roots < 0], centres, "a root")
    if at.planes.ndim == 1:
        need(bool((roots < 0).all()), "a root is a test, and there are none")
        return
    within(roots[roots >= 0], len(children), "a root")
    within(~children[children < 0], centres, "a child")
    own = np.arange(len(children))[:, None]
    later = (children < 0) | ((children > own) & (children < len(children)))
    need(bool(later.all()), "a test does not lead on to a later one or to a centre")
