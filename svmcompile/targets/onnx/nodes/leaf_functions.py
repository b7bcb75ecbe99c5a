"""Leaves in ONNX: rows and the leaf of each go in, the scores of the leaf's functions come out.

Each row gathers the functions of its leaf. Where leaves have several, they are
filled up to the same number with functions that are zero, and taken in portions
that bound the memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.targets.onnx.build import build
from svmcompile.targets.onnx.values import INDEX, Values

PORTION = 1 << 13  # weights per row that are gathered at once


@build.register
def _(node: ir.LeafAffine, values: Values) -> str:
    tables, x, leaf = values.tables, values.names[node.x], values.names[node.leaf]
    bias = values.wide(values.gather(values.number_table(tables[node.bias]), leaf))
    functions = functions_of_leaves(tables[node.starts])
    h = values.centred(x, tables[node.centre])
    dots = _dots(values, h, leaf, functions, tables[node.weights], tables[node.units])
    sums = np.append(tables[node.sums], 0)[functions].astype(INDEX)
    out = _added(values, bias, leaf, dots, sums, tables[node.bias].shape[1])
    return values.poisoned(x, tables[node.weights].shape[1], out)


def functions_of_leaves(starts: NDArray[Any]) -> NDArray[np.intp]:
    """[leaves, most functions of a leaf]: filled up with the number of functions."""
    first, counts = starts[:-1].astype(np.intp), np.diff(starts.astype(np.intp))
    place = np.arange(counts.max())
    return np.where(place < counts[:, None], first[:, None] + place, int(starts[-1]))


def _dots(
    values: Values,
    h: str,
    leaf: str,
    functions: NDArray[np.intp],
    weights: NDArray[Any],
    units: NDArray[Any],
) -> str:
    """Double [rows, most functions]: each function of the row's leaf, without bias."""
    if functions.max() == len(weights):  # some leaf has fewer: a function that is zero
        weights, units = np.vstack([weights, np.zeros_like(weights[:1])]), np.append(units, 1.0)
    size = max(1, PORTION // weights.shape[1])
    portions = [functions[:, at : at + size] for at in range(0, functions.shape[1], size)]
    table = values.small_table(weights)
    parts = [_portion(values, h, leaf, portion, table, units) for portion in portions]
    return parts[0] if len(parts) == 1 else values.graph.op("Concat", *parts, axis=1)


def _portion(
    values: Values, h: str, leaf: str, functions: NDArray[np.intp], table: str, units: NDArray[Any]
) -> str:
    """Double [rows, functions]."""
    graph = values.graph
    one = functions.shape[1] == 1
    chosen = leaf
    if not one or (functions[:, 0] != np.arange(len(functions))).any():
        ids = functions[:, 0] if one else functions
        chosen = graph.op("Gather", graph.constant(ids.astype(INDEX)), leaf, axis=0)
    weights = values.in_number(values.gather(table, chosen))
    dots = values.wide(values.row_dots(weights, h) if one else _products(values, weights, h))
    if (units == 1).all():
        return dots
    by_leaf = values.number_table(units[functions])
    return graph.op("Mul", dots, values.wide(values.gather(by_leaf, leaf)))


def _products(values: Values, weights: str, h: str) -> str:
    """[rows, functions] from weights [rows, functions, d]; for several functions faster than `row_dots`."""
    last = values.integers(2)
    return values.same("Squeeze", values.same("MatMul", weights, values.same("Unsqueeze", h, last)), last)


def _added(values: Values, bias: str, leaf: str, dots: str, sums: NDArray[Any], width: int) -> str:
    """Scores [rows, width]: the bias, and each dot product added to its sum."""
    if sums.shape[1] == width and (sums == np.arange(width)).all():
        return values.graph.op("Add", bias, dots)
    targets = values.graph.op("Gather", values.graph.constant(sums), leaf, axis=0)
    return values.graph.op("ScatterElements", bias, targets, dots, axis=1, reduction="add")


@build.register
def _(node: ir.Products, values: Values) -> str:
    """All d * d products, and of these the upper triangle: one gathering fewer than factor by factor."""
    graph, centre = values.graph, values.tables[node.centre]
    d = len(centre)
    h = values.centred(values.names[node.x], centre)
    factors = [values.same("Unsqueeze", h, values.integers(axis)) for axis in (1, 2)]
    square = values.same("Reshape", values.same("Mul", *factors), values.integers(0, d * d))
    first, second = np.triu_indices(d)
    chosen = graph.constant((first * d + second).astype(INDEX))
    return values.same("Concat", h, values.same("Gather", square, chosen, axis=1), axis=1)
