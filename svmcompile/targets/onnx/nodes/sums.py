"""Kernel sums, affine and quadratic functions in ONNX: all sums are in double."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC
from svmcompile.ir.check import in_double
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes import operands
from svmcompile.ir.pairs import class_slices, pair_indices, pair_weights
from svmcompile.targets.onnx import svm_operator
from svmcompile.targets.onnx.graph import Array
from svmcompile.targets.onnx.values import Values, build

BLOCK_CLASSES, BLOCK_VECTORS = 6, 1000  # from here on, sums by class are faster than one dense matrix
U64 = ARITHMETIC["f64"].u
FEW_SUMS = 3  # up to here, NaN and bias go into the sums by one product, which saves two operators
UNSAFE_ERROR = 1e-3  # an exponent whose rounding error may exceed this is kept from rising above zero


@build.register
def _(node: ir.KernelSum, values: Values) -> str:
    """One sum per row of weights."""
    return _sums(values, node, values.tables[node.weights])


@build.register
def _(node: ir.PairSum, values: Values) -> str:
    """One sum per pair of classes, from LIBSVM's coefficients [k - 1, n]."""
    weights, counts = values.tables[node.weights], node.counts
    vectors, bias = values.tables[node.vectors], values.tables[node.bias]
    if len(counts) > 2 and all(counts) and svm_operator.serves(values, node.kernel, vectors):
        x = values.names[node.x]
        return svm_operator.pair_sums(values, x, vectors, weights, bias, counts, node.kernel.gamma)
    if not _by_class(counts) or is_affine(node.kernel):
        return _sums(values, node, pair_weights(weights, counts))
    return _kernel_sums(values, node, weights, pair_sum_of(values, node))


def _by_class(counts: tuple[int, ...]) -> bool:
    return len(counts) >= BLOCK_CLASSES and sum(counts) >= BLOCK_VECTORS


def pair_sum_of(values: Values, node: ir.PairSum | ir.CsrSum) -> Callable[[str], str]:
    """What makes sums of kernel values: one per pair of classes or, without counts, per row of weights."""
    weights, bias, counts = values.tables[node.weights], values.tables[node.bias], node.counts
    if _by_class(counts):
        return lambda kernel: values.product(
            _sums_by_class(values, kernel, weights, counts), _pair_gather(counts), bias
        )
    dense = pair_weights(weights, counts) if counts else weights
    return lambda kernel: values.product(kernel, dense, bias)


def _sums(values: Values, node: ir.KernelSum | ir.PairSum, weights: Array) -> str:
    """The node's sums, with one row of weights per sum."""
    x, vectors, bias = values.names[node.x], values.tables[node.vectors], values.tables[node.bias]
    if node.kernel.kind == "linear":
        sums = values.product(values.wide(x), weights @ vectors, bias)
    elif is_affine(node.kernel) or not len(vectors):  # every kernel value is one
        sums = values.graph.constant(bias + weights.sum(axis=1))
    elif len(weights) == 1 and svm_operator.serves(values, node.kernel, vectors):
        return svm_operator.one_sum(values, x, vectors, weights, float(bias[0]), node.kernel.gamma)
    elif (
        len(weights) <= FEW_SUMS
        and node.kernel.kind != "precomputed"
        and not _settles(values, node)
        and not _has_nan(values, x, vectors, node.kernel)
    ):
        kernel = kernel_values(values, x, vectors, node.kernel)
        return values.graph.op("Gemm", kernel, weights, _poisoned_bias(values, x, vectors, bias), transB=1)
    else:
        return _kernel_sums(values, node, weights, lambda kernel: values.product(kernel, weights, bias))
    return values.poisoned(x, vectors.shape[1], sums)


def _kernel_sums(
    values: Values, node: ir.KernelSum | ir.PairSum, weights: Array, sums_of: Callable[[str], str]
) -> str:
    """Sums of kernel values that are computed."""
    x, vectors = values.names[node.x], values.tables[node.vectors]
    if _settles(values, node):
        return values.poisoned(x, vectors.shape[1], _settling_sums(values, node, weights, sums_of))
    if _has_nan(values, x, vectors, node.kernel):
        return sums_of(kernel_values(values, x, vectors, node.kernel, with_nan=True))
    kernel = kernel_values(values, x, vectors, node.kernel)
    return poisoned(values, node, kernel, len(vectors), sums_of(kernel))


def _has_nan(values: Values, x: str, vectors: Array, kernel: Kernel) -> bool:
    """Can kernel values be NaN of rows that are not finite, at no operator more? Squares must be finite."""
    return kernel.kind == "rbf" and x in values.floats and not _capped(values, vectors, kernel.gamma)


def _settles(values: Values, node: ir.KernelSum | ir.PairSum) -> bool:
    """Is it an RBF sum in double, for labels that nothing else is sure of?"""
    return node.kernel.kind == "rbf" and in_double(node, values.types)


