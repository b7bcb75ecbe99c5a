"""tile_lists: planes of lists of half-spaces go into groups, for processors with vector instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.nodes import PlaneLists, TiledLists
from svmcompile.ir.program import Number

Tables = dict[str, NDArray[Any]]

LANES = {"f32": 8, "f64": 4}
# A group of planes costs as many instructions as its planes one by one, but no sum across lanes: that
# counts where rows are short. In long rows an early answer saves more than the sums.
MOST_FEATURES = 32


def tile_lists(node: PlaneLists, tables: Tables, number: Number) -> tuple[PlaneLists | TiledLists, Tables]:
    """The node with its planes in groups, or as it is where that would not pay."""
    planes, lanes = tables[node.planes], LANES[number]
    if planes.shape[1] > MOST_FEATURES or planes.dtype == np.float16:
        return node, tables
    lengths = np.diff(tables[node.starts].astype(np.int64))
    if node.order == "dag" and lengths.mean() < lanes / 2:
        return node, tables  # of each group, few planes would be looked at
    return _tiled(node), tables | {node.planes: groups(planes, lanes)}


def _tiled(node: PlaneLists) -> TiledLists:
    fields = (node.planes, node.thresholds, node.starts, node.answers, node.rest, node.centre)
    return TiledLists(node.out, node.x, *fields, node.order)


def groups(planes: NDArray[Any], lanes: int) -> NDArray[Any]:
    """[groups, d, lanes], filled up with zeros."""
    count, d = planes.shape
    filled = np.zeros((-(-count // lanes) * lanes, d), dtype=planes.dtype)
    filled[:count] = planes
    return np.ascontiguousarray(filled.reshape(-1, lanes, d).transpose(0, 2, 1))
