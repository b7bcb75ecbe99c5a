"""Options of the method `certified`, and models that it refuses or need not expand."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.accelerate.bounds.options import TUNES, indefinite, refuse_comparisons
from svmcompile.accelerate.bounds.options import needless as anytime_needless
from svmcompile.accelerate.options import check_options, option
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.model.svm import SVM, LabelRule

MODES = ("certified", "calibrated")
FALLBACKS = ("auto", "direct", "anytime", "jets")
WITHOUT_JETS = ("host",)  # whose code meets all vectors together
MOST_LEAVES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedOptions:
    """Taylor polynomials about centres decide most rows, the sum the rest; no label changes."""

    leaves: int = option(
        0, "Centres of the polynomials (of each class, if there are several); 0 chooses by cost.",
        least=0, most=MOST_LEAVES,
    )  # fmt: skip
    order: int = option(0, "Order of the polynomials, 1 to 3; 0 chooses.", least=0, most=3)
    rank: int = option(
        -1, "Directions of orders 2 and 3; 0 means all features, -1 chooses.", least=-1, most=100_000
    )
    cells: int = option(0, "Distances at which a bound is stored; 0 chooses.", least=0, most=1024)
    max_bytes: int = option(
        0, "Most bytes for the polynomials' tables in float32; 0 means as many as the support vectors "
        "take.",
        least=0, most=1 << 30,
    )  # fmt: skip
    fallback: str = option(
        "auto", "What decides the other rows: the sum, the bounds of anytime first, or a sum with jets.",
        among=FALLBACKS,
    )  # fmt: skip
    blocks: int = option(0, "Blocks of the sum with jets, 2 or more; 0 chooses.", least=0, most=64)
    mode: str = option(
        "certified", "certified: proven bounds; calibrated: bounds measured on rows, claim APPROXIMATE.",
        among=MODES,
    )  # fmt: skip
    sample: int = option(
        1000, "Number of rows for estimating costs: your data, or made up between support vectors.",
        least=10, most=1_000_000,
    )  # fmt: skip
    tune: str = option(
        "host", "What cost means: time of the emitted C (host, portable), or operations.", among=TUNES
    )
    force: bool = option(False, "Emit polynomials even where the exact sum is predicted to be cheaper.")
    seed: int = option(0, "Seed of the sample rows.", least=0, most=1 << 31)

    @property
    def takes_jets(self) -> bool:
        """Whether rows not sure may come to a sum with jets."""
        return self.fallback == "jets" or (self.fallback == "auto" and self.tune not in WITHOUT_JETS)

    def __post_init__(self) -> None:
        check_options("certified", self)
        if self.blocks == 1:
            raise OptionError("certified: blocks=1 is the sum itself; use two or more, or fallback=direct")


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


def is_one_vs_rest(svm: SVM) -> bool:
    """Whether the largest of several sums, one per class, is the label."""
    return svm.n_sums > 1 and not svm.counts and svm.label_rule is LabelRule.ARGMAX