def _settling_sums(
    values: Values, node: ir.KernelSum | ir.PairSum, weights: Array, sums_of: Callable[[str], str]
) -> str:
    """RBF sums in double, whose signs are those of sums by differences.

    They are expanded about the mean. Rows with a sum so near zero that this may turn its sign are summed up
    by differences, [rows, vectors, features] at once. Sums that are compared with each other stay expanded.
    """
    graph, vectors, gamma = values.graph, values.tables[node.vectors], node.kernel.gamma
    x = values.wide(values.names[node.x])
    mean = vectors.mean(axis=0)
    about = graph.op("Sub", x, mean)
    sums = sums_of(kernel_values(values, about, vectors - mean, node.kernel))
    if any(item.compares and node.out in operands(item) for item in values.body):
        return sums
    count, d = vectors.shape
    reach = float(np.square(vectors - mean).sum(axis=1).max())
    size = U64 * float(np.abs(weights).sum(axis=1).max()) * (4 * d + 32)
    bias = 8 * U64 * np.abs(values.tables[node.bias]).max() + size * (gamma * reach + count + 8)
    slack = graph.op("Add", graph.op("Mul", values.row_dots(about, about), size * gamma), bias)
    distance = graph.op("ReduceMin", graph.op("Abs", sums), axes=(1,), keepdims=1)
    sure = values.column(graph.op("Greater", distance, slack))
    places, rows = values.true_of(graph.op("Not", sure))
    part = graph.op("Unsqueeze", graph.op("Gather", x, rows, axis=0), values.integers(1))
    h = graph.op("Sub", part, vectors[None])
    square = graph.op("ReduceSum", graph.op("Mul", h, h), values.integers(2), keepdims=0)
    return values.put(sums, places, sums_of(graph.op("Exp", graph.op("Mul", square, -gamma))))


def _poisoned_bias(values: Values, x: str, vectors: Array, bias: Array) -> str:
    """[N, sums]: the bias, or NaN where the row is not finite, since 0 * infinity is NaN."""
    return values.graph.op("Gemm", values.wide(x), np.zeros((vectors.shape[1], len(bias))), bias)


def poisoned(
    values: Values, node: ir.KernelSum | ir.PairSum | ir.PathSum, met: str, count: int, sums: str
) -> str:
    """Sums with NaN where the row is not finite or, of a given kernel, one of the values met."""
    if node.kernel.kind == "precomputed":  # the rest of the row does not matter
        return values.poisoned(met, count, sums)
    return values.poisoned(values.names[node.x], values.types[node.x].width, sums)


def is_affine(kernel: Kernel) -> bool:
    """Is a sum of such kernels an affine function, so that no kernel value need be computed?"""
    return kernel.kind == "linear" or is_constant(kernel)


def is_constant(kernel: Kernel) -> bool:
    """Is every kernel value one?"""
    return (kernel.kind == "poly" and kernel.degree == 0) or (kernel.kind == "rbf" and kernel.gamma == 0)


def _sums_by_class(values: Values, kernel: str, weights: Array, counts: tuple[int, ...]) -> str:
    """k - 1 sums over the vectors of each class that has some, side by side."""
    graph = values.graph
    filled = [part for part in class_slices(counts) if part.stop > part.start]
    sizes = graph.constant(np.array([part.stop - part.start for part in filled], np.int64))
    blocks = graph.ops("Split", kernel, sizes, outputs=len(filled), axis=1)
    partial = [
        graph.op("MatMul", block, weights[:, part].T) for block, part in zip(blocks, filled, strict=True)
    ]
    return graph.op("Concat", *partial, axis=1)


def _pair_gather(counts: tuple[int, ...]) -> Array:
    """Zeros and ones that add up the sums by class to sums by pair."""
    k = len(counts)
    gather = np.zeros((len(pair_indices(k)), k, k - 1))
    for row, (i, j) in enumerate(pair_indices(k)):
        gather[row, i, j - 1] = gather[row, j, i] = 1.0
    filled = [index for index, count in enumerate(counts) if count]
    return gather[:, filled].reshape(len(gather), -1)


def kernel_values(values: Values, x: str, vectors: Array, kernel: Kernel, *, with_nan: bool = False) -> str:
    """Kernel of every row with every vector, in double.

    Rows that are not finite may give anything or, of an RBF, NaN.
    """
    if kernel.kind == "precomputed":
        columns = values.graph.constant(vectors[:, 0].astype(np.int64))
        return values.wide(values.same("Gather", x, columns, axis=1))
    folded = folded_kernel(values, x, vectors, kernel, with_nan=with_nan)
    constants = [values.graph.constant(array) for array in (folded.table, folded.offsets)]
    return folded.shaped(values, values.same("Gemm", folded.rows, *constants, transB=1))


