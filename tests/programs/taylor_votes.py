"""Votes of Taylor polynomials for tests: a machine and rows go in, the program of some layout comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile.accelerate.bounds.sums import centre_vectors, merge_vectors, prepare_rows, sample_rows
from svmcompile.accelerate.certified.votes.votes import certify_votes
from svmcompile.data import Data
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels, Program
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.optimise import optimise
from svmcompile.read import read


@dataclass(frozen=True)
class Options:
    """Of a vote; 0, for a rank -1, leaves a choice open."""

    leaves: int = 1
    order: int = 2
    rank: int = 0
    cells: int = 8
    max_bytes: int = 1 << 30
    tune: str = "flops"
    seed: int = 0


def made(model: Any, X: Any, force: bool = True, **options: Any) -> Any:
    """What the method makes of an estimator or an SVM, before passes."""
    svm = model if isinstance(model, SVM) else read(model)
    own = centre_vectors(merge_vectors(svm))
    rows = prepare_rows(own, None if X is None else Data(np.asarray(X), None))
    return certify_votes(svm, own, rows, sample_rows(own, rows, 200, 0), Options(**options), force)


def vote_of(model: Any, X: Any, **options: Any) -> Program:
    """The program as backends get it."""
    return optimise(check(made(model, X, **options)))


def node_of(program: Program) -> ir.TaylorVote:
    return next(node for node in program.body if isinstance(node, ir.TaylorVote))


def cyclic(size: float = 0.05) -> SVM:
    """0 beats 1, 1 beats 2, 2 beats 0, near the origin; far out as well."""
    random = np.random.default_rng(0)
    return SVM(
        Kernel("rbf", 0.5),
        random.normal(size=(9, 2)),
        size * random.normal(size=(2, 9)),
        np.array([0.4, -0.4, 0.4]),
        LabelRule.VOTE,
        Source("made up", "0" * 64),
        Labels((0, 1, 2), "<i8"),
        counts=(3, 3, 3),
    )
