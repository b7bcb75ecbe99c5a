"""What Taylor polynomials about centres mean; cases of `run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.meaning import Env, Tables, run
from svmcompile.kernel import Array


@run.register
def _(node: ir.OneLeaf, env: Env, tables: Tables) -> NDArray[Any]:
    return np.zeros(len(env[node.x]), dtype=np.intp)


@run.register
def _(node: ir.TaylorSum, env: Env, tables: Tables) -> NDArray[Any]:
    x = env[node.x]
    scores, sure = taylor_orders(node, x, env[node.leaf], tables)
    order = sure.argmax(axis=1)
    score = scores[np.arange(len(x)), order]
    out = np.where(sure.any(axis=1), score, env[node.exact][:, 0])
    return out[:, None].astype(x.dtype)


def taylor_orders(
    node: ir.TaylorSum, rows: NDArray[Any], leaf: NDArray[Any], tables: Mapping[str, NDArray[Any]]
) -> tuple[Array, NDArray[np.bool_]]:
    """The score of every order, and whether it is sure, [rows, orders]."""
    h = rows.astype(np.float64) - tables[node.centres][leaf]
    u = node.gamma * np.square(h).sum(axis=1)
    orders, _, cells = tables[node.lows].shape
    place = u * tables[node.steps][leaf]
    inside = place < cells
    cell = np.where(inside, place, 0).astype(np.intp)
    polynomial = tables[node.constants][leaf] + (h * tables[node.slopes][leaf]).sum(axis=1)
    sums = [polynomial]
    if orders > 1:
        sums.append(sums[-1] + _quadratic(h, tables[node.squares][leaf]))
    if orders > 2:
        sums.append(sums[-1] + _cubic(h, tables[node.cubes], leaf))
    scores = np.exp(-u)[:, None] * np.stack(sums, axis=1) + tables[node.bias]
    low, high = (tables[name][:, leaf, cell].T for name in (node.lows, node.highs))
    sure = inside[:, None] & ((scores + low > 0) | (scores + high < 0))
    return scores, sure


def _quadratic(h: Array, squares: Array) -> Array:
    """Forms of the rows, whose coefficients are lower triangles row by row."""
    second, first = np.tril_indices(h.shape[1])
    return np.asarray((h[:, first] * h[:, second] * squares).sum(axis=1))


def _cubic(h: Array, cubes: Array, leaf: NDArray[Any]) -> Array:
    """Forms of the rows' leaves: for each h_c a quadratic form of those up to it."""
    out, at = np.zeros(len(h)), 0
    for c in range(h.shape[1]):
        size = (c + 1) * (c + 2) // 2
        out += h[:, c] * _quadratic(h[:, : c + 1], cubes[:, at : at + size][leaf])
        at += size
    return out
