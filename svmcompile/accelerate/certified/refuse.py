"""What the method cannot do, and what it need not do: an SVM enters, an error or a reason leaves."""

from __future__ import annotations

from svmcompile.accelerate.anytime.refuse import needless as anytime_needless
from svmcompile.errors import UnsupportedError
from svmcompile.svm import SVM, LabelRule


def refuse(svm: SVM) -> None:
    """An error for models whose bound would not hold, or that have nothing to decide."""
    if svm.label_rule is LabelRule.NONE:
        raise UnsupportedError(
            "certified: a regressor has no label to be certain of; use method anytime with a tolerance, "
            "or exact"
        )
    if svm.kernel.kind not in ("rbf", "linear"):
        raise UnsupportedError(
            f"certified: Taylor polynomials are those of an RBF kernel, and this one is {svm.kernel.kind}; "
            "use method anytime or exact"
        )
    if svm.kernel.kind == "rbf" and not svm.kernel.gamma > 0:
        raise UnsupportedError(
            f"certified: with gamma {svm.kernel.gamma:g} the kernel is not positive definite; "
            "use method exact"
        )


def needless(svm: SVM) -> str:
    """Why the exact sum is all that is needed; empty where it is not."""
    return anytime_needless(svm)
