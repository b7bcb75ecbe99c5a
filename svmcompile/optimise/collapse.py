"""collapse_linear, collapse_quadratic: kernels that are polynomials of degree 1 or 2 need no vectors.

Both act only where the result costs fewer flops; a sum without vectors is a
constant and always collapses. Subtracting the centre is not counted: it buys
accuracy, and a scaling in front of it folds into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.cost import flops
from svmcompile.ir.graph import fresh
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.nodes import Affine, KernelSum, Node, PairSum, Quadratic, table_names
from svmcompile.ir.pairs import pair_weights
from svmcompile.ir.program import Program
from svmcompile.ir.shift import nearest_float32
from svmcompile.optimise.fold import all_finite, rewrite

Sum = KernelSum | PairSum
Tables = dict[str, NDArray[Any]]


def collapse_linear(program: Program) -> Program:
    """A linear kernel, or a polynomial one of degree 0 or 1, becomes one vector per sum."""
    return _collapse(program, _affine)


def collapse_quadratic(program: Program) -> Program:
    """A polynomial kernel of degree 2 becomes a quadratic form."""
    return _collapse(program, _quadratic)


def _collapse(program: Program, form: Callable[[Program, Sum], tuple[Node, Tables] | None]) -> Program:
    for index, node in enumerate(program.body):
        if not isinstance(node, (KernelSum, PairSum)):
            continue
        with np.errstate(all="ignore"):
            collapsed = form(program, node)
        if collapsed is None or not all_finite(collapsed[1]):
            continue
        new, tables = collapsed
        candidate = rewrite(program, [*program.body[:index], new, *program.body[index + 1 :]], tables)
        n, centring = program.tables[node.vectors].shape
        if not n or flops(candidate) - centring < flops(program):
            program = candidate
    return program


def dense_weights(program: Program, node: Sum) -> Array:
    """One row of weights per sum over all vectors."""
    weights: Array = program.tables[node.weights]
    return weights if isinstance(node, KernelSum) else pair_weights(weights, node.counts)


def _centre(vectors: Array, weights: Array) -> Array:
    """Where the rows are: near the mean of the vectors, as a float32 number.

    Under an identity matrix of weights the vectors are the slopes of a linear
    machine, which say nothing of the rows.
    """
    if not len(vectors) or np.array_equal(weights, np.eye(len(vectors))):
        return np.zeros(vectors.shape[1])
    return nearest_float32(vectors.mean(axis=0))


def _affine(program: Program, node: Sum) -> tuple[Node, Tables] | None:
    """sum_i w_i (g x.s_i + r)^p for p <= 1, written about a centre."""
    kernel = node.kernel
    if kernel.kind == "linear" or not len(program.tables[node.vectors]):
        kernel = Kernel("poly", 1.0, 0.0, 1)
    if kernel.kind != "poly" or kernel.degree > 1:
        return None
    vectors, weights = program.tables[node.vectors], dense_weights(program, node)
    centre = _centre(vectors, weights)
    slopes = kernel.gamma * kernel.degree * (weights @ vectors)
    values = kernel.values(centre[None], vectors)[0]
    bias = program.tables[node.bias] + weights @ values
    tables = _named(program, node, slopes=slopes, bias=bias, centre=centre)
    return Affine(node.out, node.x, *tables), tables


def _quadratic(program: Program, node: Sum) -> tuple[Node, Tables] | None:
    """With q_i = g c.s_i + r: sum_i w_i (g h.s_i + q_i)^2, multiplied out."""
    kernel = node.kernel
    if kernel.kind != "poly" or kernel.degree != 2:
        return None
    vectors, weights = program.tables[node.vectors], dense_weights(program, node)
    centre = _centre(vectors, weights)
    at_centre = kernel.gamma * (vectors @ centre) + kernel.coef0
    rows, columns = np.triu_indices(vectors.shape[1])
    squares = np.stack(
        [_upper(kernel.gamma**2 * (vectors.T * weight) @ vectors, rows, columns) for weight in weights]
    )
    slopes = 2 * kernel.gamma * ((weights * at_centre) @ vectors)
    bias = program.tables[node.bias] + weights @ at_centre**2
    tables = _named(program, node, squares=squares, slopes=slopes, bias=bias, centre=centre)
    return Quadratic(node.out, node.x, *tables), tables


def _named(program: Program, node: Sum, **arrays: Array) -> Tables:
    """The tables under names of their own; those of the node they replace are free."""
    taken = set(program.tables) - set(table_names(node))
    return {fresh(node.out, end, taken): array for end, array in arrays.items()}


def _upper(matrix: Array, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
    """The upper triangle, off-diagonal entries doubled for the half that is left out."""
    entries: Array = matrix[rows, columns] * np.where(rows == columns, 1.0, 2.0)
    return entries
