"""Choice of centres, order and axes of votes: the cheapest on sample rows that the bytes allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.choose import Prices
from svmcompile.accelerate.bounds.program import Guess
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.certified.votes.pairs import Pairs
from svmcompile.accelerate.certified.votes.places import Expanded, Form, Place, Placed, slack_of
from svmcompile.accelerate.taylor.front import Centres, grow_centres
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import At
from svmcompile.ir.vote_walk import Settled, Votes
from svmcompile.model.svm import SVM
from svmcompile.progress import steps

FLOAT = 4  # bytes
RANKS, SPARSE_RANKS = (8, 16, 32), (16, 32, 64)  # axes that are tried
MOST_FEATURES = 48  # with more of them they are not taken for axes themselves, unless asked for
MOST_CENTRES = 64  # of a class
MOST_AGAIN, MOST_SHARP = 1500, 200  # expansions whose bounds are made tighter, and as tight as may be
BLOCKS, MOST_BLOCKS = 4, 8  # orders whose spectra bound what is left out: while choosing, and at last
WORSE = 1.1  # more centres are not tried when twice as many have cost so much more


@dataclass(frozen=True, eq=False)
class Layout:
    """Trees of all classes, one after the other, and the places at their leaves with their tables."""

    trees: Sequence[Centres]  # by class
    places: Sequence[Placed]
    form: Form

    @property
    def expanded(self) -> list[Expanded]:
        return [one.expanded[self.form] for one in self.places]

    @property
    def bytes(self) -> int:
        """Of its float32 tables; vectors come on top."""
        d = len(self.places[0].centre)
        tests = sum(len(tree.planes) for tree in self.trees)
        pairs = len(self.places[0].constants)
        own = sum(one.numbers for one in self.expanded) + len(self.places) * (d + 1 + pairs * (d + 1))
        return FLOAT * (own + tests * (d + 1))

    def routes(self) -> tuple[list[int], Array, Array, list[list[int]]]:
        """Roots, planes, thresholds and children, numbered through all classes."""
        roots: list[int] = []
        planes: list[Array] = []
        thresholds: list[float] = []
        children: list[list[int]] = []
        centres = 0
        for tree in self.trees:
            first = len(planes)
            moved = [[_moved(child, first, centres) for child in pair] for pair in tree.children]
            roots.append(first if tree.planes else ~centres)
            planes += tree.planes
            thresholds += tree.thresholds
            children += moved
            centres += len(tree.parts)
        if not planes:
            return roots, np.zeros(1), np.zeros(1), [[-1, -1]]
        return roots, np.stack(planes), np.array(thresholds), children


def _moved(child: int, tests: int, centres: int) -> int:
    return child + tests if child >= 0 else ~(~child + centres)


def vote_node(
    builder: Builder,
    pairs: Pairs,
    guess: Guess,
    rounding: tuple[Array, Array],
    layout: Layout,
    x: str,
    exact: str,
) -> ir.TaylorVote:
    """The vote, with its tables."""
    own, places, found = pairs.own, layout.places, layout.expanded
    roots, planes, thresholds, children = layout.routes()
    none = np.zeros(1)
    second, rank = layout.form.order > 1, layout.form.rank if layout.form.order > 1 else 0
    table, indices = builder.table, builder.indices
    offsets = [[one.bias for one in pairs.against(own_class)] for own_class in range(pairs.classes)]
    return ir.TaylorVote(
        out="label",
        x=x,
        exact=exact,
        guess_weights=table("guess_weights", guess.weights),
        guess_bias=table("guess_bias", guess.bias - guess.weights @ guess.centre),
        roots=indices("roots", np.array(roots)),
        planes=table("planes", planes),
        thresholds=table("thresholds", thresholds),
        children=indices("children", np.array(children)),
        centres=table("centres", np.stack([one.centre for one in places])),
        steps=table("steps", np.array([one.step for one in places])),
        offsets=table("offsets", np.array(offsets)),
        constants=table("constants", np.stack([one.constants for one in places])),
        slopes=table("slopes", np.stack([one.slopes for one in places])),
        axes=table("axes", np.stack([one.axes for one in found]) if rank else none),
        squares=table("squares", np.stack([one.squares for one in found]) if second else none),
        middles=table("middles", np.stack([one.middles for one in found]) if rank else none),
        loose=table("loose", np.stack([one.loose for one in found]) if rank else none),
        gaps=table("gaps", np.stack([one.gaps for one in found], axis=1)),
        margins=table("margins", np.stack([one.margins for one in found], axis=1)),
        vectors=table("vectors", own.vectors[:, :, None]),
        weights=table("weights", own.coefficients),
        bias=table("bias", own.intercepts),
        rounding=table("rounding", rounding[0]),
        closer=table("closer", rounding[1]),
        norms=table("norms", np.square(pairs.own.vectors).sum(axis=1) if pairs.sparse else np.zeros(1)),
        starts=table("starts", _starts(layout) if pairs.sparse else np.zeros(1)),
        rank=rank,
        counts=own.counts,
        kernel=own.kernel,
        slack=slack_of(own.vectors.shape[1], rank),
    )


def _starts(layout: Layout) -> Array:
    """What the centres themselves bring to slopes and axes, [centres, k - 1 + r]."""
    pairs = zip(layout.places, layout.expanded, strict=True)
    return np.stack([np.concatenate([one.slopes, more.axes]) @ one.centre for one, more in pairs])


class VoteOptions(Protocol):
    """What a vote reads of a method's options; 0, for a rank -1, leaves a choice open."""

    @property
    def leaves(self) -> int: ...  # centres of each class

    @property
    def order(self) -> int: ...  # pairs have no third one, and take the second for it

    @property
    def rank(self) -> int: ...

    @property
    def cells(self) -> int: ...

    @property
    def max_bytes(self) -> int: ...

    @property
    def tune(self) -> str: ...

    @property
    def seed(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Original:
    """What the exact method meets and costs."""

    vectors: int
    cost: float
    again: float  # the same in double

    @classmethod
    def of(cls, svm: SVM, price: Prices) -> Original:
        parts = svm.parts or (svm,)
        cost = sum(price.exact_sum(part.n_vectors, len(part.coefficients)) for part in parts)
        again = 2 * price.exact * svm.n_vectors
        return cls(svm.n_vectors, cost - (len(parts) - 1) * price.exact_call, again)


@dataclass(frozen=True, eq=False)
class Choice:
    """A layout, and what the sample rows say of it."""

    layout: Layout
    cost: float  # mean per row
    exact: float  # the same of the exact sum
    met: Settled

    @property
    def centres(self) -> int:
        """Of a class, at most."""
        return max(len(tree.parts) for tree in self.layout.trees)

    def as_dict(self) -> dict[str, Any]:
        """For reports."""
        met = self.met
        champions = float(met.champions.mean())
        pairs = champions * (len(self.layout.trees) - 1)
        tried = float(met.pairs[:, 0].mean())
        return {
            "centres": self.centres,
            "order": self.layout.form.order,
            "rank": self.layout.form.rank,
            "bytes": self.layout.bytes,
            "cost": round(self.cost, 3),
            "exact": round(self.exact, 3),
            "champions": round(champions, 3),
            "pairs": round(pairs, 3),
            "second": round(tried, 3),
            "direct": round(float(met.direct.sum(axis=1).mean()), 3),
            "rows_direct": round(float(met.direct.any(axis=1).mean()), 4),
            "unsure": round(float((met.label < 0).mean()), 6),
        }


@dataclass(frozen=True, eq=False)
class Chooser:
    """What all layouts of one machine share."""

    pairs: Pairs
    guess: Guess
    rounding: tuple[Array, Array]  # of direct sums in float32 and in double
    by_class: list[Array]  # rows that centres are means of
    sample: Array
    price: Prices
    original: Original
    options: VoteOptions

    @cached_property
    def sparse(self) -> bool:
        return self.pairs.sparse

    @property
    def filled(self) -> float:
        """Features of a row that its code looks at; that for hosts passes over zeros."""
        passes = self.sparse and self.options.tune == "host"
        return float((self.sample != 0).sum(axis=1).mean()) if passes else float(self.sample.shape[1])

    @property
    def most_bytes(self) -> int:
        """What the tables may take: as much as the vectors, unless the options say more."""
        d = self.pairs.own.vectors.shape[1]
        return self.options.max_bytes or FLOAT * self.original.vectors * (int(d) + 1)

    def forms(self) -> list[Form]:
        """Orders and numbers of axes that the options leave open."""
        d, options = self.pairs.own.vectors.shape[1], self.options
        orders = [min(options.order, 2)] if options.order else [1, 2]
        tried = SPARSE_RANKS if self.filled < d else RANKS
        ranks = [rank for rank in tried if rank < d] + ([0] if d <= MOST_FEATURES else [])
        if options.rank >= 0:
            ranks = [options.rank if options.rank < d else 0]
        return [Form(1)] * (1 in orders) + [Form(2, rank) for rank in ranks] * (2 in orders)

    def chosen(self) -> Choice | None:
        """The cheapest; None where none fits into the bytes."""
        best: Choice | None = None
        for found in self._by_centres():
            least = min(found, key=lambda one: one.cost)
            if best is None or least.cost < best.cost:
                best = least
            elif least.cost > WORSE * best.cost:
                break
        return best and self._sharpened(best)

    def _sharpened(self, choice: Choice) -> Choice:
        """The same layout with tighter bounds, which take time: not worth it while choosing."""
        trees, form = choice.layout.trees, choice.layout.form
        count = len(choice.layout.places) * (self.pairs.classes - 1)
        if count > MOST_AGAIN:
            return choice
        places = self._places(trees, [form], MOST_BLOCKS, sharpen=count <= MOST_SHARP)
        return self.judged(Layout(trees, places, form))

    def _by_centres(self) -> Iterator[list[Choice]]:
        """Choices with 1, 2, 4, ... centres of a class, those that fit."""
        counts = [self.options.leaves] if self.options.leaves else _doubled(MOST_CENTRES)
        before = 0
        for count in counts:
            trees = [grow_centres(rows, count, self.options.seed) for rows in self.by_class]
            total = sum(len(tree.parts) for tree in trees)
            forms = [form for form in self.forms() if self._bytes(trees, form) <= self.most_bytes]
            if not forms or total == before:
                return
            before = total
            places = self._places(trees, forms)
            yield [self.judged(Layout(trees, places, form)) for form in forms]

    def _bytes(self, trees: list[Centres], form: Form) -> int:
        """Of a layout that is not there yet."""
        d, q = self.pairs.own.vectors.shape[1], self.pairs.classes - 1
        along = form.rank or d
        second = (q * along * (along + 1) // 2 + form.rank * d + 3 * q * (form.rank > 0)) * (form.order > 1)
        centre = d + 1 + q * (d + 1) + second + form.order * q * (2 * self.options.cells + 1)
        parts = sum(len(tree.parts) for tree in trees)
        return FLOAT * int(parts * centre + sum(len(tree.planes) for tree in trees) * (d + 1))

    def _places(
        self, trees: Sequence[Centres], forms: list[Form], blocks: int = BLOCKS, sharpen: bool = False
    ) -> list[Placed]:
        found = []
        with steps("Taylor expansions", sum(len(tree.parts) for tree in trees)) as advance:
            for own, tree in enumerate(trees):
                sums = self.pairs.against(own)
                for part in tree.parts:
                    place = Place(
                        sums, self.by_class[own][part], blocks, self.options.cells, sharpen, self.sparse
                    )
                    found.append(place.placed(forms))
                    advance(1)
        return found

    def judged(self, layout: Layout) -> Choice:
        """What a layout costs on the sample rows."""
        builder = Builder(self.pairs.own)
        vote = vote_node(builder, self.pairs, self.guess, self.rounding, layout, "x", "none")
        met = Votes(At(vote, builder.tables), self.sample).settled()
        cost = vote_cost(met, layout, np.array(self.pairs.own.counts), self.price, self.filled)
        again = np.where(met.label < 0, self.original.again, 0.0)
        return Choice(layout, float((cost + again).mean()), self.original.cost, met)


def _doubled(most: int) -> list[int]:
    return [2**power for power in range(most.bit_length())]


def vote_cost(met: Settled, layout: Layout, counts: NDArray[Any], price: Prices, filled: float) -> Array:
    """What rows cost, by the prices of kernel values, multiply-adds and stages; of `filled` features.

    That is up to where they may have to go to the original's sums in double.
    """
    q, d = layout.places[0].slopes.shape
    term = price.term if filled == d else price.exact
    form = layout.form
    along = form.rank or d
    products = along * (along + 1) // 2
    guess = price.call + filled * price.row(q + 1)
    champion = price.stage + price.row(4 * d) + filled * price.row(q) + price.line * q
    turn = price.stage + price.row(2 * products) + filled * price.row(form.rank)
    pair = price.row(products) + price.line
    values = met.values @ counts
    weighed = met.direct.sum(axis=1) * 2 * float(counts.mean())
    return np.asarray(
        guess
        + champion * met.champions
        + (price.row(d) + price.line) * met.tests
        + turn * met.tried[:, 1]
        + pair * met.pairs[:, 0]
        + term * values
        + 2 * price.product * weighed
        + price.stage * met.direct.sum(axis=1)
    )
