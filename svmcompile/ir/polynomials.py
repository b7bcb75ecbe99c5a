"""Taylor polynomials about centres, and sums in blocks whose rest is one: what every order says of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import chunks
from svmcompile.ir.node import At

MOST_VALUES = 1 << 21  # kernel values and products of features at a time
JET_CHECK_FLOPS = 8  # a jet's test: exponential times polynomial, bound, comparison


def taylor_orders(at: At, rows: NDArray[Any], leaf: NDArray[Any]) -> Orders:
    """What every order says of rows, each about its own centre."""
    orders = len(at.margins)
    scores, (sure, tried) = np.zeros((len(rows), orders)), np.zeros((2, len(rows), orders), dtype=bool)
    for own in np.unique(leaf):
        some = np.flatnonzero(leaf == own)
        about = taylor_scores(at, int(own), rows[some])
        scores[some], tried[some] = about.scores, _tried(about, at.gates)
        sure[some] = tried[some] & about.clear
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


def taylor_scores(at: At, leaf: int, rows: NDArray[Any]) -> Scores:
    """The scores of rows about one centre."""
    h = rows.astype(np.float64) - at.centres[leaf]
    square = np.square(h).sum(axis=1)
    u = at.gamma * square
    orders, _, cells, _ = at.gaps.shape
    place = u * at.steps[leaf]
    inside = place < cells
    cell = np.where(inside, place, 0).astype(np.intp)
    fade = np.exp(-u)[:, None] if at.fades else np.ones((len(u), 1))
    gaps = at.margins[:, leaf, None]
    gaps = gaps + u[:, None, None] * at.gaps[:, leaf, cell].swapaxes(0, 1)
    sums, loose = np.zeros((2, len(h), orders))
    sums[:, 0] = at.constants[leaf] + h @ at.slopes[leaf]
    y = h
    if orders > 1 and at.axes.ndim > 1:
        y = h @ at.axes[leaf].T
        left = np.maximum((1 + at.slack) * square - np.square(y).sum(axis=1), 0.0)
        sums[:, 1] = at.middles[leaf] * left
        loose[:, 1:] = fade * (products_left(y, left) @ at.loose[:, leaf].T)
    if orders > 1:
        sums[:, 1] += quadratic(y, at.squares[leaf])
    if orders > 2:
        sums[:, 2] = cubic(y, at.cubes[leaf])
    return Scores(fade * np.cumsum(sums, axis=1) + at.bias, gaps, loose, inside)


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


def taylor_flops(at: At) -> np.ndarray:
    """Flops up to each order."""
    d = at.x.width
    r, turned = d, 0
    if at.axes.ndim > 1:
        r = at.axes.shape[1]
        turned = 2 * r * d + 2 * r + 12
    first = 5 * d + (24 if at.fades else 10)
    second = first + turned + r * (r + 3) + 6
    third = second + r * (r + 1) * (r + 2) // 3 + r * (r + 1) + 6
    return np.array([first, second, third][: len(at.margins)], dtype=np.float64)


class Blocks(NamedTuple):
    """Scores of rows after each jet and after all vectors, and what they may be off by on either side."""

    scores: Array  # [rows, jets + 1]
    gaps: Array  # [rows, jets + 1, 2]
    inside: NDArray[np.bool_]  # [rows], of the cells
    finite: NDArray[np.bool_]  # [rows]

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Scores that are farther from zero than they may be off by, [rows, jets + 1]."""
        side = (self.scores < 0).astype(np.intp)[:, :, None]
        clear = np.abs(self.scores) > np.take_along_axis(self.gaps, side, axis=2)[:, :, 0]
        return np.asarray(clear & self.tried)

    @property
    def tried(self) -> NDArray[np.bool_]:
        """Jets are for rows within the cells, all vectors for rows that are finite, [rows, jets + 1]."""
        jets = self.scores.shape[1] - 1
        return np.column_stack([np.repeat(self.inside[:, None], jets, axis=1), self.finite])

    @property
    def stop(self) -> NDArray[np.intp]:
        """The first score that is sure; one more than there are where none is."""
        sure = self.clear
        return np.asarray(np.where(sure.any(axis=1), sure.argmax(axis=1), sure.shape[1]), dtype=np.intp)


def jet_blocks(at: At, rows: NDArray[Any]) -> Blocks:
    """What every block says of rows."""
    values = len(at.vectors) + rows.shape[1] ** 2
    parts = [_blocks(at, rows[part]) for part in chunks(len(rows), values, MOST_VALUES)]
    return Blocks(*map(np.concatenate, zip(*parts, strict=True)))


def _blocks(at: At, rows: NDArray[Any]) -> Blocks:
    x = rows.astype(np.float64)
    h = x - at.centre
    with np.errstate(invalid="ignore", over="ignore"):
        u = at.kernel.gamma * np.square(h).sum(axis=1)
    finite = np.isfinite(u)
    x, h, u = (np.where(finite.reshape(-1, *[1] * (part.ndim - 1)), part, 0.0) for part in (x, h, u))
    cells = at.gaps.shape[1]
    place = u * at.steps[0]
    inside = finite & (place < cells)
    cell = np.where(inside, place, 0).astype(np.intp)
    terms = at.kernel.values(x, at.vectors.astype(np.float64)) * at.weights
    ends = np.append(at.ends.astype(np.int64), terms.shape[1])
    done, spread = (np.cumsum(part, axis=1)[:, ends - 1] for part in (terms, np.abs(terms)))
    inner = at.constants + h @ at.slopes.T + quadratic(h, at.squares.T)
    rest = np.column_stack([np.exp(-u)[:, None] * inner, np.zeros(len(x))])
    bounds = at.margins[:, None] + u[:, None, None] * at.gaps[:, cell].swapaxes(0, 1)
    rounding = at.rounding
    last = np.broadcast_to(rounding[1], (len(x), 1, 2))
    gaps = np.concatenate([bounds, last], axis=1) + rounding[0] * spread[:, :, None]
    return Blocks(at.bias + done + rest, gaps, inside, finite)


def count_met_and_tried(found: Blocks, ends: Array) -> tuple[Array, Array]:
    """Kernel values that each row meets, and jets it tries."""
    last = len(ends)
    met = np.where(found.finite, np.append(ends, ends[-1:])[np.minimum(found.stop, last)], 0)
    upto = np.arange(last) <= np.minimum(found.stop, last)[:, None]
    return met, (found.tried & upto)[:, : last - 1].sum(axis=1)


def jet_flops(d: int) -> tuple[int, int]:
    """Of what all jets of a row share, and of one."""
    return 3 * d + 22, 2 * d + d * (d + 3) + JET_CHECK_FLOPS
