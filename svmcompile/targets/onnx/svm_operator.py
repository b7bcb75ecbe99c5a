"""ai.onnx.ml's `SVMClassifier`, which adds up kernel values and couples probabilities in one operator.

It computes in float32, with sums in double. Every operator of a graph costs a call as much as some 50
kernel values, so this one is faster for small models and single rows. In batches of larger ones, products
of matrices are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.pairs import pair_indices
from svmcompile.model.head import MIN_PROBABILITY
from svmcompile.targets.onnx.graph import DOUBLE, ML, Array
from svmcompile.targets.onnx.values import Values

SMALL = 1500  # vectors * (features + 5): beyond, products are three times as fast in batches, or more
SINGLE = 15_000  # the same for graphs of one row: beyond, products are faster there too
LONGER = 4.0  # times as large may squares of vectors be that are not centred


def serves(values: Values, kernel: Kernel, vectors: Array) -> bool:
    """Is the operator to add up these kernel values?

    Of other kernels it has powers in float32, or loses NaN.
    """
    form, most = values.options.onnx_form, SINGLE if values.options.onnx_batch == 1 else SMALL
    fits = kernel.kind == "rbf" and kernel.gamma > 0 and len(vectors) > 1 and values.number == np.float32
    return fits and (form == "operator" or (form == "auto" and vectors.size + 5 * len(vectors) <= most))


def couples(values: Values, floor: float) -> bool:
    """Is the operator to couple the probabilities of pairs?"""
    return values.options.onnx_form != "plain" and values.number == np.float32 and floor == MIN_PROBABILITY


def one_sum(values: Values, x: str, vectors: Array, weights: Array, bias: float, gamma: float) -> str:
    """[N, 1]; its class is the first where it is below zero, else the second."""
    counts = (len(vectors) - 1, 1)
    called = (*_as_they_come(values, x, vectors), -weights, np.array([-bias]), counts, gamma)
    label, sums = _classify(values, *called)
    return _summed(values, called, values.graph.op("Gather", sums, values.integers(0), axis=1), label)


def pair_sums(
    values: Values,
    x: str,
    vectors: Array,
    weights: Array,
    bias: Array,
    counts: tuple[int, ...],
    gamma: float,
) -> str:
    """[N, pairs] from LIBSVM's coefficients; the class has most votes."""
    called = (*_as_they_come(values, x, vectors), weights, bias, counts, gamma)
    label, sums = _classify(values, *called)
    return _summed(values, called, sums, label)


def _as_they_come(values: Values, x: str, vectors: Array) -> tuple[str, Array]:
    """Rows that were shifted by a centre and no more are taken as they come, and vectors are moved.

    The operator takes differences, so that only the vectors' own rounding can grow.
    """
    rows, shift = values.shifted.get(x, (x, np.zeros(1)))
    moved = vectors + shift
    if np.square(moved).sum(axis=1).max() > LONGER * np.square(vectors).sum(axis=1).max():
        rows, moved = x, vectors
    return values.narrow(rows), moved


def _summed(values: Values, called: tuple[Any, ...], floats: str, label: str) -> str:
    """Sums in double, their class, and how the operator was called for them."""
    wide = _in_double(values, floats)
    values.decided[wide], values.summed[wide] = label, called
    return wide


def coupled(values: Values, scores: str, slopes: Array, offsets: Array, n_classes: int) -> str:
    """[N, classes], from pairs' probabilities 1 / (1 + exp(slope score + offset)), as LIBSVM couples them.

    A linear kernel and unit vectors hand each score on to its pair, and so the operator knows the class:
    that of most votes or, of a single score below zero, the first.
    """
    sign = -1.0 if n_classes == 2 else 1.0
    chances: dict[str, Any] = {"prob_a": _floats(sign * slopes), "prob_b": _floats(offsets)}
    if scores in values.summed and values.options.outputs and "scores" not in values.options.outputs:
        called = values.summed[scores]  # no one sees the sums, so one operator does both
    else:
        called = (values.narrow(scores), *_handed_on(n_classes, sign), None)
    label, found = _classify(values, *called, **chances)
    values.decided[scores] = label
    # The operator gives equal probabilities for NaN; 0 * NaN is NaN.
    zeros = np.zeros((called[1].shape[1], n_classes), np.float32)
    return _in_double(values, values.graph.op("Gemm", called[0], zeros, found))


def _handed_on(n_classes: int, sign: float) -> tuple[Array, Array, Array, tuple[int, ...]]:
    """Vectors, weights, bias and counts of a linear kernel that gives each pair its score."""
    pairs = pair_indices(n_classes)
    vectors, weights = np.eye(len(pairs) + 1, len(pairs)), np.zeros((n_classes - 1, len(pairs) + 1))
    for pair, (_, j) in enumerate(pairs):
        weights[j - 1, pair] = sign
    # The last class gets a vector of zeros: without any, ONNX Runtime up to 1.20 ends the process.
    return vectors, weights, np.zeros(len(pairs)), (*range(n_classes - 1, 0, -1), 1)


def _classify(
    values: Values, x: str, vectors: Array, weights: Array, bias: Array, counts: tuple[int, ...],
    gamma: float | None, **chances: Any,
) -> list[str]:  # fmt: skip
    """Numbers of classes, and sums or probabilities; a linear kernel without gamma."""
    kind, table, coefficients = "LINEAR", values.rounded(vectors), values.rounded(weights)
    if gamma is not None:
        kind, (table, coefficients, counts) = "RBF", _with_far(table, coefficients, counts)
    return values.graph.ops(
        "SVMClassifier", x, outputs=2, domain=ML, kernel_type=kind,
        kernel_params=(float(np.float32(gamma or 0.0)), 0.0, 0.0), post_transform="NONE",
        classlabels_ints=tuple(range(len(counts))), vectors_per_class=counts,
        support_vectors=_floats(table), coefficients=_floats(coefficients),
        rho=_floats(values.rounded(bias)), **chances,
    )  # fmt: skip


def _with_far(
    vectors: NDArray[Any], weights: NDArray[Any], counts: tuple[int, ...]
) -> tuple[NDArray[Any], NDArray[Any], tuple[int, ...]]:
    """Each class but the last also gets the vectors at plus and minus infinity, with weight 0.

    Their kernel with a finite row is 0, with an infinite one NaN, since infinity - infinity is. So every
    sum of a row that is not finite is NaN, without a further operator.
    """
    ends = np.repeat(np.cumsum(counts[:-1]), 2)
    far = np.tile([[np.inf], [-np.inf]], (len(counts) - 1, vectors.shape[1]))
    more = tuple(count + 2 for count in counts[:-1])
    return np.insert(vectors, ends, far, axis=0), np.insert(weights, ends, 0, axis=1), (*more, counts[-1])


def _floats(table: NDArray[Any]) -> tuple[float, ...]:
    return tuple(np.asarray(table, np.float32).ravel().tolist())


def _in_double(values: Values, floats: str) -> str:
    """A result in double, as nodes expect it; what it was in float spares casts."""
    wide = values.cast(floats, DOUBLE)
    values.narrowed[wide] = floats
    return wide
