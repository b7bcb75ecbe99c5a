"""Lists of half-spaces in ONNX: rows go in, one score per list comes out.

All planes are multiplied with every row at once; the tree operator then walks
one chain of tests per list. For a directed graph of pairs, the scores of the
lists lead from pair to pair, one step per class that leaves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.pairs import classes_of, favour, pair_number
from svmcompile.targets.onnx.graph import DOUBLE, INDEX
from svmcompile.targets.onnx.nodes.trees import above_planes
from svmcompile.targets.onnx.tree_operator import walk_chains
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.PlaneLists, values: Values) -> str:
    tables = values.tables
    h = values.centred(values.names[node.x], tables[node.centre])
    above = above_planes(values, h, tables[node.planes], tables[node.thresholds])
    said = walk_chains(values, above, tables[node.starts], tables[node.answers], tables[node.rest])
    scores = values.cast(said, DOUBLE)  # the operator gives float whatever the precision
    return scores if node.order == "all" else _dag(values, scores, classes_of(len(tables[node.rest])))


def _dag(values: Values, scores: str, n_classes: int) -> str:
    """Scores of pairs in favour of the last class left; all zero where a list on the way is."""
    graph, (pair, won, lost) = values.graph, _steps(n_classes)
    tables = [graph.constant(table) for table in (won, lost)]
    zero = values.scalar(0.0)
    # Every row starts at classes 0 and k - 1; a column of the scores gives the number of rows.
    column = graph.op("Slice", scores, *(values.integers(n) for n in (0, 1, 1)))
    place = values.cast(graph.op("Mul", column, zero), INDEX)
    place = graph.op("Add", place, values.index(n_classes - 1))
    sure = ""
    for _ in range(n_classes - 1):
        score = graph.op("GatherElements", scores, values.by(pair, place), axis=1)
        told = graph.op("Not", graph.op("Equal", score, zero))
        sure = graph.op("And", sure, told) if sure else told
        ways = [graph.op("Gather", table, place, axis=0) for table in tables]
        place = graph.op("Where", graph.op("Greater", score, zero), *ways)
    winner = graph.op("Squeeze", place, values.integers(1))
    signs = np.repeat(favour(n_classes), n_classes, axis=0)  # by place; every walk ends at one with a = b
    return graph.op("Where", sure, values.by(signs, winner), zero)


def _steps(n_classes: int) -> list[NDArray[np.int32]]:
    """By place a * k + b: the pair looked at, the place if its first class wins, and if the second does."""
    place = np.arange(n_classes * n_classes)
    a, b = place // n_classes, place % n_classes
    ways = (pair_number(a, b, n_classes), 0), (place - 1, place), (place + n_classes, place)
    return [np.where(a < b, on_the_way, at_the_end).astype(INDEX) for on_the_way, at_the_end in ways]
