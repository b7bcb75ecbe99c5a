"""What the method cannot do, and what it need not do: an SVM enters, an error or a reason leaves."""

from __future__ import annotations

from svmcompile.accelerate.bounds.refuse import indefinite, refuse_comparisons
from svmcompile.accelerate.bounds.refuse import needless as anytime_needless
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.certified.votes import is_one_vs_rest
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.model.svm import SVM, LabelRule


def refuse(svm: SVM, options: CertifiedOptions) -> None:
    """An error for models whose bound would not hold, or that have nothing to decide."""
    if svm.label_rule is LabelRule.NONE:
        raise UnsupportedError(
            "certified: a regressor has no label to be certain of; use method anytime with a tolerance, "
            "or exact"
        )
    rest = is_one_vs_rest(svm) and svm.kernel.kind == "rbf"
    if not rest:
        refuse_comparisons(svm, "certified")
    if (svm.counts or rest) and options.mode == "calibrated":
        raise OptionError(
            "certified: mode calibrated is for models with one decision value; leave it out, or use "
            "method metric-tree"
        )
    if svm.kernel.kind not in ("rbf", "linear", "poly"):
        raise UnsupportedError(
            f"certified: no bound holds for a {svm.kernel.kind} kernel; use method exact or metric-tree"
        )
    reason = indefinite(svm)
    if reason:
        raise UnsupportedError(f"certified: {reason}; use method exact")


def needless(svm: SVM) -> str:
    """Why the exact sum is all that is needed; empty where it is not."""
    if svm.kernel.kind == "poly" and svm.kernel.degree < 2 and not svm.counts:
        return "with a polynomial kernel of degree 1 it is one dot product"
    return anytime_needless(svm)
