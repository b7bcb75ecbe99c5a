"""prune: nodes a list can do without, from last to first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.h1_tree.nodes import HalfSpace, PlaneList
from svmcompile.accelerate.h1_tree.sample import Sample


def prune(found: PlaneList, sample: Sample, tolerance: float = 0.0) -> PlaneList:
    """Drops a node if the errors on the sample do not grow, or by at most that share of the rows.

    What is dropped may make another node idle, so it goes over the list until nothing changes.
    """
    rows = sample.real
    holds = [node.holds(rows.points) for node in found.nodes]
    allowed = _errors(found.nodes, holds, rows.signs, found.rest) + int(tolerance * len(rows))
    kept = list(range(len(found.nodes)))
    while True:
        before = len(kept)
        for index in sorted(kept, reverse=True):
            if len(kept) == 1:
                break
            without = [one for one in kept if one != index]
            nodes, some = [found.nodes[one] for one in without], [holds[one] for one in without]
            if _errors(nodes, some, rows.signs, found.rest) <= allowed:
                kept = without
        if len(kept) == before:
            return PlaneList(tuple(found.nodes[one] for one in kept), found.rest)


def _errors(
    nodes: list[HalfSpace] | tuple[HalfSpace, ...],
    holds: list[NDArray[np.bool_]],
    signs: NDArray[np.int8],
    rest: int,
) -> int:
    """Rows that get another sign than theirs."""
    said = np.full(len(signs), rest, dtype=np.int8)
    for node, held in zip(reversed(nodes), reversed(holds), strict=True):
        said[held] = node.answer
    return int((said != signs).sum())
