"""Fallback: how sure a tree must be of a row, so that most of its held-out errors are caught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.fitting.decide import labels_of, margin_rule
from svmcompile.errors import OptionError
from svmcompile.ir.kernel import Array
from svmcompile.ir.kinds import Rule
from svmcompile.ir.nodes.decisions import margins
from svmcompile.model.svm import SVM, LabelRule


@dataclass(frozen=True, slots=True)
class Fallback:
    """Rows whose margin is below the width go through the exact sum."""

    width: float
    rule: Rule
    share: float  # of held-out rows
    agreement: float  # on them, with the exact sum's labels for that share


def calibrated(svm: SVM, wanted: Array, sums: Array, quantile: float) -> Fallback:
    """The width that a share of the wrongly labelled rows stays below."""
    if svm.label_rule is LabelRule.NONE:
        raise OptionError("a regressor has no labels that a fallback could keep; leave fallback off")
    rule = margin_rule(svm)
    margin = margins(sums, rule)
    wrong = labels_of(svm, sums) != labels_of(svm, wanted)
    width = 0.0
    if wrong.any() and quantile > 0:
        # A row at the width itself is taken for sure.
        width = float(np.nextafter(np.quantile(margin[wrong], quantile, method="higher"), np.inf))
    unsure = ~(margin >= width)
    agreement = 1.0 - float((wrong & ~unsure).mean())
    return Fallback(width, rule, float(unsure.mean()), agreement)
