"""Choice of centres, order and axes of votes: the cheapest on sample rows that the bytes allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.choose import Prices
from svmcompile.accelerate.bounds.program import Guess
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.certified.votes.pairs import Form, Pairs, Place
from svmcompile.accelerate.taylor.expansion import Expansion
from svmcompile.accelerate.taylor.front import Centres, grow_centres
from svmcompile.accelerate.taylor.rounding import slack
from svmcompile.accelerate.taylor.sums import RbfSum
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.node import At
from svmcompile.ir.vote_walk import Settled, Votes
from svmcompile.model.svm import SVM
from svmcompile.progress import attempt, steps

FLOAT = 4  # bytes
RANKS, SPARSE_RANKS = (8, 16, 32), (16, 32, 64)  # axes that are tried
MOST_FEATURES = 48  # with more of them they are not taken for axes themselves, unless asked for
CENTRES = (1, 2, 4, 8, 16, 32, 64)  # of a class
MOST_AGAIN, MOST_SHARP = 1500, 200  # expansions whose bounds are made tighter, and as tight as may be
BLOCKS, MOST_BLOCKS = 4, 8  # orders whose spectra bound what is left out: while choosing, and at last
BATCH = 0.6  # of its cost alone, what a sum over vectors costs a row of a batch in C for hosts
WORSE = 1.1  # more centres are not tried when twice as many have cost so much more


@dataclass(frozen=True, eq=False)
class Layout:
    """Trees of all classes, one after the other, and the expansions of all pairs at their leaves."""

    trees: Sequence[Centres]  # by class
    places: Sequence[list[Expansion]]
    form: Form
    bytes: int  # of its float32 tables; vectors come on top

    def routes(self) -> dict[str, Array]:
        """Roots, planes, thresholds and children, numbered through all classes."""
        roots, children, tests, centres = list[int](), list[list[int]](), 0, 0
        for tree in self.trees:
            roots.append(tests if tree.planes else ~centres)
            # Leaves are ~leaf, so that they move the other way.
            moved = [[at + tests if at >= 0 else at - centres for at in pair] for pair in tree.children]
            children, tests, centres = children + moved, tests + len(moved), centres + len(tree.parts)
        planes = [plane for tree in self.trees for plane in tree.planes]
        thresholds = [threshold for tree in self.trees for threshold in tree.thresholds]
        return {
            "roots": np.array(roots),
            "planes": np.stack(planes) if planes else np.zeros(1),
            "thresholds": np.array(thresholds or [0.0]),
            "children": np.array(children or [[-1, -1]]),
        }

    def tables(self) -> dict[str, Array]:
        """Of the polynomials."""
        first, rank = [place[0] for place in self.places], self.form.rank

        def every(field: str, present: Any = True) -> Array:
            """[centres, pairs, ...]"""
            found = [[getattr(one, field) for one in place] for place in self.places]
            return np.array(found) if present else np.zeros(1)

        return {
            "centres": np.stack([one.centre for one in first]),
            "steps": np.array([one.step for one in first]),
            "constants": every("constant"),
            "slopes": every("slope"),
            "axes": np.array([one.axes for one in first]) if rank else np.zeros(1),
            "squares": every("squares", self.form.order > 1),
            "middles": every("middle", rank),
            "loose": every("loose")[:, :, 0, :2].swapaxes(1, 2) if rank else np.zeros(1),
            "gaps": every("gaps").transpose(2, 0, 3, 4, 1),
            "margins": every("margins").transpose(2, 0, 1),
        }


def _starts(layout: Layout) -> Array:
    """What the centres themselves bring to slopes and axes, [centres, k - 1 + r]."""
    found = []
    for place in layout.places:
        axes = [] if place[0].axes is None else [place[0].axes]
        found.append(np.concatenate([np.stack([one.slope for one in place]), *axes]) @ place[0].centre)
    return np.stack(found)


@dataclass(frozen=True, eq=False)
class Choice:
    """A layout, and what the sample rows say of it."""

    layout: Layout
    cost: float  # mean per row
    direct: float  # of it, sums over vectors
    exact: float  # the same of the exact sum
    met: Settled

    @property
    def ratio(self) -> float:
        """Of the exact sum's cost, alone."""
        return self.cost / self.exact

    @property
    def batch_ratio(self) -> float:
        """The same in a batch, where C for hosts reads vectors once for several rows."""
        return (self.cost - (1 - BATCH) * self.direct) / (BATCH * self.exact)

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
            "batch": round(self.batch_ratio, 3),
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
    svm: SVM  # the original
    options: CertifiedOptions

    @cached_property
    def sparse(self) -> bool:
        return self.pairs.sparse

    @cached_property
    def sums(self) -> list[list[RbfSum]]:
        """The pairs of each champion."""
        return [self.pairs.against(champion) for champion in range(self.pairs.classes)]

    @property
    def filled(self) -> float:
        """Features of a row that its code looks at; that for hosts passes over zeros."""
        passes = self.sparse and self.options.tune == "host"
        return float((self.sample != 0).sum(axis=1).mean()) if passes else float(self.sample.shape[1])

    @property
    def most_bytes(self) -> int:
        """What the tables may take: as much as the vectors, unless the options say more."""
        d = self.pairs.own.vectors.shape[1]
        return self.options.max_bytes or FLOAT * self.svm.n_vectors * (int(d) + 1)

    def forms(self) -> list[Form]:
        """Orders and numbers of axes that the options leave open."""
        d, options = self.pairs.own.vectors.shape[1], self.options
        orders = [min(options.order, 2)] if options.order else [1, 2]
        tried = SPARSE_RANKS if self.filled < d else RANKS
        ranks = [rank for rank in tried if rank < d] + ([0] if d <= MOST_FEATURES else [])
        if options.rank >= 0:
            ranks = [options.rank if options.rank < d else 0]
        return [Form(1)] * (1 in orders) + [Form(2, rank) for rank in ranks] * (2 in orders)

    def choose(self) -> Choice | None:
        """The cheapest; None where none fits into the bytes."""
        found = list[Choice]()  # each cheaper than those before
        attempt(lambda: self._search(found))
        if found:
            attempt(lambda: found.append(self._sharpen(found[-1])))
        return found[-1] if found else None

    def _search(self, found: list[Choice]) -> None:
        for choices in self._by_centres():
            least = min(choices, key=lambda one: one.cost)
            if not found or least.cost < found[-1].cost:
                found.append(least)
            elif least.cost > WORSE * found[-1].cost:
                break

    def _sharpen(self, choice: Choice) -> Choice:
        """The same layout with tighter bounds, which take time: not worth it while choosing."""
        layout = choice.layout
        count = len(layout.places) * (self.pairs.classes - 1)
        if count > MOST_AGAIN:
            return choice
        (sharper,) = self._layouts(layout.trees, [layout.form], MOST_BLOCKS, sharpen=count <= MOST_SHARP)
        return self.judge(sharper)

    def _by_centres(self) -> Iterator[list[Choice]]:
        """Choices with 1, 2, 4, ... centres of a class, those that fit."""
        counts = (self.options.leaves,) if self.options.leaves else CENTRES
        before = 0
        for count in counts:
            trees = [grow_centres(rows, count, self.options.seed) for rows in self.by_class]
            total = sum(len(tree.parts) for tree in trees)
            forms = [form for form in self.forms() if self._bytes(trees, form) <= self.most_bytes]
            if not forms or total == before:
                return
            before = total
            yield [self.judge(layout) for layout in self._layouts(trees, forms)]

    def _bytes(self, trees: Sequence[Centres], form: Form) -> int:
        """Of the float32 tables of a layout."""
        d, q = self.pairs.own.vectors.shape[1], self.pairs.classes - 1
        along = form.rank or d
        second = (q * along * (along + 1) // 2 + form.rank * d + 3 * q * (form.rank > 0)) * (form.order > 1)
        centre = d + 1 + q * (d + 1) + second + form.order * q * (2 * self.options.cells + 1)
        parts = sum(len(tree.parts) for tree in trees)
        return FLOAT * int(parts * centre + sum(len(tree.planes) for tree in trees) * (d + 1))

    def _layouts(
        self, trees: Sequence[Centres], forms: list[Form], blocks: int = BLOCKS, sharpen: bool = False
    ) -> list[Layout]:
        """One for each form; of a place, no more than its tables is kept."""
        found: dict[Form, list[list[Expansion]]] = {form: [] for form in forms}
        with steps("Taylor expansions", sum(len(tree.parts) for tree in trees)) as advance:
            for sums, rows, tree in zip(self.sums, self.by_class, trees, strict=True):
                for part in tree.parts:
                    place = Place(sums, rows[part], blocks, self.options.cells, sharpen, self.sparse)
                    for form in forms:
                        found[form].append(place.expansions(form))
                    advance(1)
        return [Layout(trees, places, form, self._bytes(trees, form)) for form, places in found.items()]

    def vote(self, builder: Builder, layout: Layout, x: str, exact: str) -> ir.TaylorVote:
        """The node of a layout, with its tables."""
        own, guess, rank, no = self.pairs.own, self.guess, layout.form.rank, np.zeros(1)
        tables = {
            "guess_weights": guess.weights,
            "guess_bias": guess.bias - guess.weights @ guess.centre,
            **layout.routes(),
            "offsets": np.array([[one.bias for one in sums] for sums in self.sums]),
            **layout.tables(),
            "vectors": own.vectors[:, :, None],
            "weights": own.coefficients,
            "bias": own.intercepts,
            "rounding": self.rounding[0],
            "closer": self.rounding[1],
            "norms": np.square(own.vectors).sum(axis=1) if self.sparse else no,
            "starts": _starts(layout) if self.sparse else no,
        }
        names, loss = builder.hold(tables), slack(own.vectors.shape[1], rank)
        return ir.TaylorVote(
            "label", x, exact, **names, rank=rank, counts=own.counts, kernel=own.kernel, slack=loss
        )

    def judge(self, layout: Layout) -> Choice:
        """What a layout costs on the sample rows."""
        builder = Builder(self.pairs.own)
        vote = self.vote(builder, layout, "x", "none")
        met = Votes(At(vote, builder.tables), self.sample).settled()
        front, direct = vote_costs(met, layout, np.array(self.pairs.own.counts), self.price, self.filled)
        direct = direct + np.where(
            met.label < 0, 2 * self.price.exact * self.svm.n_vectors, 0.0
        )  # in double
        return Choice(layout, float((front + direct).mean()), float(direct.mean()), self.exact_cost, met)

    @cached_property
    def exact_cost(self) -> float:
        """Of a row in the exact method."""
        parts, price = self.svm.parts or (self.svm,), self.price
        cost = sum(price.exact_sum(part.n_vectors, len(part.coefficients)) for part in parts)
        return cost - (len(parts) - 1) * price.exact_call


def vote_costs(
    met: Settled, layout: Layout, counts: NDArray[Any], price: Prices, filled: float
) -> tuple[Array, Array]:
    """What polynomials and direct sums of rows cost, by the prices of their parts; of `filled` features.

    That is up to where they may have to go to the original's sums in double.
    """
    q, d = len(layout.places[0]), len(layout.places[0][0].slope)
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
    front = (
        guess
        + champion * met.champions
        + (price.row(d) + price.line) * met.tests
        + turn * met.tried[:, 1]
        + pair * met.pairs[:, 0]
    )
    direct = term * values + 2 * price.product * weighed + price.stage * met.direct.sum(axis=1)
    return np.asarray(front), np.asarray(direct)
