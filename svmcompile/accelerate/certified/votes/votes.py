"""A vote certified by Taylor polynomials: a machine of several classes becomes a program, or a reason.

A class that wins all its pairs is the vote's winner, whatever the other pairs say. So the class that a
linear guess names meets the others. All its pairs are expanded about one of few centres of that class's
own rows, where most of them are far from zero: what a polynomial of order 1 or 2 leaves out is bounded,
and a pair that is not sure by then goes to its direct sum. A one-vs-rest machine is a vote of differences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.accelerate.bounds.choose import ROUNDING, Instead, prices
from svmcompile.accelerate.bounds.margins import kernel_error, row_error
from svmcompile.accelerate.bounds.options import UNITS, AnytimeOptions
from svmcompile.accelerate.bounds.program import bound_votes as anytime_votes
from svmcompile.accelerate.bounds.program import fit_guess
from svmcompile.accelerate.bounds.sums import guess_rows, join_parts, mostly_zeros
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.certified.votes.choose import Choice, Chooser, Original, VoteOptions, vote_node
from svmcompile.accelerate.certified.votes.pairs import Pairs, bias_sizes
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.pairs import class_slices
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.ir.stages import longest_chain
from svmcompile.model.svm import SVM

METHOD = "certified"
# Of the exact sum's cost: predictions are not that sharp, and on a host the exact vote gains more from rows
# that come together than polynomials do.
WORTH = {"host": 0.5, "portable": 0.75, "flops": 0.75}
SPARSE_WORTH = 0.4  # where the exact sum skips zeros
GOOD = 0.4  # so little needs no rival
SOME_ROWS = 400  # of the sample


def certify_votes(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: VoteOptions, force: bool = False
) -> Program | Instead:
    """`own` is the SVM as its pairs see it: one-vs-one, merged and centred; `force` asks no price."""
    if own.kernel.kind != "rbf":
        return Instead("only RBF kernels have these polynomials")
    row = row_error(own.front, own.n_features)
    error = kernel_error(own.kernel, own.vectors, row, longest_chain(own.kernel, own.vectors.shape[1]))
    if not error.usable:
        return Instead(ROUNDING)
    if min(own.counts) == 0:
        return Instead("a class has no support vectors")
    pairs = Pairs.of(own, row, bias_sizes(svm, own))
    points = guess_rows(own, rows, sample, options.seed)
    guess = fit_guess(points, pairs.labels(points), pairs.classes)
    some, whole = sample[:: -(-len(sample) // SOME_ROWS)], join_parts(svm)
    price = prices(options.tune, whole)
    chooser = Chooser(
        pairs,
        guess,
        pairs.rounding(row),
        _rows_by_class(pairs, rows),
        some,
        price,
        Original.of(svm, price),
        options,
    )
    choice = chooser.chosen()
    if choice is None:
        return Instead(
            f"polynomials of the smallest kind take more than {chooser.most_bytes} bytes; "
            "max_bytes allows more"
        )
    details = {"choice": choice.as_dict(), "sample_rows": len(some), "max_bytes": chooser.most_bytes}
    ratio = choice.cost / choice.exact
    if not force and ratio > GOOD:
        rival = _anytime(svm, own, rows, sample, options, choice, details) if svm.counts else None
        if rival is not None:
            return rival
        if ratio > (SPARSE_WORTH if mostly_zeros(whole) else WORTH[options.tune]):
            return Instead(_no_gain(ratio, options), details)
    return _program(svm, chooser, choice, options, details)


def _rows_by_class(pairs: Pairs, rows: Array) -> list[Array]:
    """Rows that the machine gives to each class; its support vectors where there are none."""
    labels = pairs.labels(rows) if len(rows) else np.zeros(0, dtype=np.int64)
    groups = class_slices(pairs.own.counts)
    found = [rows[labels == own] for own in range(pairs.classes)]
    return [one if len(one) else pairs.own.vectors[groups[own]] for own, one in enumerate(found)]


def _anytime(
    svm: SVM,
    own: SVM,
    rows: Array,
    sample: Array,
    options: VoteOptions,
    choice: Choice,
    details: dict[str, Any],
) -> Program | None:
    """The vote of `anytime`, where that is predicted to be cheaper than polynomials and the exact one."""
    bounded = anytime_votes(svm, own, rows, sample, AnytimeOptions(tune=options.tune, seed=options.seed))
    if not isinstance(bounded, Program):
        return None
    cost = float(bounded.origin.details["choice"]["cost"])
    if cost >= choice.cost:
        return None
    note = (
        f"{METHOD} emits the vote of anytime: it is predicted to cost {cost / choice.cost:.2f} times as "
        f"much as polynomials ({UNITS[options.tune]})"
    )
    figures = {**bounded.origin.details, "polynomials": details["choice"], "emitted": "anytime"}
    origin = replace(bounded.origin, method=METHOD, notes=(*bounded.origin.notes, note), details=figures)
    return bounded.replace(origin=origin)


def _program(
    svm: SVM, chooser: Chooser, choice: Choice, options: VoteOptions, details: dict[str, Any]
) -> Program:
    builder, pairs = Builder(svm), chooser.pairs
    exact = builder.exact_in_double("exact_sums")
    voted = ir.Vote("exact_label", exact, pairs.classes) if svm.counts else ir.ArgMax("exact_label", exact)
    builder.body.append(voted)
    x = builder.preprocess("bounded_", front=pairs.own.front)
    builder.body.append(
        vote_node(builder, pairs, chooser.guess, chooser.rounding, choice.layout, x, "exact_label")
    )
    details = {"emitted": "polynomials", **details}
    return builder.program(
        [Output("label", "label")], METHOD, Claim.SAME_LABEL, _remarks(choice, options), details=details
    )


def _remarks(choice: Choice, options: VoteOptions) -> tuple[str, ...]:
    found = choice.as_dict()
    form = choice.layout.form
    axes = f" along {form.rank} axes" if form.rank else ""
    return (
        "every label is that of the original in double, also where float32 alone could not tell; "
        "there is no decision function",
        f"pairs of the champion about {choice.centres} centre{'s' if choice.centres > 1 else ''} of its "
        f"class, order {form.order}{axes}, {choice.layout.bytes} bytes; predicted on sample rows: of "
        f"{found['pairs']} pairs {found['second']} need order 2 and {found['direct']} their direct sum, "
        f"{choice.cost / choice.exact:.0%} of the exact sum's cost ({UNITS[options.tune]})",
    )


def _no_gain(ratio: float, options: VoteOptions) -> str:
    return (
        f"polynomials are predicted to cost {ratio:.2f} times as much as the exact sum "
        f"({UNITS[options.tune]}), too much to be worth it; max_bytes allows more centres"
    )
