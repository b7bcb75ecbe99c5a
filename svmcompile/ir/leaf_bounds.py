"""Error bounds of leaf sums; cases of `propagate`.

Votes are whole numbers: they are right, or the row is marked as one whose votes rounding may change.
"""

from __future__ import annotations

import numpy as np

from svmcompile.ir.kernel import Array
from svmcompile.ir.kernel_errors import kernel_errors, summing_error
from svmcompile.ir.leaf_layout import Leaf, leaves
from svmcompile.ir.leaf_meaning import leaf_columns, own_weights, weighted
from svmcompile.ir.leaf_sums import LeafSums
from svmcompile.ir.meaning import Floats
from svmcompile.ir.propagate import Arithmetic, Bounded, Env, Result, Tables, propagate, value_of


@propagate.register
def _(node: LeafSums, env: Env, tables: Tables, a: Arithmetic) -> Result:
    value = value_of(node, env, tables)
    x, at = env[node.x], env[node.leaf].value
    error = np.zeros(value.shape)
    unstable = np.zeros(len(value), dtype=bool)
    for leaf in leaves(node, tables):
        rows = np.flatnonzero(at == leaf.number)
        if len(rows) and (leaf.has_sums or node.rule == "sum"):
            part = Bounded(x.value[rows], x.error[rows], x.unstable[rows])
            sums, errors = _sums(node, leaf, part, tables, a)
            if node.rule == "vote":
                unstable[rows] = ~(np.abs(sums) > errors).all(axis=1)
            else:
                error[np.ix_(rows, leaf_columns(node.rule, leaf.members))] = errors
    return value, error, unstable


def _sums(node: LeafSums, leaf: Leaf, x: Bounded, tables: Tables, a: Arithmetic) -> tuple[Floats, Array]:
    """The sums of a leaf and bounds on their errors."""
    vectors, bias = tables[node.vectors][leaf.vectors], tables[node.bias][leaf.bias]
    weights = own_weights(leaf, tables[node.weights])
    kernel, errors = kernel_errors(node.kernel, x, vectors, a)
    sums = weighted(node.rule, kernel, weights, leaf.counts) + bias

    def over(sizes: Array) -> Array:
        return np.asarray(weighted(node.rule, sizes, np.abs(weights), leaf.counts), dtype=np.float64)

    return sums, summing_error(kernel, errors, over, sums, bias, a)
