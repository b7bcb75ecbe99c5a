"""exact: the SVM as it is, every support vector evaluated."""

from __future__ import annotations

from dataclasses import dataclass, replace

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.options import check_options, option
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import OptionError
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM, LabelRule, Link

LABELS = ("rounded", "certain")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactOptions:
    """Evaluates every support vector; same decision values as the original."""

    labels: str = option(
        "rounded", "certain: rows so close to the boundary that float32 could round to another label are "
        "evaluated again in double, and the claim is SAME_LABEL.", recorded=None, among=LABELS,
    )  # fmt: skip

    constant_time: bool = option(
        False, "C that takes the same instructions and reads the same places for every row: linear, "
        "polynomial and RBF kernels in f32 or f64, profiles portable and device.", recorded=None,
    )  # fmt: skip

    uncertainty: bool = option(
        True, "Of Gaussian processes: standard deviations, and probabilities, which take the square of the "
        "training rows; false leaves them out.", recorded=None,
    )  # fmt: skip

    def __post_init__(self) -> None:
        check_options("exact", self)
        if self.constant_time and self.labels == "certain":
            raise OptionError(
                "exact: labels=certain evaluates some rows again, not so constant_time; leave one out"
            )


def exact(svm: SVM, data: Data | None, options: ExactOptions) -> Program:
    """f(x) = sum_i a_i k(x, s_i) + b, for every score of the model."""
    if not options.uncertainty:
        if svm.head and any(isinstance(node, ir.GaussianChance) for node in svm.head.nodes):
            raise OptionError(
                f"exact: labels of {svm.source.kind} are decided by probabilities of Gaussian processes, "
                "which uncertainty=false would leave out; leave the option out, or train two classes"
            )
        svm = replace(svm, deviation=None, link=Link.NONE if svm.deviation else svm.link)
    if options.labels == "certain" or options.constant_time:
        svm = svm.dense("method 'exact' with labels=certain or constant_time", "leave that out")
    builder = Builder(svm)
    if options.labels == "certain":
        if svm.label_rule is LabelRule.NONE:
            raise OptionError(
                "exact: labels=certain is for classifiers, and a regressor has no labels; leave it out"
            )
        if svm.deviation:
            note = "labels=certain leaves probabilities of a Gaussian process out"
            builder = Builder(replace(svm, deviation=None, link=Link.NONE, notes=(*svm.notes, note)))
        return builder.finish_certain("exact")
    return builder.finish(builder.exact_sums(), "exact", Claim.EXACT)


METHOD = Method(
    exact,
    ExactOptions,
    Claim.EXACT,
    needs_data=False,
    needs_vectors=False,
    takes_differences=True,
    takes_parts=True,
    takes_heads=True,
    takes_sparse=True,
)
