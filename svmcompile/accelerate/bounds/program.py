"""anytime: an SVM becomes a program that stops as soon as its label is certain.

After "Anytime query-tuned kernel machines via Cholesky factorization": kernel values to ordered
vectors are coordinates of the row; what they leave of the row, times what they leave of the
weights, bounds the rest of the sum. Rows that stay uncertain go through the direct sum, and
those within its rounding through the original's in double.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.refuse import needless, refuse
from svmcompile.accelerate.bounds.remarks import instead
from svmcompile.accelerate.bounds.rows import centred
from svmcompile.accelerate.bounds.sample import prepared_rows, sample_rows
from svmcompile.accelerate.bounds.single import single
from svmcompile.accelerate.bounds.sums import merged
from svmcompile.accelerate.bounds.votes import votes
from svmcompile.accelerate.builder import Builder
from svmcompile.data import Data
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM


def anytime(svm: SVM, data: Data | None, options: AnytimeOptions) -> Program:
    """The label (or value) of f(x) from as few kernel values as decide it."""
    refuse(svm, data, options)
    reason = needless(svm)
    if reason:
        return exact_instead(svm, reason, {})
    own = centred(merged(svm))
    rows = prepared_rows(own, data)
    sample = sample_rows(own, rows, options.sample, options.seed)
    made = (votes if own.counts else single)(svm, own, rows, sample, options)
    if isinstance(made, Program):
        return made
    return exact_instead(svm, made.reason, made.details)


def exact_instead(svm: SVM, reason: str, details: dict[str, Any]) -> Program:
    """The exact program, and why."""
    builder = Builder(svm)
    program = builder.finish(builder.exact_sums(), "anytime", Claim.EXACT, (instead(reason),))
    return program.replace(origin=replace(program.origin, details={"emitted": "exact", **details}))
