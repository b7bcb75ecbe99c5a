"""Walking lists of half-spaces: rows and tables go in, what each list says of each row comes out.

`interpret`, `bounds` and `cost` all read the same `Walk`, so they cannot disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kinds import Floats, Indices
from svmcompile.ir.node import At
from svmcompile.ir.pairs import classes_of, favour, pair_number

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Walk:
    """What happened to the rows: their scores, and which planes each was held against."""

    scores: Floats  # [rows, lists], as the node gives them
    tested: Flags  # [rows, planes]

    @property
    def tests(self) -> Indices:
        """Planes per row."""
        return np.asarray(self.tested.sum(axis=1))


def plane_rows(at: At) -> NDArray[Any]:
    """The planes [m, d], whatever their layout."""
    planes = at.planes
    if planes.ndim == 2:
        return np.asarray(planes)
    groups, d, lanes = planes.shape
    return np.asarray(planes.transpose(0, 2, 1).reshape(groups * lanes, d)[: len(at.answers)])


def walk_lists(at: At, h: Floats) -> Walk:
    """The walk of rows h = x - centre."""
    values = h @ plane_rows(at).astype(h.dtype).T
    return walk_hits(at, np.asarray(values > at.thresholds), h.dtype)


def walk_hits(at: At, hits: Flags, dtype: Any) -> Walk:
    """The walk of rows of which it is known [rows, planes] which half-spaces hold them."""
    starts = at.starts.astype(np.intp)
    scores = np.empty((len(hits), len(starts) - 1), dtype=dtype)
    tested = np.zeros_like(hits)
    for p, (first, end) in enumerate(pairwise(starts)):
        found = hits[:, first:end]
        tested[:, first:end] = np.cumsum(found, axis=1) - found == 0  # none before holds the row
        rows, planes = np.nonzero(found & tested[:, first:end])
        scores[:, p] = at.rest[p]
        scores[rows, p] = at.answers[first + planes]
    if at.order == "all":
        return Walk(scores, tested)
    scores, met = dag(scores)
    return Walk(scores, tested & np.repeat(met, np.diff(starts), axis=1))


def dag(scores: Floats) -> tuple[Floats, Flags]:
    """Pair scores in favour of the winner of the directed graph, and which pairs were looked at."""
    rows, n_classes = np.arange(len(scores)), classes_of(scores.shape[1])
    low, high = np.zeros(len(scores), dtype=np.intp), np.full(len(scores), n_classes - 1)
    met, sure = np.zeros(scores.shape, dtype=bool), np.ones(len(scores), dtype=bool)
    for _ in range(n_classes - 1):
        pair = pair_number(low, high, n_classes)
        value = scores[rows, pair]
        met[rows[sure], pair[sure]] = True
        sure &= value != 0
        low, high = np.where(value > 0, low, low + 1), np.where(value > 0, high - 1, high)
    return favour(n_classes).astype(scores.dtype)[low] * sure[:, None], met


def most_tests(at: At) -> int:
    """The most planes a row can be held against."""
    lengths = np.diff(at.starts.astype(np.intp))
    if at.order == "all":
        return int(lengths.sum())
    n_classes = classes_of(len(lengths))
    most = np.zeros((n_classes, n_classes), dtype=np.intp)  # from each pair of classes on
    for apart in range(1, n_classes):
        for low in range(n_classes - apart):
            high = low + apart
            after = max(most[low + 1, high], most[low, high - 1])
            most[low, high] = after + lengths[pair_number(low, high, n_classes)]
    return int(most[0, -1])
