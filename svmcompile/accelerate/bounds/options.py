"""Options of the method `anytime`, and models that it refuses or need not bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.options import check_options, option
from svmcompile.data import Data
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.model.svm import SVM, LabelRule

UNITS = {
    "flops": "operations",
    "host": "time in C, profile host",
    "portable": "time in C, profile portable",
}
TUNES = tuple(UNITS)
ORDERINGS = ("original", "sgma", "min-wz", "min-wzn", "mean-lhn", "hybrid")
NEED_DATA = ("min-wzn", "mean-lhn", "hybrid")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnytimeOptions:
    """Computes kernel values block by block until a bound on the rest makes the label certain."""

    ordering: str = option(
        "min-wz", "In which order vectors enter the sum; min-wzn, mean-lhn and hybrid need data.",
        among=ORDERINGS,
    )  # fmt: skip
    block: int = option(
        0, "Kernel values between two tests of the bound; 0 chooses by the cost of sample rows.", least=0
    )
    free: int = option(0, "How many points of the basis come first and may lie anywhere in space.", least=0)
    k_max: int = option(0, "Kernel values after which the direct sum takes over; 0 chooses.", least=0)
    r_coords: str = option(
        "auto", "How many coordinates tighten the bound; auto chooses.", words="a number, all or auto"
    )
    pivot_tol: float = option(
        1e-4, "How independent a vector must be to join the basis: a smaller value keeps more, with "
        "larger margins.",
        above=0, below=1,
    )  # fmt: skip
    own: str = option(
        "auto", "For precomputed kernels: the largest k(x, x), or ask, to get it from the caller; auto "
        "uses the vectors' value if they all have the same.", words="a number above 0, ask or auto",
    )  # fmt: skip
    shift: float = option(
        0.0, "For precomputed kernels that are not positive semidefinite: added to k(x, x).", least=0
    )
    tolerance: float = option(
        -1.0, "Stop when the value is known to this precision; -1 stops when the label is certain.",
        above=0, special=(-1,),
    )  # fmt: skip
    sample: int = option(
        500, "Number of rows for estimating costs: your data, or made up between support vectors.",
        least=1,
    )  # fmt: skip
    tune: str = option(
        "host", "What cost means: time of the emitted C (host, portable), or operations.", among=TUNES
    )
    force: bool = option(False, "Emit bounds even where the exact sum is predicted to be cheaper.")
    seed: int = option(0, "Seed of the sample rows, and of ordering=min-wzn.", least=0)

    def __post_init__(self) -> None:
        check_options("anytime", self)
        if self.r_coords not in ("auto", "all") and not self.r_coords.isdecimal():
            raise OptionError(f"anytime: r_coords {self.r_coords!r} is not a number, all or auto")
        if self.own not in ("auto", "ask") and not _is_above_zero(self.own):
            raise OptionError(f"anytime: own {self.own!r} is not a number above 0, ask or auto")

    @property
    def by_label(self) -> bool:
        return self.tolerance < 0

    @property
    def needs_data(self) -> bool:
        return self.ordering in NEED_DATA


def _is_above_zero(text: str) -> bool:
    try:
        return 0 < float(text) < math.inf
    except ValueError:
        return False


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
            f"anytime: {reason}, so there is no bound on the rest of a sum; use method exact or metric-tree"
        )
    if svm.kernel.kind != "precomputed" and (options.own != "auto" or options.shift):
        raise OptionError(
            f"anytime: own and shift are for precomputed kernels; this one is {svm.kernel.kind}"
        )
    if options.free and (svm.counts or svm.kernel.kind == "precomputed"):
        what = "a precomputed kernel has no space" if not svm.counts else "pairs of classes share no basis"
        raise OptionError(f"anytime: free is for models with one sum and vectors, and {what}; leave it out")
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
            "anytime: a regressor has no label to be certain of; give the precision of its value, such as "
            "tolerance=0.001"
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
