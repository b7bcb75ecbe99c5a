"""Lists of half-spaces as tables: what lists become in a program, or are held against rows with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.narrow import narrow
from svmcompile.accelerate.h1_tree.nodes import HalfSpace, PlaneList
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import SPARSE_ZEROS, Array
from svmcompile.ir.kinds import Order
from svmcompile.ir.node import At
from svmcompile.ir.shift import nearest_float32
from svmcompile.ir.walks import Walk, walk_hits

OUT = "lists"
SOME_ROWS = 1000  # tell whether rows are mostly zeros
NAMES = ("list_planes", "list_thresholds", "list_starts", "list_answers", "list_rest", "list_centre")


@dataclass(frozen=True, eq=False)
class Lists:
    """The lists of all scores, with their planes about a centre."""

    lists: tuple[PlaneList, ...]
    order: Order = "all"

    @property
    def nodes(self) -> list[HalfSpace]:
        return [node for one in self.lists for node in one.nodes]

    @property
    def starts(self) -> NDArray[np.int32]:
        return np.concatenate([[0], np.cumsum([len(one.nodes) for one in self.lists])]).astype(np.int32)

    @property
    def planes(self) -> Array:
        return np.array([node.plane for node in self.nodes])

    def node(self, x: str) -> ir.PlaneLists:
        return ir.PlaneLists(OUT, x, *NAMES, self.order)

    def tables(self, width: int, centre: Array, dtype: str) -> dict[str, NDArray[Any]]:
        """Tables of the node; without any plane there is one that holds no row."""
        nodes, starts = self.nodes, self.starts
        if not nodes:
            nodes, starts = [HalfSpace(np.zeros(width), 1.0, 1, 1.0)], np.append(starts[:-1], 1)
        planes = np.array([node.plane for node in nodes])
        stored = narrow(planes, dtype, "planes")
        thresholds = np.array([node.threshold for node in nodes]) - planes @ centre
        tables = (
            stored.stored,
            thresholds / stored.units,
            starts.astype(np.int32),
            np.array([float(node.answer) for node in nodes]),
            np.array([float(one.rest) for one in self.lists]),
            centre,
        )
        return dict(zip(NAMES, tables, strict=True))

    def walk(self, hits: NDArray[np.bool_]) -> Walk:
        """What becomes of rows of which it is known [rows, planes] which half-spaces hold them."""
        answers = np.array([float(node.answer) for node in self.nodes])
        rest = np.array([float(one.rest) for one in self.lists])
        tables = {"list_starts": self.starts, "list_answers": answers, "list_rest": rest}
        return walk_hits(At(self.node("x"), tables), hits, np.float64)


def centre_of(points: NDArray[np.floating[Any]]) -> Array:
    """What planes are taken about: the rows' mean as float32 numbers, or zero if most of them is zero."""
    if np.mean(points[:: -(-len(points) // SOME_ROWS)] == 0) >= SPARSE_ZEROS:
        return np.zeros(points.shape[1])
    return nearest_float32(points.mean(axis=0, dtype=np.float64))
