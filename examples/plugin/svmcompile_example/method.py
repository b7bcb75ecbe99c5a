"""A method of our own: the support vectors with the largest coefficients, and no others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.options import check_options, option
from svmcompile.accelerate.registry import Method
from svmcompile.data import Data
from svmcompile.errors import UnsupportedError
from svmcompile.ir.program import Claim, Program
from svmcompile.model.svm import SVM


@dataclass(frozen=True, slots=True, kw_only=True)
class HeaviestOptions:
    """Keeps the support vectors with the largest coefficients."""

    vectors: int = option(100, "How many support vectors are kept.", least=1)

    def __post_init__(self) -> None:
        check_options("heaviest", self)


def heaviest(svm: SVM, data: Data | None, options: HeaviestOptions) -> Program:
    """The exact sum over fewer vectors."""
    if svm.counts:
        raise UnsupportedError("heaviest: is for models with one sum, or one for each class")
    sizes = np.abs(svm.coefficients).sum(axis=0)
    kept = np.sort(np.argsort(-sizes, kind="stable")[: options.vectors])
    fewer = replace(svm, vectors=svm.vectors[kept], coefficients=svm.coefficients[:, kept])
    builder = Builder(fewer)
    return builder.finish(builder.exact_sums(), "heaviest", Claim.APPROXIMATE)


METHOD = Method(heaviest, HeaviestOptions, Claim.APPROXIMATE, needs_data=False, needs_vectors=False)
