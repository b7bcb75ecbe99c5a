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
from svmcompile.targets.onnx.graph import DOUBLE, ML, Array, Values

SMALL = 1500  # vectors * (features + 5): beyond, products are three times as fast in batches, or more
WIDE = 64  # features: a product with the unit matrix costs more than two operators


def serves(values: Values, kernel: Kernel, vectors: Array) -> bool:
    """Is the operator to add up these kernel values?

    Of other kernels it has powers in float32, or loses NaN.
    """
    form = values.options.onnx_form
    fits = kernel.kind == "rbf" and kernel.gamma > 0 and len(vectors) > 1 and values.number == np.float32
    return fits and (form == "operator" or (form == "auto" and vectors.size + 5 * len(vectors) <= SMALL))


def couples(values: Values, floor: float) -> bool:
    """Is the operator to couple the probabilities of pairs?"""
    return values.options.onnx_form != "plain" and values.number == np.float32 and floor == MIN_PROBABILITY


def one_sum(values: Values, x: str, vectors: Array, weights: Array, bias: float, gamma: float) -> str:
    """[N, 1]; its class is the first where it is below zero, else the second."""
    rows, counts = _poisoned(values, x, vectors.shape[1]), (len(vectors) - 1, 1)
    label, sums = _classify(values, rows, vectors, -weights, np.array([-bias]), counts, gamma)
    return _in_double(values, values.graph.op("Gather", sums, values.integers(0), axis=1), label)


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
    rows = _poisoned(values, x, vectors.shape[1])
    label, sums = _classify(values, rows, vectors, weights, bias, counts, gamma)
    return _in_double(values, sums, label)


def coupled(values: Values, scores: str, slopes: Array, offsets: Array, n_classes: int) -> str:
    """[N, classes], from pairs' probabilities 1 / (1 + exp(slope score + offset)), as LIBSVM couples them.

    A linear kernel and unit vectors hand each score on to its pair, and so the operator knows the class:
    that of most votes or, of a single score below zero, the first.
    """
    pairs, sign = pair_indices(n_classes), -1.0 if n_classes == 2 else 1.0
    vectors, weights = np.eye(len(pairs) + 1, len(pairs)), np.zeros((n_classes - 1, len(pairs) + 1))
    for pair, (_, j) in enumerate(pairs):
        weights[j - 1, pair] = sign
    # The last class gets a vector of zeros: without any, ONNX Runtime up to 1.20 ends the process.
    counts = (*range(n_classes - 1, 0, -1), 1)
    chances = {"prob_a": _floats(sign * slopes), "prob_b": _floats(offsets)}
    floats = values.narrow(scores)
    none = np.zeros(len(pairs))
    label, found = _classify(values, floats, vectors, weights, none, counts, None, **chances)
    values.decided.setdefault(scores, label)
    # The operator gives equal probabilities for NaN; 0 * NaN is NaN.
    zeros = np.zeros((len(pairs), n_classes), np.float32)
    return _in_double(values, values.graph.op("Gemm", floats, zeros, found))


def _classify(
    values: Values, x: str, vectors: Array, weights: Array, bias: Array, counts: tuple[int, ...],
    gamma: float | None, **chances: Any,
) -> list[str]:  # fmt: skip
    """Numbers of classes, and sums or probabilities; a linear kernel without gamma."""
    kind = "LINEAR" if gamma is None else "RBF"
    return values.graph.ops(
        "SVMClassifier", x, outputs=2, domain=ML, kernel_type=kind,
        kernel_params=(float(np.float32(gamma or 0.0)), 0.0, 0.0), post_transform="NONE",
        classlabels_ints=tuple(range(len(counts))), vectors_per_class=counts,
        support_vectors=_floats(values.rounded(vectors)), coefficients=_floats(values.rounded(weights)),
        rho=_floats(values.rounded(bias)), **chances,
    )  # fmt: skip


def _floats(table: NDArray[Any]) -> tuple[float, ...]:
    return tuple(np.asarray(table, np.float32).ravel().tolist())


def _poisoned(values: Values, x: str, d: int) -> str:
    """The rows in float32, with NaN somewhere in each that is not finite, since 0 * infinity is NaN."""
    floats = values.narrow(x)
    if 1 < d <= WIDE:
        return values.same("MatMul", floats, np.eye(d, dtype=np.float32))
    return values.same("Add", floats, values.same("MatMul", floats, np.zeros((d, 1), np.float32)))


def _in_double(values: Values, floats: str, label: str = "") -> str:
    """A result in double, as nodes expect it; what is known about it spares casts and votes."""
    wide = values.cast(floats, DOUBLE)
    values.narrowed[wide] = floats
    if label:
        values.decided[wide] = label
    return wide
