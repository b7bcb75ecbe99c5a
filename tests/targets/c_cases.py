"""Small programs that, together, hold every machine node, head, kernel and kind of label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from svmcompile.accelerate.registry import accelerate
from svmcompile.flow.program import compile_svm, probe_rows
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Labels, Program
from svmcompile.model.front import clip, scale
from svmcompile.model.svm import SVM, LabelRule, Source

FEATURES = 5  # not a multiple of four, so that products have a remainder
VECTORS = 40  # more than a block of kernel values

RBF = Kernel("rbf", 0.3)
POLY2 = Kernel("poly", 0.5, 1.0, 2)
POLY3 = Kernel("poly", 0.4, 0.5, 3)
SIGMOID = Kernel("sigmoid", 0.2, -0.1)
LINEAR = Kernel("linear")
SCALE = scale(np.array([0.1, -2.0, 0.0, 30.0, 1.0]), np.array([1.5, 0.7, 1.0, 0.1, 2.0]))

THREE_WORDS = Labels(("un", "deux", "trois"), "<U5")
LARGE_INTS = Labels((-(1 << 63), -(1 << 31), 7, (1 << 63) - 1), "<i8")
UNSIGNED = Labels((0, 5, (1 << 64) - 1), "<u8")
NEGATIVE = Labels((-(1 << 31), (1 << 31) - 1), "<i4")
BOOLS = Labels((False, True), "|b1")
FLOATS = Labels((-0.5, 1e300), "<f8")
INLIERS = Labels((-1, 1), "<i8")


def dense(kernel: Kernel, rule: LabelRule, labels: Labels | None, sums: int = 1, **more: Any) -> SVM:
    """One weight per vector and sum."""
    generator = np.random.default_rng(5)
    return SVM(
        kernel,
        generator.normal(size=(VECTORS, FEATURES)),
        generator.normal(size=(sums, VECTORS)),
        generator.normal(size=sums),
        rule,
        Source("test", "0" * 64),
        labels,
        **more,
    ).check("test")


def pairs(kernel: Kernel, rule: LabelRule, labels: Labels, **more: Any) -> SVM:
    """One sum per pair of classes; one class has no vectors at all where there are four."""
    classes = len(labels)
    counts = {2: (17, 23), 3: (1, 20, 19), 4: (16, 0, 7, 17)}[classes]
    sums = classes * (classes - 1) // 2
    svm = dense(kernel, rule, labels, sums)
    weights = 4 * np.random.default_rng(6).normal(size=(classes - 1, VECTORS))
    return replace(svm, coefficients=weights, counts=counts, **more).check("test")


def mostly_zeros(svm: SVM) -> SVM:
    """Vectors with one feature in ten, some with none."""
    kept = np.random.default_rng(7).random(svm.vectors.shape) < 0.1
    return replace(svm, vectors=np.where(kept, svm.vectors, 0.0))


def optimised(svm: SVM) -> Program:
    return compile_svm(svm, "exact", None, {})


def as_it_is(svm: SVM) -> Program:
    """Without passes: linear kernels keep their vectors, scalings stay apart."""
    program = accelerate(svm, None, "exact", {})
    return program.replace(probes=probe_rows(program, svm, None))


VOTE, ARGMAX, NONE = LabelRule.VOTE, LabelRule.ARGMAX, LabelRule.NONE
MAKERS: dict[str, Callable[[], Program]] = {
    "rbf_ovr": lambda: optimised(pairs(RBF, VOTE, THREE_WORDS, one_vs_rest_scores=True)),
    "rbf_ovo": lambda: optimised(pairs(RBF, VOTE, LARGE_INTS)),
    "rbf_ties": lambda: optimised(pairs(RBF, ARGMAX, UNSIGNED, one_vs_rest_scores=True)),
    "rbf_pair": lambda: optimised(pairs(RBF, VOTE, INLIERS)),
    "rbf_two": lambda: optimised(dense(RBF, LabelRule.NEGATIVE_FIRST, NEGATIVE)),
    "rbf_argmax": lambda: optimised(dense(RBF, ARGMAX, THREE_WORDS, 3)),
    "rbf_one_class": lambda: optimised(dense(RBF, LabelRule.POSITIVE_SECOND, INLIERS)),
    "rbf_value": lambda: optimised(dense(RBF, NONE, None)),
    "rbf_scaled": lambda: optimised(dense(RBF, LabelRule.POSITIVE_FIRST, BOOLS, front=SCALE)),
    "rbf_clipped": lambda: optimised(dense(RBF, NONE, None, front=SCALE.then(clip(-1.0, 1.5)))),
    "rbf_sparse": lambda: optimised(mostly_zeros(pairs(RBF, VOTE, THREE_WORDS))),
    "sigmoid_sparse": lambda: optimised(mostly_zeros(dense(SIGMOID, NONE, None))),
    "poly_ovo": lambda: optimised(pairs(POLY3, VOTE, THREE_WORDS)),
    "poly_value": lambda: optimised(dense(POLY3, NONE, None)),
    "quadratic": lambda: optimised(dense(POLY2, LabelRule.NEGATIVE_FIRST, FLOATS)),
    "quadratic_ovo": lambda: optimised(pairs(POLY2, VOTE, THREE_WORDS)),
    "sigmoid_ovr": lambda: optimised(pairs(SIGMOID, VOTE, THREE_WORDS, one_vs_rest_scores=True)),
    "sigmoid_two": lambda: optimised(dense(SIGMOID, LabelRule.POSITIVE_SECOND, BOOLS)),
    "affine": lambda: optimised(dense(LINEAR, ARGMAX, THREE_WORDS, 3)),
    "affine_two": lambda: optimised(dense(LINEAR, LabelRule.POSITIVE_SECOND, NEGATIVE, front=SCALE)),
    "linear_ovo": lambda: as_it_is(pairs(LINEAR, VOTE, THREE_WORDS)),
    "linear_scaled": lambda: as_it_is(dense(LINEAR, NONE, None, front=SCALE.then(clip(-1.0, 1.0)))),
}
CASES = tuple(MAKERS)


@cache
def program_of(case: str) -> Program:
    return MAKERS[case]()


def normal_rows(count: int, number: str, seed: int = 0) -> Any:
    """Rows in the number type itself, some of them far out."""
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(count, FEATURES)) * generator.choice([0.3, 1.0, 3.0], size=(count, 1))
    return rows.astype(np.float32).astype(real_type(number))


def real_type(number: str) -> Any:
    return np.float64 if number == "f64" else np.float32


def voting(
    kernel: Kernel, vectors: Any, counts: tuple[int, ...], generator: np.random.Generator
) -> Program:
    """A model of any number of classes over given vectors, with random weights."""
    classes = len(counts)
    svm = SVM(
        kernel,
        vectors,
        generator.normal(size=(classes - 1, len(vectors))),
        generator.normal(size=classes * (classes - 1) // 2),
        LabelRule.VOTE,
        Source("test", "0" * 64),
        Labels(tuple(range(classes)), "<i8"),
        counts,
    )
    return compile_svm(svm.check("test"), "exact", None, {})
