"""run: what trees in whole numbers mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.fixed_meaning import Wholes, fixed_kernel, rounded_shift, weighted, whole_table
from svmcompile.ir.leaf_layout import Leaf, leaves
from svmcompile.ir.meaning import Env, Tables, run
from svmcompile.ir.paths import Paths, paths
from svmcompile.ir.trees import leaf_functions

ABSENT = -(1 << 31)  # the score of a class that is not in the leaf, where sums are compared


@run.register
def _(node: ir.FixedLeaves, env: Env, tables: Tables) -> NDArray[Any]:
    x, leaf = env[node.x].astype(np.int64), env[node.leaf]
    weights, shifts = whole_table(tables, node.weights), whole_table(tables, node.shifts)
    out = whole_table(tables, node.bias)[leaf]
    for rows, functions in leaf_functions(leaf, tables[node.starts]):
        dots = np.einsum("ij,ij->i", x[rows], weights[functions])
        out[rows, tables[node.sums][functions]] += shifted(dots, shifts[functions])
    return out


def shifted(values: Wholes, bits: Wholes) -> Wholes:
    """Each divided by its own power of two, to the nearest."""
    return np.asarray((values + ((1 << bits) >> 1)) >> bits)


@run.register
def _(node: ir.FixedPath, env: Env, tables: Tables) -> NDArray[Any]:
    path = fixed_path(node, env[node.x], tables)
    weights = whole_table(tables, node.weights)
    sums = np.zeros((len(path.leaf), weights.shape[1]), dtype=np.int64)
    for level, (rows, functions) in enumerate(leaf_functions(path.leaf, tables[node.starts])):
        sums[rows] += weights[functions] * path.met[rows, level : level + 1].astype(np.int64)
    return rounded_shift(sums, node.shift) + whole_table(tables, node.bias)[path.leaf]


def fixed_path(node: ir.FixedPath, x: NDArray[Any], tables: Tables) -> Paths:
    """The paths of all rows."""
    kernel: Any = fixed_kernel(node, x.astype(np.int64), tables)
    thresholds: Any = whole_table(tables, node.thresholds)
    return paths(kernel, tables[node.picks], thresholds, tables[node.children])


@run.register
def _(node: ir.FixedLeafSums, env: Env, tables: Tables) -> NDArray[Any]:
    x, at = env[node.x].astype(np.int64), env[node.leaf]
    width = 1 if node.rule == "sum" else node.classes
    out = np.full((len(x), width), -1 if node.rule == "vote" else ABSENT if node.rule == "ovr" else 0)
    kernel = fixed_kernel(node, x, tables)
    for leaf in leaves(node, tables):
        rows = np.flatnonzero(at == leaf.number)
        columns = np.zeros(1, dtype=np.int64) if node.rule == "sum" else leaf.members
        out[np.ix_(rows, columns)] = _leaf_scores(node, leaf, kernel[rows], tables)
    return out


def _leaf_scores(node: ir.FixedLeafSums, leaf: Leaf, kernel: Wholes, tables: Tables) -> Wholes:
    """What the sums of a leaf say of its classes."""
    bias = whole_table(tables, node.bias)[leaf.bias]
    if not leaf.has_sums:
        return np.repeat(bias[None], len(kernel), axis=0) if len(bias) else np.zeros((len(kernel), 1), int)
    weights = whole_table(tables, node.weights)[leaf.weights].reshape(-1, leaf.columns)
    counts = leaf.counts if node.rule == "vote" else ()
    sums = rounded_shift(weighted(kernel[:, leaf.vectors], weights, counts), node.shift) + bias
    if node.rule != "vote":
        return sums
    votes = np.zeros((len(sums), len(leaf.members)), dtype=np.int64)
    pair = 0
    for i in range(len(leaf.members)):
        for j in range(i + 1, len(leaf.members)):
            votes[:, i] += sums[:, pair] > 0
            votes[:, j] += sums[:, pair] <= 0
            pair += 1
    return votes
