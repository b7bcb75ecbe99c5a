"""Options of the method `certified`, and models that it refuses or need not expand."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.accelerate.bounds.options import TUNES, indefinite, refuse_comparisons
from svmcompile.accelerate.bounds.options import needless as anytime_needless
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.model.svm import SVM, LabelRule

MODES = ("certified", "calibrated")
FALLBACKS = ("auto", "direct", "anytime", "jets")
WITHOUT_JETS = ("host",)  # whose code meets all vectors together
MOST_LEAVES = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class CertifiedOptions:
    """Taylor polynomials about centres decide most rows, the sum the rest; no label changes."""

    leaves: int = 0  # centres, for several classes centres of each; 0: chosen by the cost of sample rows
    order: int = 0  # of the polynomials, 1 to 3; 0: chosen
    rank: int = -1  # directions of orders 2 and 3; 0: all features, -1: chosen
    cells: int = 0  # distances at which a bound is stored; 0: chosen
    max_bytes: int = 0  # of the front end's tables in float32; 0: as many as the support vectors take
    fallback: str = "auto"  # for rows not sure: direct (the sum), anytime (its bounds first), jets, auto
    blocks: int = 0  # of the sum with jets of what is left; 0: chosen
    mode: str = "certified"  # calibrated: bounds as measured on rows, not proven, and so APPROXIMATE
    sample: int = 1000  # rows that the cost is judged by: of the data, else made up between vectors
    tune: str = "host"  # what cost means: host | portable (time of emitted C), flops
    force: bool = False  # emit it even where the exact sum is predicted to be cheaper
    seed: int = 0  # of sample rows

    @property
    def takes_jets(self) -> bool:
        """Whether rows not sure may come to a sum with jets."""
        return self.fallback == "jets" or (self.fallback == "auto" and self.tune not in WITHOUT_JETS)

    def __post_init__(self) -> None:
        for name, known in (("mode", MODES), ("fallback", FALLBACKS), ("tune", TUNES)):
            value = getattr(self, name)
            if value not in known:
                raise OptionError(f"certified: unknown {name} {value!r}; known: {', '.join(known)}")
        if self.blocks == 1:
            raise OptionError("certified: blocks 1 is the sum itself; take two or more, or fallback direct")
        ranges = {
            "leaves": (0, MOST_LEAVES),
            "order": (0, 3),
            "rank": (-1, 100_000),
            "cells": (0, 1024),
            "max_bytes": (0, 1 << 30),
            "blocks": (0, 64),
            "sample": (10, 1_000_000),
            "seed": (0, 1 << 31),
        }
        for name, (least, most) in ranges.items():
            if not least <= getattr(self, name) <= most:
                raise OptionError(
                    f"certified: {name} {getattr(self, name)} is not within {least} and {most}"
                )


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
