"""What a sum in blocks with jets means; a case of `run`. Every block of every row, for cost and tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array
from svmcompile.ir.meaning import Env, Tables, run
from svmcompile.ir.taylor_meaning import quadratic

CHUNK_VALUES = 1 << 21  # kernel values and products of features at a time


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


@run.register
def _(node: ir.JetSum, env: Env, tables: Tables) -> NDArray[Any]:
    x = env[node.x]
    found = jet_blocks(node, x, tables)
    stop = found.stop
    unsure = stop == found.scores.shape[1]
    score = found.scores[np.arange(len(x)), np.where(unsure, 0, stop)]
    return np.where(unsure, env[node.exact][:, 0], score)[:, None].astype(x.dtype)


def jet_blocks(node: ir.JetSum, rows: NDArray[Any], tables: Mapping[str, NDArray[Any]]) -> Blocks:
    """What every block says of rows."""
    d = rows.shape[1]
    step = max(1, CHUNK_VALUES // (len(tables[node.vectors]) + d * d))
    starts = range(0, len(rows), step) or range(1)
    parts = [_blocks(node, rows[at : at + step], tables) for at in starts]
    return Blocks(*map(np.concatenate, zip(*parts, strict=True)))


def _blocks(node: ir.JetSum, rows: NDArray[Any], tables: Mapping[str, NDArray[Any]]) -> Blocks:
    x = rows.astype(np.float64)
    h = x - tables[node.centre]
    with np.errstate(invalid="ignore", over="ignore"):
        u = node.kernel.gamma * np.square(h).sum(axis=1)
    finite = np.isfinite(u)
    x, h, u = (np.where(finite.reshape(-1, *[1] * (part.ndim - 1)), part, 0.0) for part in (x, h, u))
    cells = tables[node.gaps].shape[1]
    place = u * tables[node.steps][0]
    inside = finite & (place < cells)
    cell = np.where(inside, place, 0).astype(np.intp)
    terms = node.kernel.values(x, tables[node.vectors].astype(np.float64)) * tables[node.weights]
    ends = np.append(tables[node.ends].astype(np.int64), terms.shape[1])
    done, spread = (np.cumsum(part, axis=1)[:, ends - 1] for part in (terms, np.abs(terms)))
    inner = tables[node.constants] + h @ tables[node.slopes].T + quadratic(h, tables[node.squares].T)
    rest = np.column_stack([np.exp(-u)[:, None] * inner, np.zeros(len(x))])
    bounds = tables[node.margins][:, None] + u[:, None, None] * tables[node.gaps][:, cell].swapaxes(0, 1)
    rounding = tables[node.rounding]
    last = np.broadcast_to(rounding[1], (len(x), 1, 2))
    gaps = np.concatenate([bounds, last], axis=1) + rounding[0] * spread[:, :, None]
    return Blocks(tables[node.bias] + done + rest, gaps, inside, finite)
