"""Heads in ONNX: scores go in, labels or scores per class come out."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.pairs import pair_indices
from svmcompile.targets.onnx.build import build
from svmcompile.targets.onnx.values import DOUBLE, Array, Values


@build.register
def _(node: ir.OvrScores, values: Values) -> str:
    graph, pairs, signs = values.graph, values.names[node.pairs], pair_signs(node.n_classes)
    votes = _count(values, graph.op("Less", pairs, values.scalar(0.0)), -signs)  # zero counts for i
    confidence = graph.op("MatMul", pairs, graph.constant(signs))
    size = graph.op("Add", graph.op("Abs", confidence), values.scalar(1.0))
    squashed = graph.op("Div", confidence, graph.op("Mul", size, values.scalar(3.0)))
    return graph.op("Add", votes, squashed)


@build.register
def _(node: ir.Vote, values: Values) -> str:
    return winner(values, values.names[node.pairs], node.n_classes)


@build.register
def _(node: ir.ArgMax, values: Values) -> str:
    known = without_nan(values, values.names[node.scores])
    return values.graph.op("ArgMax", known, axis=1, keepdims=0)


@build.register
def _(node: ir.Threshold, values: Values) -> str:
    score = values.column(values.names[node.score])
    hit = values.graph.op("Greater" if node.positive else "Less", score, values.scalar(0.0))
    answers = [values.graph.constant(np.array(answer, np.int64)) for answer in (node.hit, node.miss)]
    return values.graph.op("Where", hit, *answers)


def winner(values: Values, pairs: str, n_classes: int) -> str:
    """The class with most votes."""
    wins = values.graph.op("Greater", pairs, values.scalar(0.0))
    votes = _count(values, wins, pair_signs(n_classes))
    return values.graph.op("ArgMax", votes, axis=1, keepdims=0)


def without_nan(values: Values, scores: str) -> str:
    """Scores with minus infinity for NaN."""
    return values.graph.op("Where", values.graph.op("IsNaN", scores), values.scalar(-np.inf), scores)


def pair_signs(n_classes: int) -> Array:
    """Row of the pair (i, j): +1 for class i, -1 for class j."""
    signs = np.zeros((len(pair_indices(n_classes)), n_classes))
    for row, (i, j) in enumerate(pair_indices(n_classes)):
        signs[row, i], signs[row, j] = 1.0, -1.0
    return signs


def _count(values: Values, wins: str, signs: Array) -> str:
    """Votes per class: a pair that wins counts for the class at +1 in its row of signs, else for -1's."""
    votes_if_all_lose = (signs < 0).sum(axis=0).astype(np.float64)
    return values.product(values.cast(wins, DOUBLE), signs.T, votes_if_all_lose)
