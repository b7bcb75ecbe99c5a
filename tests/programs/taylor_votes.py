"""Votes of Taylor polynomials for tests: a machine and rows go in, the program of some layout comes out."""

from __future__ import annotations

from typing import Any

import numpy as np

from svmcompile.accelerate.bounds.sums import centre_vectors, merge_vectors, prepare_rows, sample_rows
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.certified.votes.votes import certify_votes
from svmcompile.data import Data
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels, Program
from svmcompile.model.svm import SVM, LabelRule, Source
from svmcompile.optimise import optimise
from svmcompile.read import read

DEFAULTS = {"leaves": 1, "order": 2, "rank": 0, "cells": 8, "max_bytes": 1 << 30, "tune": "flops"}


def made(model: Any, X: Any, force: bool = True, **options: Any) -> Any:
    """What the method makes of an estimator or an SVM, before passes."""
    svm = model if isinstance(model, SVM) else read(model)
    own = centre_vectors(merge_vectors(svm))
    rows = prepare_rows(own, None if X is None else Data(np.asarray(X), None))
    given: Any = DEFAULTS | options | {"force": force}
    return certify_votes(svm, own, rows, sample_rows(own, rows, 200, 0), CertifiedOptions(**given))


def vote_of(model: Any, X: Any, **options: Any) -> Program:
    """The program as backends get it."""
    return optimise(check(made(model, X, **options)))


def node_of(program: Program) -> ir.TaylorVote:
    return next(node for node in program.body if isinstance(node, ir.TaylorVote))


def tangled(classes: int = 6) -> SVM:
    """Pairs that have nothing to do with each other: most rows have no class that beats all others."""
    random, vectors = np.random.default_rng(4), 4 * classes
    return SVM(
        Kernel("rbf", 0.5),
        2 * random.normal(size=(vectors, 2)),
        random.normal(size=(classes - 1, vectors)),
        0.3 * random.normal(size=classes * (classes - 1) // 2),
        LabelRule.VOTE,
        Source("made up", "0" * 64),
        Labels(tuple(range(classes)), "<i8"),
        counts=(4,) * classes,
    )


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
