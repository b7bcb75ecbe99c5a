"""Votes that are settled from as few pairs as decide them, each known no better than its sign needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Arithmetic, Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.kinds import Flags, IndexTable, Kind, Lazy, Level, Table, Type, Value
from svmcompile.ir.layout import by_rows, rows_of, triangle_size
from svmcompile.ir.node import At, Result, dims, need, within
from svmcompile.ir.nodes.bounded import Adaptive, sound_bounds
from svmcompile.ir.pairs import UNSURE, Match, champions, class_counts, pair_count, pair_indices
from svmcompile.ir.stages import CHECK_FLOPS, PairTables, Spent, Stages, pair_stages
from svmcompile.ir.vote_walk import Votes, sound_vote, vote_flops


@dataclass(frozen=True, slots=True)
class BoundedVote(Adaptive):
    """LIBSVM's vote, from as few pairs as decide it, each known no better than its sign needs.

    The class with the largest guess is the champion. It meets the others in their order, except those
    it has met already; who beats it is the next champion, and a champion that has beaten all others is
    the label. When a class that has been beaten would become champion, all pairs are settled and vote.

    A pair is settled as a `BoundedSum` settles a sign, with the basis picks[starts[p]:starts[p + 1]],
    all its coordinates, a stage after every `block` values and at the end of the basis, then with all
    vectors of its two classes; pairs share kernel values. One that stays unsure makes the label exact.
    What `BoundedSum` says of precomputed kernels holds here.

    Machine programs hold it in blocks of lanes, residuals squared; each class and the basis of each pair
    fill whole blocks. With more than one lane, `basis` holds the vectors of each pair's basis once more.
    """

    has_stages: ClassVar = True
    small_tables: ClassVar = {"vectors": ("int32",)}
    flat_tables: ClassVar = ("coordinates", "projections", "picks")
    out: Value
    x: Value
    guess: Value  # [k]
    exact: Lazy  # a label
    vectors: Table = field(metadata=dims("n d"))  # grouped by class; in blocks [blocks, d, lanes]
    basis: Table = field(default="", kw_only=True)  # [blocks of all pairs, d, lanes], or none
    weights: Table = field(metadata=dims("k-1 n"))  # as in `PairSum`
    bias: Table = field(metadata=dims("pairs"))
    starts: IndexTable = field(metadata=dims("pairs+1"))
    picks: IndexTable = field(metadata=dims("picks"))  # basis vectors of all pairs
    coordinates: Table = field(metadata=dims("triangles"))  # lower ones, pair by pair
    projections: Table = field(metadata=dims("picks"))
    residuals: Table = field(metadata=dims("stages", "bound"))  # of all pairs
    slacks: Table = field(metadata=dims("stages", "bound"))
    margins: Table = field(metadata=dims("stages", "bound"))
    rounding: Table = field(metadata=dims("pairs 2", "bound"))
    reach: float
    block: int
    counts: tuple[int, ...]
    kernel: Kernel

    def stands_on(self, at: At) -> Level:
        return Level.MACHINE if at.vectors.ndim == 3 else Level.MATH

    def result(self, at: At) -> Type:
        if at.vectors.ndim == 3:
            self._check_blocks(at)
            at = self.plain(at)
        sound_bounds(at)
        class_counts(self.counts)
        k, n = len(self.counts), sum(self.counts)
        need(at.exact == Type(Kind.LABEL, k), f"%{self.exact} is no label of {k} classes")
        need(at.guess == Type(Kind.SCORES, k), f"%{self.guess} is not one score per class")
        need(self.block > 0, f"a block of {self.block}")
        starts, picks = at.starts.astype(np.int64), at.picks.astype(np.int64)
        basis = np.diff(starts)
        stages, triangles = int((-(-basis // self.block)).sum()), int((basis * (basis + 1) // 2).sum())
        at.fit(n=n, k=k, d=at.vector_width, pairs=pair_count(k), triangles=triangles, stages=stages)
        need(starts[0] == 0 and starts[-1] == len(picks) and bool((basis > 0).all()), "starts do not rise")
        within(picks, n, "a vector")
        _own_vectors(self, starts, picks)
        return Type(Kind.LABEL, k)

    def _check_blocks(self, at: At) -> None:
        lanes, sizes = at.vectors.shape[2], np.diff(at.starts.astype(np.int64)).tolist()
        need(lanes > 0, "blocks are empty")
        whole = all(size % lanes == 0 for size in (*sizes, *self.counts, self.block))
        need(whole, "a stage or a class does not end with a block")
        numbers = sum(triangle_size(size, lanes) for size in sizes)
        need(len(at.coordinates) == numbers, "coordinates do not fit")
        shape = (len(at.picks) // lanes, *at.vectors.shape[1:])
        fits = at.basis.shape == shape if lanes > 1 else self.basis in ("", self.vectors)
        need(fits, "the basis does not fit")

    def plain(self, at: At) -> At:
        if at.vectors.ndim < 3:
            return at
        plain = {**at.tables, self.residuals: np.sqrt(at.residuals.astype(np.float64))}
        plain[self.vectors] = rows_of(at.vectors)
        lanes, triangles, first = at.vectors.shape[2], [], 0
        for size in np.diff(at.starts.astype(np.int64)).tolist():
            end = first + triangle_size(size, lanes)
            triangles.append(by_rows(at.coordinates[first:end], size, lanes))
            first = end
        plain[self.coordinates] = np.concatenate(triangles)
        return At(self, plain, at.read)

    def run(self, at: At) -> NDArray[Any]:
        label = match_of(self.plain(at), at.x, at.guess).label
        return np.where(label == UNSURE, at.exact, label)

    def stages(self, at: At, x: NDArray[Any], pair: int = 0) -> Stages:
        """How score and error of one pair develop."""
        classes, at = pair_indices(len(self.counts))[pair], self.plain(at)
        return pair_stages(at, pair, classes, PairTables(at, x))

    def spent(self, rows: At) -> Spent:
        match = match_of(rows, rows.x, rows.guess)
        known = PairTables(rows, rows.x)
        seen = np.zeros(known.values.shape, dtype=bool)
        flops = np.zeros(len(seen))
        for pair, classes in enumerate(pair_indices(len(self.counts))):
            stage = pair_stages(rows, pair, classes, known)
            met = match.met[:, pair]
            flops += np.where(met, _mark(known, pair, classes, stage, met, seen), 0)
        return Spent(seen.sum(axis=1).astype(np.float64), flops, match.label == UNSURE)

    def most_spent(self, at: At) -> tuple[int, int]:
        total = sum(4 * (self.counts[i] + self.counts[j]) for i, j in pair_indices(len(self.counts)))
        basis = np.asarray(np.diff(at.starts.astype(np.int64)), dtype=np.int64)
        checks = CHECK_FLOPS * -(-basis // self.block)
        return len(at.vectors), int(total + (basis * (basis + 3) + checks).sum())

    def error(self, at: At, a: Arithmetic) -> Result:
        return self.sure_value(at)


@dataclass(frozen=True, slots=True)
class TaylorVote(Adaptive):
    """LIBSVM's vote, from the pairs of few classes, each known no better than its sign needs.

    Pairs may be differences of the sums of a one-vs-rest machine, of which the largest wins: so does its
    class all its pairs.

    The class with the largest guess_weights . x + guess_bias is the champion. It meets all others at
    once; who beats it is the next champion, and a champion that has beaten all others is the label. When
    a class that has been beaten would become champion, all pairs are settled by direct sums and vote.

    The champion's tests, from its root on, lead to one of its centres: the side where
    planes . x > thresholds is the second child, and a child below zero is the centre ~child. There,
    with h = x - centre, u = gamma |h|^2, the cell floor(u step), coordinates y = axes h (or h itself) and
    what they leave, z^2 = (1 + slack) |h|^2 - |y|^2, the pair with the q-th of the other classes has

        score_1 = offsets[champion, q] + exp(-u) (constants[q] + slopes[q] . h)
        score_2 = score_1 + exp(-u) (sum_{a <= b} squares[q, ba] y_a y_b + middles[q] z^2)

    above zero for the champion, and order p is sure of it where |score_p| is above

        margins[p, q] + u gaps[p, cell, side, q]   (+ exp(-u) loose[q] . (|y|^2, z^2) with axes, at order 2)

    with side 0 for scores above zero and 1 below. Of several that beat the champion for sure, the one
    with the least score counts. Pairs that stay open, and all pairs of rows beyond the last cell, go to
    the direct sum over the vectors of their two classes, the least score first, which is sure where it
    is above rounding[0] sum_i |weights_i k_i| + rounding[1]; where it is not, to the same sum in double,
    whose bound `closer` tells likewise. One that stays unsure makes the label exact, and so does a row
    that is not finite.

    Where there are norms and starts, bounds are wide enough for code that passes over zeros of a row: for
    products with x less those with the centre, and |x|^2 + |v|^2 - 2 x . v for distances.

    `vectors` and what belongs to them lie in blocks of lanes. With more than one lane, the last index of
    tables by class, q and axis is filled up to whole lanes, matrices with d columns are turned, and every
    row of a triangle is filled up.
    """

    certificate: ClassVar = "vote"
    out: Value
    x: Value
    exact: Lazy  # a label
    guess_weights: Table  # [k, d]; in lanes [d, k]
    guess_bias: Table = field(metadata=dims("classes"))  # k, filled up
    roots: IndexTable = field(metadata=dims("k"))  # tests, or centres ~root
    planes: Table  # [tests, d]; a zero where there are none, as the next
    thresholds: Table = field(metadata=dims("tests"))
    children: IndexTable = field(metadata=dims("tests 2"))
    centres: Table = field(metadata=dims("centres d", "float32"))
    steps: Table = field(metadata=dims("centres"))  # cells per unit of u
    offsets: Table = field(metadata=dims("k others"))  # k - 1, filled up
    constants: Table = field(metadata=dims("centres others"))
    slopes: Table  # [centres, k - 1, d]; in lanes [centres, d, k - 1]
    axes: Table  # [centres, r, d], orthonormal rows, in lanes [centres, d, r]; a zero where y is h
    squares: Table = field(metadata=dims("centres k-1 triangle"))  # lower triangles; below order 2 a zero
    middles: Table = field(metadata=dims("centres others"))  # without axes a zero, as the next
    loose: Table = field(metadata=dims("centres 2 others", "bound"))
    gaps: Table = field(metadata=dims("orders centres cells 2 others", "bound"))
    margins: Table = field(metadata=dims("orders centres others", "bound"))
    vectors: Table = field(metadata=dims("blocks d lanes"))  # grouped by class
    weights: Table = field(metadata=dims("k-1 n"))  # as in `PairSum`
    bias: Table = field(metadata=dims("pairs"))
    rounding: Table = field(metadata=dims("pairs 2", "bound"))
    closer: Table = field(metadata=dims("pairs 2", "bound"))
    norms: Table  # [n], |vectors|^2, where code may pass over zeros of a row; else a zero
    starts: Table  # [centres, k - 1 + r], slopes and axes times the centre, likewise
    rank: int  # r; 0 where y is h
    counts: tuple[int, ...]  # vectors per class, with what fills up
    kernel: Kernel
    slack: float = 0.0  # keeps z from being too small by rounding
    reach: float = 0.0  # not read by an RBF kernel

    def result(self, at: At) -> Type:
        class_counts(self.counts)
        need(self.kernel.kind == "rbf" and self.kernel.gamma >= 0, "only RBF sums have these polynomials")
        sound = math.isfinite(self.reach) and 0 <= self.slack < 1 and self.rank >= 0
        need(sound, "a number makes no sense")
        k = len(self.counts)
        need(at.exact == Type(Kind.LABEL, k), f"%{self.exact} is not a label of these classes")
        need(at.vectors.ndim == 3, "vectors are not in blocks")
        need(at.gaps.ndim == 5 and at.gaps.size > 0, "gaps are missing")
        sound_vote(at, k, at.d)
        need(bool((at.steps > 0).all()), "steps are not above zero")
        return Type(Kind.LABEL, k)

    def run(self, at: At) -> NDArray[Any]:
        label = Votes(at, at.x).settled().label
        return np.where(label == UNSURE, at.exact, label)

    def values_per_row(self, rows: At) -> int:
        return rows.slopes[0].size

    def spent(self, rows: At) -> Spent:
        met, prices = Votes(rows, rows.x).settled(), vote_flops(rows)
        flops: Any = prices.guess + prices.centre * met.champions + prices.test * met.tests
        flops = flops + prices.first * met.tried[:, 0] + prices.turn * met.tried[:, 1]
        flops = flops + prices.second * met.pairs[:, 0] + met.direct @ prices.direct
        return Spent((met.values @ np.array(self.counts)).astype(np.float64), flops, met.label == UNSURE)

    def most_spent(self, at: At) -> tuple[int, int]:
        prices, k = vote_flops(at), len(self.counts)
        tests = len(at.children) if at.planes.ndim > 1 else 0
        champion = prices.centre + prices.first + prices.turn + (k - 1) * prices.second
        others = tests * prices.test + prices.direct.sum()
        return sum(self.counts), int(prices.guess + k * champion + others)

    def error(self, at: At, a: Arithmetic) -> Result:
        return self.sure_value(at)


def _own_vectors(node: BoundedVote, starts: np.ndarray, picks: np.ndarray) -> None:
    """Each pair picks among the vectors of its two classes."""
    owner = np.repeat(np.arange(len(node.counts)), node.counts)[picks]
    first, second = (np.repeat(part, np.diff(starts)) for part in np.triu_indices(len(node.counts), 1))
    need(bool(((owner == first) | (owner == second)).all()), "a pair picks a vector of another class")


def match_of(at: At, x: NDArray[Any], guess: NDArray[Any]) -> Match:
    """How the vote of each row is settled."""
    known = PairTables(at, x)
    n_classes = len(at.counts)
    signs = np.zeros((len(x), len(at.bias)), dtype=np.int64)
    for pair, classes in enumerate(pair_indices(n_classes)):
        found = pair_stages(at, pair, classes, known)
        first = found.first_sure(-1.0)
        score = found.scores[np.arange(len(x)), first]
        signs[:, pair] = np.where(first < 0, 0, np.where(score > 0, 1, -1))
    ranked = np.where(np.isnan(guess), -np.inf, guess)
    return champions(ranked.argmax(axis=1).astype(np.int64), signs, n_classes)


def _mark(
    known: PairTables, pair: int, classes: tuple[int, int], found: Stages, met: Flags, seen: Flags
) -> Array:
    """Mark the vectors a pair meets in each row; the flops of the pair."""
    first = found.first_sure(-1.0)
    last = (first < 0) | (first == len(found.ends) - 1)
    basis = np.where(last, found.ends[-2], found.ends[first])
    picks, _ = known.basis(pair)
    order = np.arange(len(picks))
    seen[:, picks] |= met[:, None] & (order < basis[:, None])
    members, _ = known.members(classes)
    seen[np.ix_(met & last, members)] = True
    checks = np.where(first < 0, len(found.ends) - 1, first) + 1
    flops = basis * (basis + 1) + 4 * basis + CHECK_FLOPS * checks
    return np.asarray(flops + np.where(last, 4 * len(members), 0))
