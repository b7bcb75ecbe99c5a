"""exact: the SVM as it is, every support vector met."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactOptions:
    """Evaluates every support vector; same decision values as the original."""


def exact(svm: SVM, data: Data | None, options: ExactOptions) -> Program:
    """f(x) = sum_i a_i k(x, s_i) + b, for every score of the model."""
    builder = Builder(svm)
    return builder.finish(builder.exact_sums(), "exact", Claim.EXACT)


METHOD = Method(
    exact,
    ExactOptions,
    Claim.EXACT,
    needs_data=False,
    needs_vectors=False,
    takes_parts=True,
    takes_heads=True,
)
