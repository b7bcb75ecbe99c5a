"""What the method cannot do, and what it need not do: an SVM enters, an error or a reason leaves."""

from __future__ import annotations

import numpy as np

from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.data import Data
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.model.svm import SVM, LabelRule


def refuse(svm: SVM, data: Data | None, options: AnytimeOptions) -> None:
    """An error for models whose bound would not hold, or that have nothing to decide."""
    if options.needs_data and data is None:
        raise OptionError(
            f"anytime: ordering {options.ordering} needs data; pass X (Python) or --data FILE, "
            "or use min-wz"
        )
    reason = indefinite(svm)
    if reason:
        raise UnsupportedError(
            f"anytime: {reason}, so no length bounds what is left of a sum; use method exact or metric-tree"
        )
    refuse_comparisons(svm, "anytime")
    _refuse_tolerance(svm, options)


def refuse_comparisons(svm: SVM, method: str) -> None:
    """An error for models whose label takes more than signs."""
    if svm.counts and svm.label_rule is not LabelRule.VOTE:
        raise UnsupportedError(
            f"{method}: break_ties compares all decision values, and this method computes no more of them "
            "than labels need; use method exact, or train with break_ties=False"
        )
    if svm.n_sums > 1 and not svm.counts and svm.kernel.kind != "linear":
        raise UnsupportedError(
            f"{method}: one-vs-rest models compare the values of all classes; use method exact, "
            "or train one-vs-one (SVC)"
        )


def indefinite(svm: SVM) -> str:
    kernel = svm.kernel
    if kernel.kind == "sigmoid":
        return "a sigmoid kernel is not positive definite"
    if kernel.kind in ("rbf", "poly") and kernel.gamma <= 0:
        return f"with gamma {kernel.gamma:g} the kernel is not positive definite"
    if kernel.kind == "poly" and (kernel.coef0 < 0 or kernel.degree < 1):
        return (
            f"a polynomial of degree {kernel.degree} with coef0 {kernel.coef0:g} is not positive definite"
        )
    return ""


def _refuse_tolerance(svm: SVM, options: AnytimeOptions) -> None:
    if svm.label_rule is LabelRule.NONE and options.by_label:
        raise OptionError(
            "anytime: a regressor has no label to be certain of; say how well its value must be known, "
            "such as tolerance=0.001"
        )
    if svm.counts and not options.by_label:
        raise OptionError(
            "anytime: tolerance is for models with one decision value, this one has "
            f"{svm.n_sums}; leave it out for labels, or use method exact"
        )


def needless(svm: SVM) -> str:
    """Why the exact sum is all that is needed; empty where it is not."""
    if svm.kernel.kind == "linear":
        return "a linear kernel makes the exact sum one dot product, and nothing is faster"
    if not svm.n_vectors or not np.any(svm.coefficients):
        return "the model has no support vectors that count, and its value is constant"
    return ""
