"""LIBSVM's layout of a model, and its text.

Values are in LIBSVM's sign: for two classes, above zero is the first label. An SVM whose rule is "above
zero is the second class" has its two labels swapped. Numbers have as many digits as bring them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from svmcompile.errors import UnsupportedError
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.pairs import pair_weights
from svmcompile.ir.program import Scalar
from svmcompile.model.svm import SVM, LabelRule

CLASSIFIERS = {"NuSVC": "nu_svc", "nu_svc": "nu_svc"}
REGRESSORS = {"NuSVR": "nu_svr", "nu_svr": "nu_svr"}
ONE_CLASS = ("OneClassSVM", "one_class")
TIES = "a row with two largest scores exactly equal may get the other label"
KERNELS = {"linear": "linear", "poly": "polynomial", "rbf": "rbf", "sigmoid": "sigmoid"}
PARAMETERS = {
    "linear": (),
    "poly": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
}


@dataclass(frozen=True, eq=False)
class Layout:
    """The parts of a LIBSVM model; `labels` and `counts` are empty unless it is a classifier."""

    svm_type: str
    kernel: Kernel
    vectors: Any  # an array, or compressed rows
    coefficients: Array  # [classes - 1, vectors]
    intercepts: Array  # added to the sums: minus LIBSVM's rho
    labels: tuple[Scalar, ...] = ()
    counts: tuple[int, ...] = ()
    platt: tuple[Array, Array] | None = None
    noise_scale: float | None = None
    density_marks: Array | None = None
    notes: tuple[str, ...] = ()


def layout_of(svm: SVM) -> Layout:
    """The SVM without its preprocessing, as LIBSVM stores it."""
    if svm.head is not None or svm.parts:
        raise UnsupportedError(
            f"{svm.source.kind}: combines several SVMs, which one LIBSVM model cannot hold; convert its "
            "estimators one by one"
        )
    if svm.kernel.kind == "precomputed":
        raise UnsupportedError(
            f"{svm.source.kind}: a precomputed kernel has no vectors to convert; retrain with another"
        )
    if svm.kernel.kind not in KERNELS:
        raise UnsupportedError(
            f"{svm.source.kind}: LIBSVM has no {svm.kernel.kind} kernel; retrain with {', '.join(KERNELS)}"
        )
    word = svm.source.kind.removesuffix(")").replace("(", " ").split()[-1]
    if svm.labels is None:
        kind = REGRESSORS.get(word, "epsilon_svr")
        return replace(_single(svm, kind), noise_scale=svm.noise_scale)
    if word in ONE_CLASS:
        return replace(_single(svm, "one_class"), density_marks=svm.density_marks)
    kind = CLASSIFIERS.get(word, "c_svc")
    if svm.counts:
        return _pairs(svm, kind)
    return _two_classes(svm, kind) if svm.n_sums == 1 else _one_against_one(svm)


def _single(svm: SVM, kind: str) -> Layout:
    return Layout(kind, svm.kernel, svm.vectors, svm.coefficients, svm.intercepts)


def _pairs(svm: SVM, kind: str) -> Layout:
    if svm.label_rule is not LabelRule.VOTE:
        raise UnsupportedError(
            f"{svm.source.kind}: LIBSVM counts votes and cannot break ties by score; "
            "set break_ties=False before converting"
        )
    assert svm.labels
    return Layout(
        kind, svm.kernel, svm.vectors, svm.coefficients, svm.intercepts, svm.labels.values, svm.counts,
        svm.platt,
    )  # fmt: skip


def _two_classes(svm: SVM, kind: str) -> Layout:
    """Vectors of the first class, those with positive coefficients, come first."""
    assert svm.labels
    sign = -1.0 if svm.label_rule is LabelRule.NEGATIVE_FIRST else 1.0
    swapped = svm.label_rule is LabelRule.POSITIVE_SECOND
    coefficients = sign * svm.coefficients
    first = coefficients[0] > 0
    order = np.argsort(~first, kind="stable")
    labels = svm.labels.values[::-1] if swapped else svm.labels.values
    counts = (int(first.sum()), int((~first).sum()))
    intercepts = 0.0 + sign * svm.intercepts
    vectors, coefficients = svm.vectors[order], coefficients[:, order]
    return Layout(kind, svm.kernel, vectors, coefficients, intercepts, labels, counts, svm.platt)


def _one_against_one(svm: SVM) -> Layout:
    """Scores by class as pairs: (i, j) is score i - score j, which i wins if its score is larger."""
    assert svm.labels
    if svm.kernel.kind != "linear" or svm.label_rule is not LabelRule.ARGMAX:
        raise UnsupportedError(
            f"{svm.source.kind}: LIBSVM has no model of one score per class; train an SVC or NuSVC"
        )
    k = len(svm.labels)
    weights = svm.coefficients @ svm.vectors  # one vector per class
    coefficients = np.array([[1.0 if c <= row else -1.0 for c in range(k)] for row in range(k - 1)])
    counts = (1,) * k
    pairs = pair_weights(coefficients, counts)  # +1 for class i, -1 for class j
    notes = ("scores by class became pairs of classes: LIBSVM's values are their differences, and " + TIES,)
    return Layout(
        "c_svc", svm.kernel, weights, coefficients, pairs @ svm.intercepts, svm.labels.values, counts,
        notes=notes,
    )  # fmt: skip


def model_text(layout: Layout) -> str:
    """The file of a model."""
    kernel = layout.kernel
    lines = [f"svm_type {layout.svm_type}", f"kernel_type {KERNELS[kernel.kind]}"]
    lines += [f"{key} {getattr(kernel, key)!r}" for key in PARAMETERS[kernel.kind]]
    lines += [f"nr_class {len(layout.labels) or 2}", f"total_sv {len(layout.vectors)}"]
    lines.append(f"rho {_numbers(0.0 - layout.intercepts)}")
    if layout.labels:
        lines.append(f"label {' '.join(map(str, layout.labels))}")
    lines += [f"{key} {_numbers(values)}" for key, values in _probabilities(layout).items()]
    if layout.counts:
        lines.append(f"nr_sv {' '.join(map(str, layout.counts))}")
    rows = zip(layout.coefficients.T, _entries(layout.vectors), strict=True)
    return "\n".join([*lines, "SV", *(_vector(numbers, *held) for numbers, held in rows)]) + "\n"


def _entries(vectors: Any) -> Iterator[tuple[Any, Any]]:
    """For each vector the features that are not zero, and their values."""
    if isinstance(vectors, np.ndarray):
        for vector in vectors:
            present = np.flatnonzero(vector)
            yield present, vector[present]
        return
    for start, end in pairwise(vectors.indptr.tolist()):
        yield vectors.indices[start:end], vectors.data[start:end]


def _probabilities(layout: Layout) -> dict[str, Iterable[float]]:
    """What models trained with -b 1 store besides."""
    found: dict[str, Iterable[float]] = {}
    if layout.platt:
        found |= {"probA": layout.platt[0], "probB": layout.platt[1]}
    if layout.noise_scale is not None:
        found["probA"] = [layout.noise_scale]
    if layout.density_marks is not None:
        found["prob_density_marks"] = layout.density_marks
    return found


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(value)) for value in values)


def _vector(coefficients: Array, present: Array, values: Array) -> str:
    """Coefficients, then the features that are not zero, counted from 1, and a space as LIBSVM has it."""
    held = zip(present.tolist(), values.tolist(), strict=True)
    pairs = "".join(f"{index + 1}:{value!r} " for index, value in held)
    return f"{_numbers(coefficients)} {pairs}"
