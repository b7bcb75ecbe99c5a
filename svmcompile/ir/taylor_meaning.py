"""What Taylor polynomials about centres mean; cases of `run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.meaning import Env, Tables, run


@run.register
def _(node: ir.OneLeaf, env: Env, tables: Tables) -> NDArray[Any]:
    return np.zeros(len(env[node.x]), dtype=np.intp)


@run.register
def _(node: ir.TaylorSum, env: Env, tables: Tables) -> NDArray[Any]:
    x = env[node.x]
    found = taylor_orders(node, x, env[node.leaf], tables)
    score = found.scores[np.arange(len(x)), found.sure.argmax(axis=1)]
    out = np.where(found.sure.any(axis=1), score, env[node.exact][:, 0])
    return out[:, None].astype(x.dtype)


def taylor_orders(
    node: ir.TaylorSum, rows: NDArray[Any], leaf: NDArray[Any], tables: Mapping[str, NDArray[Any]]
) -> Orders:
    """What every order says of rows, each about its own centre."""
    orders = len(tables[node.margins])
    scores, (sure, tried) = np.zeros((len(rows), orders)), np.zeros((2, len(rows), orders), dtype=bool)
    for own in np.unique(leaf):
        at = np.flatnonzero(leaf == own)
        found = taylor_scores(node, int(own), rows[at], tables)
        scores[at], tried[at] = found.scores, _tried(found, node.gates)
        sure[at] = tried[at] & found.clear
    return Orders(scores, sure, tried)


class Orders(NamedTuple):
    """Scores, which of them are sure, and which the gates let a row come to, all [rows, orders]."""

    scores: Array
    sure: NDArray[np.bool_]
    tried: NDArray[np.bool_]

    @property
    def settled(self) -> NDArray[np.intp]:
        """The order (from 0) that decides each row; the number of orders where none does."""
        orders = self.sure.shape[1]
        return np.asarray(np.where(self.sure.any(axis=1), self.sure.argmax(axis=1), orders), dtype=np.intp)

    @property
    def last(self) -> NDArray[np.intp]:
        """The last order (from 0) that each row comes to; rows outside the cells know it after order 1."""
        most = self.tried.sum(axis=1, dtype=np.intp) - 1
        return np.asarray(np.maximum(np.minimum(self.settled, most), 0))


class Scores(NamedTuple):
    """Scores of rows about one centre, what they may be off by on either side, and which rows are within
    the cells."""

    scores: Array  # [rows, orders]
    gaps: Array  # [rows, orders, 2], but for what axes leave
    loose: Array  # [rows, orders]: that
    inside: NDArray[np.bool_]  # [rows]

    def gap(self, order: int, side_of: int) -> Array:
        """What an order may be off by, but for what axes leave, on the side of another order's score."""
        side = (self.scores[:, side_of] < 0).astype(np.intp)
        return np.asarray(self.gaps[np.arange(len(side)), order, side])

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Scores that are farther from zero than they may be off by, [rows, orders]."""
        gaps = [self.gap(order, order) for order in range(self.scores.shape[1])]
        return np.asarray(np.abs(self.scores) > np.stack(gaps, axis=1) + self.loose)


def _tried(found: Scores, gates: tuple[float, ...]) -> NDArray[np.bool_]:
    """Which orders the gates let a row come to, [rows, orders]."""
    tried = [found.inside]
    for order, gate in enumerate(gates):
        ahead = np.abs(found.scores[:, order]) > gate * found.gap(order + 1, order)
        tried.append(tried[-1] & ahead)
    return np.stack(tried, axis=1)


def taylor_scores(
    node: ir.TaylorSum, leaf: int, rows: NDArray[Any], tables: Mapping[str, NDArray[Any]]
) -> Scores:
    """The scores of rows about one centre."""
    h = rows.astype(np.float64) - tables[node.centres][leaf]
    square = np.square(h).sum(axis=1)
    u = node.gamma * square
    orders, _, cells, _ = tables[node.gaps].shape
    place = u * tables[node.steps][leaf]
    inside = place < cells
    cell = np.where(inside, place, 0).astype(np.intp)
    fade = np.exp(-u)[:, None] if node.fades else np.ones((len(u), 1))
    gaps = tables[node.margins][:, leaf, None]
    gaps = gaps + u[:, None, None] * tables[node.gaps][:, leaf, cell].swapaxes(0, 1)
    sums, loose = np.zeros((2, len(h), orders))
    sums[:, 0] = tables[node.constants][leaf] + h @ tables[node.slopes][leaf]
    y = h
    if orders > 1 and tables[node.axes].ndim > 1:
        y = h @ tables[node.axes][leaf].T
        left = np.maximum((1 + node.slack) * square - np.square(y).sum(axis=1), 0.0)
        sums[:, 1] = tables[node.middles][leaf] * left
        loose[:, 1:] = fade * (products_left(y, left) @ tables[node.loose][:, leaf].T)
    if orders > 1:
        sums[:, 1] += quadratic(y, tables[node.squares][leaf])
    if orders > 2:
        sums[:, 2] = cubic(y, tables[node.cubes][leaf])
    return Scores(fade * np.cumsum(sums, axis=1) + tables[node.bias], gaps, loose, inside)


def products_left(y: Array, left: Array) -> Array:
    """|y|^2, z^2, |y|^2 z^2 and z^4 of rows, [rows, 4]."""
    along = np.square(y).sum(axis=1)
    return np.stack([along, left, along * left, np.square(left)], axis=1)


def quadratic(h: Array, squares: Array) -> Array:
    """Forms of the rows; the coefficients are a lower triangle row by row."""
    second, first = np.tril_indices(h.shape[1])
    return np.asarray((h[:, first] * h[:, second]) @ squares)


def cubic(h: Array, cubes: Array) -> Array:
    """Forms of the rows: for each h_c a quadratic form of those up to it."""
    second, first = np.tril_indices(h.shape[1])
    pairs = h[:, first] * h[:, second]
    out, at = np.zeros(len(h)), 0
    for c in range(h.shape[1]):
        size = (c + 1) * (c + 2) // 2
        out += h[:, c] * (pairs[:, :size] @ cubes[at : at + size])
        at += size
    return out