@dataclass(frozen=True, eq=False)
class Folded:
    """A kernel as a function of dot products: its values are shaped(rows . table + offsets)."""

    kernel: Kernel
    rows: str  # [N, width]
    table: NDArray[Any]  # [n, width]
    offsets: NDArray[Any]  # [n], or [1] for all
    capped: bool = False  # an exponent is kept from rising above zero

    def shaped(self, values: Values, dots: str) -> str:
        """Kernel values in double."""
        if self.kernel.kind == "linear":
            return values.wide(dots)
        if self.capped:
            dots = values.same("Min", dots, values.like(dots, 0.0))
        if self.kernel.kind == "rbf":
            return values.wide(values.same("Exp", dots))
        if self.kernel.kind == "sigmoid":
            return values.wide(values.same("Tanh", values.same("Neg", dots)))
        return power(values, values.wide(dots), self.kernel.degree)


def folded_kernel(
    values: Values, x: str, vectors: Array, kernel: Kernel, *, with_nan: bool = False
) -> Folded:
    """The kernel's parameters in the rows and in a table of the vectors."""
    if kernel.kind == "rbf":
        return _rbf(values, x, vectors, kernel, with_nan=with_nan)
    if kernel.kind == "sigmoid":
        # ONNX Runtime 1.16 joins Gemm and Tanh into one operator that it lacks in double; Neg parts them.
        return _scaled_dots(values, x, -kernel.gamma * vectors, -kernel.coef0, kernel)
    return _scaled_dots(values, x, kernel.gamma * vectors, kernel.coef0, kernel)


def _rbf(values: Values, x: str, vectors: Array, kernel: Kernel, *, with_nan: bool) -> Folded:
    """exp(2 g x.s - g|x|^2 - g|s|^2), the middle term as one more feature; another may be 0 or NaN.

    The norms are those of the rounded rows and vectors, so that rounding moves
    a point a little but never makes it inconsistent with itself.
    """
    gamma = kernel.gamma
    limit = rbf_limit(values, vectors, gamma)
    point = values.narrow(x)
    near = values.clip(point, -limit, limit)
    table, norms = _rounded_norms(values, vectors, gamma)
    wide = values.wide(point)  # out there the square is infinite, and the exponent minus infinity
    square = values.graph.op("Mul", wide, wide)
    more = np.array([[-gamma, 0.0]])[:, : 1 + with_nan]  # 0 * infinity is NaN
    columns = values.graph.constant(np.repeat(more, vectors.shape[1], axis=0))
    norm = values.narrow(values.graph.op("MatMul", square, columns))
    table = np.hstack([table, np.ones((len(table), more.shape[1]), values.number)])
    rows = values.same("Concat", near, norm, axis=1)
    capped = _capped(values, vectors, gamma)
    return Folded(kernel, rows, table, values.rounded(-gamma * norms), capped)


def _rounded_norms(values: Values, vectors: Array, gamma: float) -> tuple[NDArray[Any], Array]:
    """2 g s in the number type, and the squared norms of these vectors."""
    table = values.rounded(2 * gamma * vectors)
    return table, np.square(table.astype(np.float64) / (2 * gamma)).sum(axis=1)


def _capped(values: Values, vectors: Array, gamma: float) -> bool:
    """Might rounding make an exponent rise above zero by much?"""
    norms = _rounded_norms(values, vectors, gamma)[1]
    return bool(np.finfo(values.number).eps * gamma * norms.max() > UNSAFE_ERROR)


def rbf_limit(values: Values, vectors: Array, gamma: float) -> float:
    """Where to clip features: no sum overflows, and a point out there is far from every vector."""
    largest = float(np.finfo(values.number).max)
    limit = float(np.sqrt(largest / (8 * vectors.shape[1] * max(gamma, 1.0))))
    if np.abs(vectors).max() > limit / 16:
        raise EmitError(
            f"a support vector lies beyond {limit / 16:.0e}, too far for squares in this precision; "
            "use precision f64 or scale the features"
        )
    return limit


def _scaled_dots(values: Values, x: str, table: Array, offset: float, kernel: Kernel) -> Folded:
    """x.t + offset in the number type; float features are clipped where their sums would overflow."""
    rounded = values.rounded(table)
    if values.number == np.float32:
        limit = float(np.finfo(np.float32).max) / max(8 * np.abs(table).sum(axis=1).max(), 1.0)
        x = values.clip(x, -limit, limit)
    return Folded(kernel, values.narrow(x), rounded, np.array([offset], values.number))


def power(values: Values, base: str, exponent: int) -> str:
    """Whole powers by repeated squaring, in the order of `kernel.power`."""
    result, factor = "", base
    while exponent > 0:
        if exponent % 2:
            result = values.graph.op("Mul", result, factor) if result else factor
        exponent //= 2
        if exponent:
            factor = values.graph.op("Mul", factor, factor)
    return result
