"""A vote of bounded pairs: a one-vs-one machine becomes a program, or a reason not to.

A class that wins all its pairs is the vote's winner, whatever the other pairs say. So the class
that a linear guess names first meets the others, each pair bounded in its own basis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds.choose import (
    ROUNDING,
    Choice,
    Instead,
    Prices,
    no_gain,
    pick_cheapest,
    prices,
    remarks,
)
from svmcompile.accelerate.bounds.margins import KernelError, direct_rounding, kernel_error, row_error
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.order import Ordered, order_basis
from svmcompile.accelerate.bounds.stages import Errors, Form, Stages, stage_tables
from svmcompile.accelerate.bounds.sums import Sum, guess_rows, reach_of
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.rows import kernel_sums, labels_of
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.node import At, run
from svmcompile.ir.nodes.bounded import spent
from svmcompile.ir.pairs import class_slices, pair_indices
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.ir.stages import longest_chain
from svmcompile.model.svm import SVM
from svmcompile.progress import steps

RIDGE = 1e-3  # of the mean square of the features
LIMITS = (8, 12, 16, 24, 32, 48, 64, 96)  # points of a pair's basis
BLOCKS = (16, 8, 4)
SOME_ROWS = 200  # of the sample; every form is tried on them
ORDERINGS = ("original", "sgma", "min-wz")


@dataclass(frozen=True, eq=False)
class Guess:
    """scores = weights (x - centre) + bias; the largest is the guess."""

    weights: Array  # [k, d]
    bias: Array  # [k]
    centre: Array  # [d]


def fit_guess(points: Array, labels: NDArray[np.int64], n_classes: int) -> Guess:
    """Ridge regression of the labels, one against the rest."""
    centre = nearest_float32(points.mean(axis=0))
    h = points - points.mean(axis=0)
    targets = (labels[:, None] == np.arange(n_classes)).astype(np.float64)
    level: Array = targets.mean(axis=0)
    gram = h.T @ h
    strength = RIDGE * float(np.trace(gram)) or 1.0
    weights = np.linalg.solve(gram + strength * np.eye(len(gram)), h.T @ (targets - level)).T
    return Guess(weights, level + weights @ (centre - points.mean(axis=0)), centre)


@dataclass(frozen=True, eq=False)
class Pair:
    """One pair's sum, which vectors of the machine it has, its ordered basis and that one's errors."""

    own: Sum
    members: NDArray[np.int64]
    ordered: Ordered
    errors: Errors

    def first(self, block: int, k_max: int) -> Stages:
        count = min(k_max, len(self.ordered.basis))
        return stage_tables(self.ordered.basis, self.errors, Form(block, count, count))

    def picks(self, k_max: int) -> NDArray[np.int64]:
        return self.members[self.ordered.picks[:k_max]]


def bound_votes(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: AnytimeOptions
) -> Program | Instead:
    """`own` is the SVM as its bounded pairs see it: merged and centred."""
    if options.ordering not in ORDERINGS:
        raise OptionError(
            f"anytime: ordering {options.ordering} takes data rows into the basis, which pairs of several "
            f"classes cannot share; use one of: {', '.join(ORDERINGS)}"
        )
    chain = longest_chain(own.kernel, own.vectors.shape[1])
    error = kernel_error(own.kernel, own.vectors, row_error(own.front, own.n_features), chain)
    if not error.usable:
        return Instead(ROUNDING)
    if min(own.counts) == 0:
        return Instead("a class has no support vectors")
    pairs = _pairs(own, error, options)
    points = guess_rows(own, rows, sample, options.seed)
    guess = fit_guess(points, labels_of(own, kernel_sums(own, points)), len(own.counts))
    maker = Maker(own, pairs, guess, error)
    price = prices(options.tune, svm)
    some = sample[:: -(-len(sample) // SOME_ROWS)]
    choice = _choose(maker, some, price, options)
    details = {"choice": choice.as_dict(), "sample_rows": len(some)}
    if not choice.pays and not options.force:
        return Instead(no_gain(choice.cost / choice.exact, options), details)
    return _program(svm, maker, choice, options, details)


def _pairs(own: SVM, error: KernelError, options: AnytimeOptions) -> list[Pair]:
    groups, found = class_slices(own.counts), []
    everyone = np.arange(own.n_vectors)
    limited = replace(options, k_max=min(options.k_max or LIMITS[-1], LIMITS[-1]))
    indices = pair_indices(len(own.counts))
    with steps("ordering pairs", len(indices)) as advance:
        for index, (i, j) in enumerate(indices):
            members = np.concatenate([everyone[groups[i]], everyone[groups[j]]])
            weights = np.concatenate([own.coefficients[j - 1, groups[i]], own.coefficients[i, groups[j]]])
            one = Sum(own.kernel, own.vectors[members], weights, float(own.intercepts[index]))
            ordered = order_basis(one, own.vectors[:0], limited)
            found.append(Pair(one, members, ordered, Errors.of(ordered.basis, one.bias, error)))
            advance(1)
    return found


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes the node of a form, with its tables."""

    own: SVM
    pairs: list[Pair]
    guess: Guess
    error: KernelError

    def nodes(self, x: str, exact: str, form: Form, builder: Builder) -> list[ir.Node]:
        """The guess and the vote."""
        own, tables = self.own, [pair.first(form.block, form.k_max) for pair in self.pairs]
        picks = [pair.picks(form.k_max) for pair in self.pairs]
        guess = ir.Affine(
            "guess",
            x,
            builder.table("guess_weights", self.guess.weights),
            builder.table("guess_bias", self.guess.bias),
            builder.table("guess_centre", self.guess.centre),
        )
        rounding = [direct_rounding(pair.own.weights, pair.own.bias, self.error) for pair in self.pairs]
        vote = ir.BoundedVote(
            "label",
            x,
            "guess",
            exact,
            builder.table("vectors", own.vectors),
            builder.table("weights", own.coefficients),
            builder.table("bias", own.intercepts),
            builder.indices("starts", np.cumsum([0, *map(len, picks)])),
            builder.indices("picks", np.concatenate(picks)),
            builder.table("coordinates", np.concatenate([one.coordinates for one in tables])),
            builder.table("projections", np.concatenate([one.projection for one in tables])),
            builder.table("residuals", np.concatenate([one.residuals for one in tables])),
            builder.table("slacks", np.concatenate([one.slacks for one in tables])),
            builder.table("margins", np.concatenate([one.margins for one in tables])),
            builder.table("rounding", np.array(rounding)),
            reach_of(own.vectors),
            form.block,
            own.counts,
            own.kernel,
        )
        return [guess, vote]


