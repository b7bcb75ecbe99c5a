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

from svmcompile.accelerate.bounds.choose import PROMISE, ROUNDING, Instead, no_gain, prices
from svmcompile.accelerate.bounds.margins import machine_error, row_error
from svmcompile.accelerate.bounds.options import UNITS, AnytimeOptions
from svmcompile.accelerate.bounds.program import bound_votes
from svmcompile.accelerate.bounds.sums import Sum, guess_rows, join_parts, mostly_zeros
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.certified.obstacles import obstacles, told
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.certified.votes.choose import BATCH, Choice, Chooser
from svmcompile.accelerate.certified.votes.guess import likely_champion
from svmcompile.accelerate.certified.votes.pairs import Pairs, bias_sizes
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.pairs import class_slices
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM
from svmcompile.progress import time_is_up

METHOD = "certified"
WORTH = {"host": 0.8, "portable": 0.75, "flops": 0.75}  # of the exact sum's cost: predictions are not sharp
SPARSE_WORTH = 0.35  # where the exact sum skips zeros: predictions are even less sharp
TOO_SOON = "the time was up (--time-limit) before the first polynomials were made"
GOOD = 0.4  # so little needs no rival
SOME_ROWS = 400  # of the sample


def certify_votes(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: CertifiedOptions
) -> Program | Instead:
    """`own` is the SVM as its pairs see it: one-vs-one, merged and centred."""
    if own.kernel.kind != "rbf":
        return Instead("only RBF kernels have these polynomials")
    if not machine_error(own).usable:
        return Instead(ROUNDING)
    if min(own.counts) == 0:
        return Instead("a class has no support vectors")
    row = row_error(own.front, own.n_features)
    pairs = Pairs.of(own, row, bias_sizes(svm, own))
    points = guess_rows(own, rows, sample, options.seed)
    guess = likely_champion(points, pairs.labels(points), pairs.classes)
    some, whole = sample[:: -(-len(sample) // SOME_ROWS)], join_parts(svm)
    by_class, price = _rows_by_class(pairs, rows), prices(options.tune, whole)
    chooser = Chooser(pairs, guess, pairs.rounding(row), by_class, some, price, svm, options)
    choice = chooser.choose()
    if choice is None and time_is_up():
        return Instead(TOO_SOON)
    if choice is None:
        return Instead(
            f"polynomials of the smallest kind take more than {chooser.most_bytes} bytes; "
            "max_bytes allows more"
        )
    details = {"choice": choice.as_dict(), "sample_rows": len(some), "max_bytes": chooser.most_bytes}
    if not options.force:
        rival = (
            _anytime(svm, own, rows, sample, options, choice)
            if svm.counts and choice.ratio > GOOD
            else None
        )
        if rival is not None:
            return rival
        ratio = max(choice.ratio, choice.batch_ratio) if options.tune == "host" else choice.ratio
        if ratio > (SPARSE_WORTH if mostly_zeros(whole) else WORTH[options.tune]):
            figures = _in_the_way(pairs, some)
            hint = f"in the way, of the heaviest pair: {told(figures)}; max_bytes allows more centres"
            details |= {"in_the_way": figures}
            return Instead(no_gain("polynomials", ratio, options.tune, hint), details)
    builder = Builder(svm)
    builder.body.append(chooser.vote(builder, choice.layout, *builder.row_and_exact(own.front)))
    details = {"emitted": "polynomials", **details}
    return builder.label_program("", METHOD, _remarks(choice, options), details=details)


def _in_the_way(pairs: Pairs, sample: Array) -> dict[str, Any]:
    """Absolute weights beside scores, of the pair that has most of them."""
    one = max(pairs.sums, key=lambda one: one.mass)
    return obstacles(Sum(pairs.own.kernel, one.vectors, one.weights, one.bias), sample)


def _rows_by_class(pairs: Pairs, rows: Array) -> list[Array]:
    """Rows that the machine gives to each class; its support vectors where there are none."""
    labels = pairs.labels(rows) if len(rows) else np.zeros(0, dtype=np.int64)
    groups = class_slices(pairs.own.counts)
    found = [rows[labels == own] for own in range(pairs.classes)]
    return [one if len(one) else pairs.own.vectors[groups[own]] for own, one in enumerate(found)]


def _anytime(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: CertifiedOptions, choice: Choice
) -> Program | None:
    """The vote of `anytime`, where that is predicted to be cheaper than polynomials and the exact one."""
    bounded = bound_votes(svm, own, rows, sample, AnytimeOptions(tune=options.tune, seed=options.seed))
    if not isinstance(bounded, Program):
        return None
    cost = float(bounded.origin.details["choice"]["cost"])
    # Its rows go one by one in a batch, too.
    if cost >= choice.cost or (options.tune == "host" and cost > BATCH * WORTH["host"] * choice.exact):
        return None
    note = (
        f"{METHOD} emits the vote of anytime: it is predicted to cost {cost / choice.cost:.2f} times as "
        f"much as polynomials ({UNITS[options.tune]})"
    )
    figures = {**bounded.origin.details, "polynomials": choice.as_dict(), "emitted": "anytime"}
    origin = replace(bounded.origin, method=METHOD, notes=(*bounded.origin.notes, note), details=figures)
    return bounded.replace(origin=origin)


def _remarks(choice: Choice, options: CertifiedOptions) -> tuple[str, ...]:
    found = choice.as_dict()
    form = choice.layout.form
    axes = f" along {form.rank} axes" if form.rank else ""
    return (
        PROMISE,
        f"pairs of the champion about {choice.centres} centre{'s' if choice.centres > 1 else ''} of its "
        f"class, order {form.order}{axes}, {choice.layout.bytes} bytes; predicted on sample rows: of "
        f"{found['pairs']} pairs {found['second']} need order 2 and {found['direct']} their direct sum, "
        f"{choice.ratio:.0%} of the exact sum's cost ({UNITS[options.tune]})",
    )
