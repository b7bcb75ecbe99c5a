"""One score for each class in place of one for each pair: the least of its pairs, as a teacher.

An SVM of k classes has k (k - 1) / 2 sums, and so many weights for each vector. A class that wins all its
pairs is the one with the largest of these scores, so k weights do where the label is what counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.pairs import pair_indices
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.model.svm import SVM

SCORES = ("auto", "pairs", "shared", "classes")
FEW = 3  # sums from which weights have something to share
SURE = 1.0  # the margin of an SVM: how far beyond it a score is does not matter


def kinds_of(svm: SVM, wanted: str, has_data: bool) -> tuple[str, ...]:
    """Which scores to try: "pairs" are the SVM's own sums, however many it has, and always come first."""
    problem = _problem(svm, has_data)
    if wanted == "classes" and problem:
        raise OptionError(f"reduced-set: scores=classes: {problem}; use scores=pairs")
    if wanted == "shared" and (svm.n_sums < FEW or not has_data):
        why = "weights are shared by rows; pass X (Python) or --data FILE"
        why = f"the model has {svm.n_sums} sum{'s'[: svm.n_sums > 1]} alone" if svm.n_sums < FEW else why
        raise OptionError(f"reduced-set: scores=shared: {why}, or use scores=pairs")
    if wanted == "classes":
        return ("classes",)
    many = svm.n_sums > svm.kernel_width and svm.n_sums >= FEW  # weights take more than the vectors
    shared = wanted == "shared" or (wanted == "auto" and many and has_data)
    classes = wanted == "auto" and many and not problem
    return ("pairs", *(["shared"] if shared else []), *(["classes"] if classes else []))


def _problem(svm: SVM, has_data: bool) -> str:
    if len(svm.counts) < 3:
        return "the model has no scores of pairs to put together"
    if not has_data:
        return "such scores are fitted to data; pass X (Python) or --data FILE"
    if svm.head is not None or svm.has_probabilities:
        return "probabilities and wrappers are made of scores of pairs"
    if not svm.one_vs_rest_scores:
        return "the model's decision values are those of pairs"
    return ""


def class_margins(svm: SVM, sums: Array) -> Array:
    """For each class the least of its pairs, held within the margin."""
    found = np.full((len(sums), len(svm.counts)), SURE)
    for column, (i, j) in enumerate(pair_indices(len(svm.counts))):
        found[:, i] = np.minimum(found[:, i], sums[:, column])
        found[:, j] = np.minimum(found[:, j], -sums[:, column])
    return np.asarray(np.maximum(found, -SURE))


def class_program(builder: Builder, scores: str, details: dict[str, Any]) -> Program:
    """The program whose label is the class of the largest score."""
    builder.body.append(ir.ArgMax("label", scores))
    outputs = [Output("scores", scores), Output("label", "label")]
    note = "decision values are the least pair value of each class, not votes (scores=pairs has those)"
    return builder.program(outputs, "reduced-set", Claim.APPROXIMATE, (note,), details=details)
