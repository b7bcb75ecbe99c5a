"""Sums in blocks whose rest is a jet: every block of every row, for meaning, cost and tests."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import quadratic
from svmcompile.ir.row_functions import chunks

FLAGS = ("inside", "finite")
MOST_VALUES = 1 << 21  # kernel values and products of features at a time
JET_CHECK_FLOPS = 8  # a jet's test: exponential times polynomial, bound, comparison


class Blocks(NamedTuple):
    """Scores of rows after each jet and after all vectors, and what they may be off by on either side."""

    scores: Array  # [rows, jets + 1]
    gaps: Array  # [rows, jets + 1, 2]
    inside: NDArray[np.bool_]  # [rows], of the cells
    finite: NDArray[np.bool_]  # [rows]
    gate: float
    bounds: Array  # [rows, jets, 2], of gaps those that a gate looks at

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Scores that are farther from zero than they may be off by, tried or not, [rows, jets + 1]."""
        side = (self.scores < 0).astype(np.intp)[:, :, None]
        clear = np.abs(self.scores) > np.take_along_axis(self.gaps, side, axis=2)[:, :, 0]
        return np.asarray(clear & self._reached)

    @property
    def _reached(self) -> NDArray[np.bool_]:
        """Jets are for rows within the cells, all vectors for rows that are finite."""
        jets = self.scores.shape[1] - 1
        return np.column_stack([np.repeat(self.inside[:, None], jets, axis=1), self.finite])

    @property
    def tried(self) -> NDArray[np.bool_]:
        """Which scores the gate lets a row come to, [rows, jets + 1]."""
        tried, last = self._reached, self.scores[:, 0]
        every = np.arange(len(last))
        for jet in range(1, tried.shape[1] - 1):
            bound = self.bounds[every, jet, (last < 0).astype(np.intp)]
            tried[:, jet] &= np.abs(last) > self.gate * bound
            last = np.where(tried[:, jet], self.scores[:, jet], last)
        return tried

    @property
    def stop(self) -> NDArray[np.intp]:
        """The first score that is tried and sure; one more than there are where none is."""
        sure = self.tried & self.clear
        return np.asarray(np.where(sure.any(axis=1), sure.argmax(axis=1), sure.shape[1]), dtype=np.intp)


def jet_blocks(at: At, rows: NDArray[Any]) -> Blocks:
    """What every block says of rows."""
    values = len(at.vectors) + rows.shape[1] ** 2
    parts = [_blocks(at, rows[part]) for part in chunks(len(rows), values, MOST_VALUES)]
    scores, gaps, bounds = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("scores", "gaps", "bounds")
    )
    inside, finite = (np.concatenate([getattr(part, name) for part in parts]) for name in FLAGS)
    return Blocks(scores, gaps, inside, finite, at.gate, bounds)


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
    return Blocks(at.bias + done + rest, gaps, inside, finite, at.gate, bounds)


def met_and_tried(found: Blocks, ends: Array) -> tuple[Array, Array]:
    """Kernel values that each row meets, and jets it tries."""
    last = len(ends)
    met = np.where(found.finite, np.append(ends, ends[-1:])[np.minimum(found.stop, last)], 0)
    upto = np.arange(last) <= np.minimum(found.stop, last)[:, None]
    return met, (found.tried & upto)[:, : last - 1].sum(axis=1)


def jet_flops(d: int) -> tuple[int, int]:
    """Of what all jets of a row share, and of one."""
    return 3 * d + 22, 2 * d + d * (d + 3) + JET_CHECK_FLOPS
