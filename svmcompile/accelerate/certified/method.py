"""certified: Taylor polynomials about a few centres decide most rows, the sum decides the others.

An RBF sum is exp(-u) times a power series in the row's difference from a centre, a sum of polynomial
kernels a polynomial in it. Low orders and a proven bound on what they leave out give the sign wherever the
score is above the bound. Rows that are not sure meet the support vectors, in float32 with a bound on its
rounding, and where that is not enough in double. So every label is the original's.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.accelerate.bounds.choose import PROMISE, ROUNDING, Instead, Prices, no_gain, prices
from svmcompile.accelerate.bounds.margins import RowError, row_error
from svmcompile.accelerate.bounds.options import UNITS, AnytimeOptions
from svmcompile.accelerate.bounds.program import anytime, exact_instead
from svmcompile.accelerate.bounds.sums import Sum, join_parts, mostly_zeros, prepare
from svmcompile.accelerate.certified import choose, fallback
from svmcompile.accelerate.certified.choose import PRICES, Choice, TaylorPrices
from svmcompile.accelerate.certified.fallback import REDONE, Fallback, Part
from svmcompile.accelerate.certified.obstacles import obstacles, told
from svmcompile.accelerate.certified.options import CertifiedOptions, is_one_vs_rest, needless, refuse
from svmcompile.accelerate.certified.plan import Plan, make_plan
from svmcompile.accelerate.certified.search import Goal, Search
from svmcompile.accelerate.certified.votes.pairs import as_pairs
from svmcompile.accelerate.certified.votes.votes import TOO_SOON, certify_votes
from svmcompile.accelerate.fitting.rows import made_up_rows
from svmcompile.accelerate.taylor.front import front_alone, insert_front
from svmcompile.accelerate.taylor.sums import MOST_DEGREE, PolySum, RbfSum
from svmcompile.data import Data
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM
from svmcompile.progress import time_is_up

CALIBRATED = (
    "calibrated: bounds were multiplied by what sample rows showed, so labels may change on other rows"
)
BUILD_ROWS = 4000  # of the data, that centres are made of
MADE_UP = 2000  # rows beside them
VOTE_CELLS = 8  # of the polynomials of pairs
# Of the exact sum's cost, since predictions are not that sharp, and of the rows that are left: on a host
# the exact sum gains more from rows that come together than those do.
WORTH = {"host": 0.8, "portable": 0.9, "flops": 0.95}
MOST_LEFT = {"host": 0.42, "portable": 1.0, "flops": 1.0}


def remarks(
    choice: Choice, figures: dict[str, Any], exact: float, options: CertifiedOptions
) -> tuple[str, ...]:
    """Notes for a program with a front end."""
    decided = ", ".join(
        f"{stage['share']:.1%} by {stage['stage']}" for stage in figures["stages"] if stage["share"]
    )
    axes = f"in {choice.form.rank} directions, " if choice.form.rank else ""
    return (
        PROMISE if options.mode == "certified" else CALIBRATED,
        f"{len(choice.leaves)} centres, order {choice.form.order}, {axes}{choice.bytes} bytes; "
        f"of sample rows are decided {decided}; predicted {figures['cost'] / exact:.0%} of the exact "
        f"sum's cost ({UNITS[options.tune]})",
    )


def certified(svm: SVM, data: Data | None, options: CertifiedOptions) -> Program:
    """The label of f(x), proven by a polynomial wherever it can be."""
    whole = join_parts(svm)
    refuse(whole, options)
    reason = needless(whole)
    if reason:
        return exact_instead(svm, reason, {}, "certified")
    if svm.kernel.kind == "poly" and (svm.counts or svm.kernel.degree > MOST_DEGREE):
        note = "several classes with polynomial kernels, and degrees above 4, have no Taylor polynomials"
        return bounded_polynomial(svm, data, options, note)
    pairs = as_pairs(whole) if is_one_vs_rest(whole) else whole
    own, rows, sample = prepare(pairs, data, options.sample, options.seed)
    if own.counts:
        with_cells = replace(options, cells=options.cells or VOTE_CELLS)
        outcome = certify_votes(svm, own, rows, sample, with_cells)
    else:
        outcome = certify_sum(svm, own, rows, sample, options)
    if isinstance(outcome, Program):
        return outcome
    bounded = None
    if svm.kernel.kind == "poly" and svm.kernel.degree > 2:
        bounded = bounded_polynomial(svm, data, options, outcome.reason)
    if bounded is None or bounded.origin.details["emitted"] == "exact":
        return exact_instead(svm, outcome.reason, outcome.details, "certified")
    return bounded


def bounded_polynomial(svm: SVM, data: Data | None, options: CertifiedOptions, reason: str) -> Program:
    """A polynomial kernel without a front end; bounds of kernel values keep its labels."""
    program = anytime(svm, data, AnytimeOptions(tune=options.tune, force=options.force, seed=options.seed))
    note = f"certified emits the program of anytime: {reason}"
    origin = replace(program.origin, method="certified", notes=(*program.origin.notes, note))
    return program.replace(origin=origin)


def certify_sum(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: CertifiedOptions
) -> Program | Instead:
    """A machine with one decision value; `own` is the SVM as its sums see it: merged and centred."""
    one = Sum.of(own)
    row = row_error(own.front, own.n_features)
    if not math.isfinite(row.relative + row.constant):
        return Instead(ROUNDING)
    whole = whole_sum(one, row)
    price = prices(options.tune, svm)
    options = replace(options, max_bytes=options.max_bytes or 4 * own.n_vectors * (own.kernel_width + 1))
    build = build_rows(own, rows, options.seed)
    values = one.products(build) + one.bias if options.mode == "calibrated" else None
    width = fallback.guard_width(svm) if svm.kernel.kind == "rbf" and mostly_zeros(svm) else math.inf
    filled = float((build != 0).sum(axis=1).mean()) if width < math.inf and not own.front.nodes else 0.0
    rest, guarded = direct_cost(price, own), guarded_cost(price, svm)
    rest = min(rest, guarded) if filled else rest
    taylor = PRICES[options.tune]
    exact = exact_cost(svm, price, taylor)
    goal = None if options.force else Goal(WORTH[options.tune] * exact, MOST_LEFT[options.tune])
    search = Search(whole, taylor, rest, filled, options, goal)
    tried = search.run(build, values, sample)
    if not tried:
        reason = f"not one centre fits into {options.max_bytes} bytes; raise max_bytes"
        return Instead(TOO_SOON if time_is_up() else reason)
    if search.hopeless:
        figures = {"cost": round(tried[0].cost, 3), "exact_cost": round(exact, 3)}
        return _no_gain(one, sample, search, {"choice": tried[0].as_dict(), **figures}, options.tune)
    guard = Fallback(fallback.guard_sum(svm, width), (Part("the sum", 1.0, guarded),)) if filled else None
    plan = make_plan(svm, own, rows, tried, guard, options)
    if isinstance(plan, Instead):
        return plan
    found = _finish(svm, own, plan, exact, options)
    return found if isinstance(found, Program) else _no_gain(one, sample, search, found, options.tune)


def _no_gain(one: Sum, sample: Array, search: Search, details: dict[str, Any], tune: str) -> Instead:
    """That polynomials do not pay, and what stands in the way."""
    assert search.first is not None
    figures = obstacles(one, sample, search.first.leaves[0])
    hint = f"in the way: {told(figures)}; a larger max_bytes allows more centres, force=true emits them"
    reason = no_gain("polynomials", details["cost"] / details["exact_cost"], tune, hint)
    return Instead(reason, details | {"in_the_way": figures})


def whole_sum(one: Sum, row: RowError) -> RbfSum | PolySum:
    """The sum as its polynomials are made of it."""
    kernel, error = one.kernel, (row.constant, row.relative)
    if kernel.kind == "poly":
        return PolySum(one.vectors, one.weights, one.bias, kernel.gamma, kernel.coef0, kernel.degree, error)
    return RbfSum(one.vectors, one.weights, one.bias, kernel.gamma, one.squared_norm(), error)


def build_rows(own: SVM, rows: Array, seed: int) -> Array:
    """Rows that centres are made of: of the data and made up between its rows, else between the vectors."""
    random = np.random.default_rng(seed + 1)
    rows = rows if len(rows) else own.vectors
    some = rows[np.sort(random.permutation(len(rows))[:BUILD_ROWS])]
    return np.concatenate([some, made_up_rows(some, MADE_UP, random)])


def direct_cost(price: Prices, own: SVM) -> float:
    """Of a row that meets every vector behind the front end."""
    return REDONE * (price.call + price.stage + price.term * own.n_vectors)


def guarded_cost(price: Prices, svm: SVM) -> float:
    """The same where it meets the exact sum in float32 first."""
    return REDONE * price.exact_sum(svm.n_vectors)


def exact_cost(svm: SVM, price: Prices, own: TaylorPrices) -> float:
    """Of the sum as the exact method emits it: with degree 2 it may be one quadratic function."""
    direct = price.exact_sum(svm.n_vectors)
    if not fallback.is_quadratic(svm):
        return direct
    return min(direct, price.exact_call + fallback.quadratic_cost(svm, own))


def _finish(
    svm: SVM, own: SVM, plan: Plan, exact: float, options: CertifiedOptions
) -> Program | dict[str, Any]:
    """Front end and fallback as one program, or its figures if that is not cheaper than the exact sum."""
    taylor, (choice, behind) = PRICES[options.tune], plan
    gates = choose.choose_gates(choice, taylor, behind.cost)
    front = (choice.whole, choice.grown.tree, choice.expansions, gates)
    if behind.program is None:
        program = front_alone(svm, own.front, *front)
    else:
        program = insert_front(svm, behind.program, *front)
    early = choose.early_front(choice, gates, taylor, behind.cost, options.max_bytes - choice.bytes)
    if early:
        small = [choice.leaves[0].expansion(early.form)]
        program = insert_front(svm, program, choice.whole, choice.grown.tree, small, name=choose.EARLY)
    figures = behind.figures(choice, gates, taylor, early)
    chosen = choice.as_dict() | {"gates": gates, "jet_bytes": behind.bytes}
    chosen |= {"early_rank": early.form.rank, "early_bytes": early.bytes} if early else {}
    details = {"choice": chosen, **figures, "exact_cost": round(exact, 3)}
    left = figures["undecided"] > MOST_LEFT[options.tune]
    if (left or figures["cost"] > WORTH[options.tune] * exact) and not options.force:
        return details
    origin = replace(
        program.origin,
        method="certified",
        claim=Claim.SAME_LABEL if options.mode == "certified" else Claim.APPROXIMATE,
        notes=(*svm.notes, *remarks(choice, figures, exact, options)),
        details={"emitted": "taylor", **details},
    )
    return program.replace(origin=origin)
