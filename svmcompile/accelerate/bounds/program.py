"""anytime: an SVM becomes a program that stops as soon as its label is certain.

After "Anytime query-tuned kernel machines via Cholesky factorization": kernel values to ordered
vectors are coordinates of the row; what they leave of the row, times what they leave of the
weights, bounds the rest of the sum. Rows that stay uncertain go through the direct sum, and
those within its rounding through the original's in double.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from svmcompile.accelerate.bounds.choose import (
    ROUNDING,
    Choice,
    Instead,
    Members,
    choose_form,
    no_gain,
    prices,
    remarks,
)
from svmcompile.accelerate.bounds.margins import KernelError, direct_rounding, kernel_error, row_error
from svmcompile.accelerate.bounds.options import AnytimeOptions, needless, refuse
from svmcompile.accelerate.bounds.order import Ordered, order_basis
from svmcompile.accelerate.bounds.stages import Errors, Readings, Stages, stage_tables
from svmcompile.accelerate.bounds.sums import (
    Sum,
    centre_vectors,
    merge_vectors,
    prepare_rows,
    reach_of,
    sample_rows,
)
from svmcompile.accelerate.bounds.votes import bound_votes
from svmcompile.accelerate.builder import Builder, head_nodes
from svmcompile.data import Data
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.ir.stages import longest_chain
from svmcompile.model.svm import SVM


def bound_sum(svm: SVM, own: SVM, rows: Array, sample: Array, options: AnytimeOptions) -> Program | Instead:
    """`own` is the SVM as its bounded sum sees it: merged and centred."""
    one = Sum(own.kernel, own.vectors, own.coefficients[0], float(own.intercepts[0]))
    basis = order_basis(one, rows, options)
    met = np.concatenate([one.vectors, basis.basis.points])
    chain = longest_chain(own.kernel, met.shape[1])
    error = kernel_error(own.kernel, met, row_error(own.front, own.n_features), chain)
    if not error.usable or not len(basis.basis):
        return Instead(ROUNDING)
    errors = Errors.of(basis.basis, one.bias, error)
    readings = Readings.of(one, basis.basis, errors, sample, reach_of(met))
    members = Members.of(len(one.weights), basis.picks)
    choice = choose_form(readings, members, prices(options.tune, svm), options)
    details = {"choice": choice.as_dict(), "sample_rows": len(sample), "basis": len(basis.basis)}
    if not choice.pays and not options.force:
        return Instead(no_gain(choice.cost / choice.exact, options), details)
    tables = stage_tables(basis.basis, errors, choice.form)
    return _program(svm, own, one, basis, tables, error, choice, options, details)


def _program(
    svm: SVM,
    own: SVM,
    one: Sum,
    basis: Ordered,
    tables: Stages,
    error: KernelError,
    choice: Choice,
    options: AnytimeOptions,
    details: dict[str, Any],
) -> Program:
    """Exact sum in double, bounded sum, and the original's head."""
    builder = Builder(svm)
    exact = builder.exact_in_double()
    x = builder.preprocess("bounded_", front=own.front)
    vectors, weights = _basis_first(one, basis, choice.form.k_max)
    builder.body.append(
        ir.BoundedSum(
            "sums",
            x,
            exact,
            builder.table("vectors", vectors),
            builder.table("weights", weights),
            builder.table("bias", np.array([one.bias])),
            builder.indices("ends", tables.ends),
            builder.table("coordinates", tables.coordinates if tables.coordinates.size else np.zeros(1)),
            builder.table("projection", tables.projection),
            builder.table("estimates", tables.estimates),
            builder.table("residuals", tables.residuals),
            builder.table("slacks", tables.slacks),
            builder.table("margins", tables.margins),
            builder.table("rounding", np.array(direct_rounding(weights, one.bias, error))),
            reach_of(vectors),
            options.tolerance,
            own.kernel,
        )
    )
    notes, details = remarks(choice, options), {"emitted": "bounded", **details}
    if not options.by_label:
        return builder.finish("sums", "anytime", Claim.EXACT, notes, details=details)
    builder.body.extend(head_nodes(svm, "sums"))
    return builder.program([Output("label", "label")], "anytime", Claim.SAME_LABEL, notes, details=details)


def _basis_first(one: Sum, basis: Ordered, count: int) -> tuple[Array, Array]:
    """Vectors and weights: the points of the basis, then what else the direct sum needs."""
    picks = basis.picks[:count]
    rest = np.setdiff1d(np.arange(len(one.weights)), picks)
    weights = np.where(picks >= 0, one.weights[picks], 0.0)
    return (
        np.concatenate([basis.basis.points[:count], one.vectors[rest]]),
        np.concatenate([weights, one.weights[rest]]),
    )


def anytime(svm: SVM, data: Data | None, options: AnytimeOptions) -> Program:
    """The label (or value) of f(x) from as few kernel values as decide it."""
    refuse(svm, data, options)
    reason = needless(svm)
    if reason:
        return exact_instead(svm, reason, {})
    own = centre_vectors(merge_vectors(svm))
    rows = prepare_rows(own, data)
    sample = sample_rows(own, rows, options.sample, options.seed)
    outcome = (bound_votes if own.counts else bound_sum)(svm, own, rows, sample, options)
    if isinstance(outcome, Program):
        return outcome
    return exact_instead(svm, outcome.reason, outcome.details)


def exact_instead(svm: SVM, reason: str, details: dict[str, Any], method: str = "anytime") -> Program:
    """The exact program, and why."""
    builder = Builder(svm)
    note = f"{method} emits the exact sum: {reason}"
    program = builder.finish(builder.exact_sums(), method, Claim.EXACT, (note,))
    return program.replace(origin=replace(program.origin, details={"emitted": "exact", **details}))
