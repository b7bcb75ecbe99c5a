"""anytime: an SVM becomes a program that stops as soon as its label is certain.

After "Anytime query-tuned kernel machines via Cholesky factorization": kernel values to ordered
vectors are coordinates of the row; what they leave of the row, times what they leave of the
weights, bounds the rest of the sum. Rows that stay uncertain go through the direct sum, and
those within its rounding through the original's in double.

Several classes: a class that wins all its pairs is the vote's winner, whatever the other pairs say. So
the class that a linear guess names first meets the others, each pair bounded in its own basis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.bounds import choose
from svmcompile.accelerate.bounds.choose import ROUNDING, Choice, Instead, Prices, prices
from svmcompile.accelerate.bounds.given import Given, read_given
from svmcompile.accelerate.bounds.margins import KernelError, direct_rounding, machine_error
from svmcompile.accelerate.bounds.options import AnytimeOptions, needless, refuse
from svmcompile.accelerate.bounds.order import Ordered, order_basis
from svmcompile.accelerate.bounds.stages import Errors, Form, Readings, stage_tables
from svmcompile.accelerate.bounds.sums import Sum, guess_rows, prepare, reach_of
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.fitting.rows import kernel_sums, labels_of
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import At, run
from svmcompile.ir.nodes.bounded import spent
from svmcompile.ir.pairs import class_slices, pair_indices
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM
from svmcompile.progress import steps

RIDGE = 1e-3  # of the mean square of the features
LIMITS = (8, 12, 16, 24, 32, 48, 64, 96)  # points of a pair's basis
BLOCKS = (16, 8, 4)
SOME_ROWS = 200  # of the sample; every form is tried on them
ORDERINGS = ("original", "sgma", "min-wz")
SCOUTS = 2  # vectors of each class that a guess without features looks at


def anytime(svm: SVM, data: Data | None, options: AnytimeOptions) -> Program:
    """The label (or value) of f(x) from as few kernel values as decide it."""
    refuse(svm, data, options)
    reason = needless(svm)
    if reason:
        return exact_instead(svm, reason, {}, by_label=options.by_label)
    bound = bound_votes if svm.counts else bound_sum
    if svm.kernel.kind == "precomputed":
        given = read_given(svm, data, options)
        outcome = bound(svm, given.svm, given.others, given.sample, options, given)
    else:
        outcome = bound(svm, *prepare(svm, data, options.sample, options.seed), options)
    if isinstance(outcome, Program):
        return outcome
    return exact_instead(svm, outcome.reason, outcome.details, by_label=options.by_label)


def exact_instead(
    svm: SVM, reason: str, details: dict[str, Any], method: str = "anytime", by_label: bool = True
) -> Program:
    """The exact program, its labels certain where those were asked for, and why."""
    builder = Builder(svm)
    note = f"{method} emits the exact sum: {reason}"
    if by_label:
        program = builder.finish_certain(method, (note,))
    else:
        program = builder.finish(builder.exact_sums(), method, Claim.EXACT, (note,))
    return program.replace(origin=replace(program.origin, details={"emitted": "exact", **details}))


def bound_sum(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: AnytimeOptions, given: Given | None = None
) -> Program | Instead:
    """`own` is the SVM as its bounded sum sees it: merged and centred."""
    one = Sum.of(own)
    ordered = order_basis(one, rows, options)
    basis, met = ordered.basis, np.concatenate([one.vectors, ordered.basis.points])
    error = given.error if given else machine_error(own, met)
    if not error.usable or not len(basis):
        return Instead(ROUNDING)
    errors = Errors.of(basis, one.bias, error, given.missed(one.weights) if given else 0.0)
    readings = Readings.of(one, basis, errors, sample, reach_of(met))
    price = prices(options.tune, svm)
    choice = choose.choose_form(readings, ordered.picks, own.n_vectors, price, options)
    details = {"choice": choice.as_dict(), "sample_rows": len(sample), "basis": len(basis)}
    if not choice.pays(price) and not options.force:
        return Instead(no_gain(choice, options), details)
    builder = Builder(svm)
    x, exact = builder.row_and_exact(own.front)
    vectors, weights = _basis_first(one, ordered, choice.form.k_max)
    tables = {
        "vectors": vectors,
        "weights": weights,
        "bias": np.array([one.bias]),
        "ends": choice.form.ends,
        **stage_tables(basis, errors, choice.form),
        "rounding": np.array(direct_rounding(weights, one.bias, error)),
    }
    if not tables["coordinates"].size:
        tables["coordinates"] = np.zeros(1)
    names, reach, kernel = builder.hold(tables), reach_of(vectors), own.kernel
    notes, details = choose.remarks(choice, options), {"emitted": "bounded", **details}
    if given:
        reach, kernel, notes, details = (
            given.own,
            given.kernel,
            notes + given.notes,
            details | given.details,
        )
    builder.body.append(
        ir.BoundedSum("sums", x, exact, **names, reach=reach, tolerance=options.tolerance, kernel=kernel)
    )
    if not options.by_label:
        return builder.finish("sums", "anytime", Claim.EXACT, notes, details=details)
    return builder.label_program("sums", "anytime", notes, details=details)


def no_gain(choice: Choice, options: AnytimeOptions) -> str:
    hint = "force=true emits them anyway, and keeps labels that float32 cannot decide"
    return choose.no_gain("bounds", choice.cost / choice.exact, options.tune, hint)


def _basis_first(one: Sum, basis: Ordered, count: int) -> tuple[Array, Array]:
    """Vectors and weights: the points of the basis, then what else the direct sum needs."""
    picks = basis.picks[:count]
    rest = np.setdiff1d(np.arange(len(one.weights)), picks)
    weights = np.where(picks >= 0, one.weights[picks], 0.0)
    return (
        np.concatenate([basis.basis.points[:count], one.vectors[rest]]),
        np.concatenate([weights, one.weights[rest]]),
    )


@dataclass(frozen=True, eq=False)
class Guess:
    """scores = weights (x - centre) + bias; the largest is the guess.

    With `scouts` x are the kernel values of these vectors.
    """

    weights: Array  # [k, d]
    bias: Array  # [k]
    centre: Array  # [d]
    scouts: NDArray[np.int64] | None = None


def fit_guess(
    points: Array, labels: NDArray[np.int64], n_classes: int, scouts: NDArray[np.int64] | None = None
) -> Guess:
    """Ridge regression of the labels, one against the rest."""
    centre = nearest_float32(points.mean(axis=0))
    h = points - points.mean(axis=0)
    targets = (labels[:, None] == np.arange(n_classes)).astype(np.float64)
    level: Array = targets.mean(axis=0)
    gram = h.T @ h
    strength = RIDGE * float(np.trace(gram)) or 1.0
    weights = np.linalg.solve(gram + strength * np.eye(len(gram)), h.T @ (targets - level)).T
    return Guess(weights, level + weights @ (centre - points.mean(axis=0)), centre, scouts)


@dataclass(frozen=True, eq=False)
class Pair:
    """One pair's sum, which vectors of the machine it has, its ordered basis and that one's errors."""

    own: Sum
    members: NDArray[np.int64]
    ordered: Ordered
    errors: Errors

    def tables(self, form: Form) -> dict[str, Array]:
        count = min(form.k_max, len(self.ordered.basis))
        return stage_tables(self.ordered.basis, self.errors, Form(form.block, count, count))


def bound_votes(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: AnytimeOptions, given: Given | None = None
) -> Program | Instead:
    """`own` is the SVM as its bounded pairs see it: merged and centred."""
    if options.ordering not in ORDERINGS:
        raise OptionError(
            f"anytime: ordering {options.ordering} adds data rows to the basis, which pairs of several "
            f"classes cannot share; use one of: {', '.join(ORDERINGS)}"
        )
    error = given.error if given else machine_error(own)
    if not error.usable:
        return Instead(ROUNDING)
    if min(own.counts) == 0:
        return Instead("a class has no support vectors")
    pairs = _pairs(own, error, options, given)
    points = given.rows if given else guess_rows(own, rows, sample, options.seed)
    labels = labels_of(own, kernel_sums(own, points))
    scouts = _scouts(pairs, len(own.counts)) if given else None
    seen = points if scouts is None else points[:, own.vectors[scouts, 0].astype(np.intp)]
    guess = fit_guess(seen, labels, len(own.counts), scouts)
    maker = Maker(own, pairs, guess, error, given)
    some = sample[:: -(-len(sample) // SOME_ROWS)]
    price = prices(options.tune, svm)
    choice = _choose(maker, some, price, options)
    details = {"choice": choice.as_dict(), "sample_rows": len(some)}
    if not choice.pays(price) and not options.force:
        return Instead(no_gain(choice, options), details)
    builder = Builder(svm)
    builder.body.extend(maker.nodes(*builder.row_and_exact(own.front), choice.form, builder))
    details = {"emitted": "bounded", **details, **(given.details if given else {})}
    notes = choose.remarks(choice, options) + (given.notes if given else ())
    return builder.label_program("", "anytime", notes, details=details)


def _scouts(pairs: list[Pair], n_classes: int) -> NDArray[np.int64]:
    """Vectors whose values make a guess where there are no features: those that pairs begin with."""
    first = np.concatenate([pair.members[pair.ordered.picks[:SCOUTS]] for pair in pairs])
    vectors, counts = np.unique(first, return_counts=True)
    return np.sort(vectors[np.argsort(-counts, kind="stable")][: SCOUTS * n_classes])


def _pairs(own: SVM, error: KernelError, options: AnytimeOptions, given: Given | None) -> list[Pair]:
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
            missed = given.missed(weights) if given else 0.0
            found.append(Pair(one, members, ordered, Errors.of(ordered.basis, one.bias, error, missed)))
            advance(1)
    return found


@dataclass(frozen=True, eq=False)
class Maker:
    """Makes the node of a form, with its tables."""

    own: SVM
    pairs: list[Pair]
    guess: Guess
    error: KernelError
    given: Given | None = None

    def nodes(self, x: str, exact: str, form: Form, builder: Builder) -> list[ir.Node]:
        """The guess and the vote."""
        own, pairs, given = self.own, self.pairs, self.given
        picks = [pair.members[pair.ordered.picks[: form.k_max]] for pair in pairs]
        by_pair = [pair.tables(form) for pair in pairs]
        stages = {name: np.concatenate([tables[name] for tables in by_pair]) for name in by_pair[0]}
        tables = {
            "vectors": own.vectors,
            "weights": own.coefficients,
            "bias": own.intercepts,
            "starts": np.cumsum([0, *map(len, picks)]),
            "picks": np.concatenate(picks),
            "coordinates": stages["coordinates"],
            "projections": stages["projection"],
            **{name: stages[name] for name in ("residuals", "slacks", "margins")},
            "rounding": np.array(
                [direct_rounding(one.own.weights, one.own.bias, self.error) for one in pairs]
            ),
        }
        reach, kernel = (given.own, given.kernel) if given else (reach_of(own.vectors), own.kernel)
        vote = ir.BoundedVote(
            "label", x, "guess", exact, **builder.hold(tables),
            reach=reach, block=form.block, counts=own.counts, kernel=kernel,
        )  # fmt: skip
        return [self._guess_node(x, builder), vote]

    def _guess_node(self, x: str, builder: Builder) -> ir.Node:
        guess = self.guess
        held = {"weights": guess.weights, "bias": guess.bias, "centre": guess.centre}
        if guess.scouts is not None:
            bias = guess.bias - guess.weights @ guess.centre
            held = {"vectors": self.own.vectors[guess.scouts], "weights": guess.weights, "bias": bias}
        names: Any = {name: builder.table(f"guess_{name}", table) for name, table in held.items()}
        if guess.scouts is None:
            return ir.Affine("guess", x, **names)
        return ir.KernelSum("guess", x, **names, kernel=Kernel("precomputed"))


def _choose(maker: Maker, sample: Array, price: Prices, options: AnytimeOptions) -> Choice:
    """The cheapest form on sample rows that the options leave open: first its block, then its length."""
    longest = max(len(pair.ordered.basis) for pair in maker.pairs)
    limits = [options.k_max] if options.k_max else [one for one in LIMITS if one <= longest] or [longest]
    some = limits[len(limits) // 2]
    blocks = (options.block,) if options.block else price.blocks or BLOCKS
    first = choose.pick_cheapest(
        [_judge(maker, Form(block, some, some), sample, price) for block in blocks]
    )
    others = [Form(first.form.block, limit, limit) for limit in limits if limit != some]
    return min([first, *(_judge(maker, form, sample, price) for form in others)], key=lambda one: one.cost)


def _judge(maker: Maker, form: Form, sample: Array, price: Prices) -> Choice:
    builder = Builder(maker.own)
    guess, vote = maker.nodes("x", "none", form, builder)
    if maker.given:  # rows do not say what a caller would
        assert isinstance(vote, ir.BoundedVote)
        vote = replace(vote, reach=maker.given.typical)
    env = {"x": sample, "guess": run(guess, {"x": sample}, builder.tables)}
    found = spent(At(vote, builder.tables, env))
    scouts = maker.guess.scouts
    n, d, k = maker.own.n_vectors, maker.guess.weights.shape[1], len(maker.own.counts)
    values = found.values + (0 if scouts is None else len(scouts))
    cost = price.single * values + price.product * (found.flops / 2 + k * d) + price.call
    cost += price.stage * (k - 1)  # one stage per pair at least
    exact = price.exact_sum(n, k - 1)
    return Choice(form, float(cost.mean()), exact, float(values.mean()), float(found.unsure.mean()))