def _choose(maker: Maker, sample: Array, price: Prices, options: AnytimeOptions) -> Choice:
    """The cheapest form on sample rows that the options leave open: first its block, then its length."""
    longest = max(len(pair.ordered.basis) for pair in maker.pairs)
    limits = [options.k_max] if options.k_max else [one for one in LIMITS if one <= longest] or [longest]
    some = limits[len(limits) // 2]
    blocks = (options.block,) if options.block else BLOCKS
    first = pick_cheapest([_judge(maker, Form(block, some, some), sample, price) for block in blocks])
    others = [Form(first.form.block, limit, limit) for limit in limits if limit != some]
    return min([first, *(_judge(maker, form, sample, price) for form in others)], key=lambda one: one.cost)


def _judge(maker: Maker, form: Form, sample: Array, price: Prices) -> Choice:
    builder = Builder(maker.own)
    guess, vote = maker.nodes("x", "none", form, builder)
    env = {"x": sample, "guess": run(guess, {"x": sample}, builder.tables)}
    found = spent(At(vote, builder.tables, env))
    n, d, k = maker.own.n_vectors, maker.own.kernel_width, len(maker.own.counts)
    cost = price.single * found.values + price.product * (found.flops / 2 + k * d) + price.call
    cost += price.stage * (k - 1)  # one stage per pair at least
    exact = price.exact_sum(n, k - 1)
    return Choice(form, float(cost.mean()), exact, float(found.values.mean()), float(found.unsure.mean()))


def _program(
    svm: SVM, maker: Maker, choice: Choice, options: AnytimeOptions, details: dict[str, Any]
) -> Program:
    builder, k = Builder(svm), len(svm.counts)
    exact = builder.exact_in_double("exact_sums")
    builder.body.append(ir.Vote("exact_label", exact, k))
    x = builder.preprocess("bounded_", front=maker.own.front)
    builder.body.extend(maker.nodes(x, "exact_label", choice.form, builder))
    notes = remarks(choice, options)
    details = {"emitted": "bounded", **details}
    return builder.program([Output("label", "label")], "anytime", Claim.SAME_LABEL, notes, details=details)
