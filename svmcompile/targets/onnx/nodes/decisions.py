"""Heads in ONNX: scores go in, labels or scores per class come out."""

from __future__ import annotations

import math

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.pairs import pair_indices
from svmcompile.targets.onnx.graph import DOUBLE, INDEX, Array
from svmcompile.targets.onnx.values import Values, build, build_needed


@build.register
def _(node: ir.OvrScores, values: Values) -> str:
    graph, pairs, signs = values.graph, values.names[node.pairs], pair_signs(node.n_classes)
    votes = _count(values, graph.op("Less", pairs, 0.0), -signs)  # zero counts for i
    # votes + c / (3 (|c| + 1)), with 3 c from the product and a third from the sum: fewer operators.
    confidence = graph.op("MatMul", pairs, 3.0 * signs)
    squashed = graph.op("Div", confidence, graph.op("Add", graph.op("Abs", confidence), 3.0))
    return graph.op("Gemm", squashed, np.eye(node.n_classes) / 3.0, votes)


@build.register
def _(node: ir.Vote, values: Values) -> str:
    pairs = values.names[node.pairs]
    decided = values.decided.get(pairs) if node.n_classes > 2 else None  # of one score, the sign decides
    return decided or winner(values, pairs, node.n_classes)


@build.register
def _(node: ir.ArgMax, values: Values) -> str:
    known = without_nan(values, values.names[node.scores])
    return values.graph.op("ArgMax", known, axis=1, keepdims=0)


@build.register
def _(node: ir.Threshold, values: Values) -> str:
    decided = values.decided.get(values.names[node.score])
    if decided and (node.positive, node.hit, node.miss) == (False, 0, 1):
        return decided
    score = values.column(values.names[node.score])
    hit = values.graph.op("Greater" if node.positive else "Less", score, 0.0)
    answers = [values.graph.constant(np.array(answer, np.int64)) for answer in (node.hit, node.miss)]
    return values.graph.op("Where", hit, *answers)


def winner(values: Values, pairs: str, n_classes: int) -> str:
    """The class with most votes."""
    wins = values.graph.op("Greater", pairs, 0.0)
    votes = _count(values, wins, pair_signs(n_classes))
    return values.graph.op("ArgMax", votes, axis=1, keepdims=0)


def without_nan(values: Values, scores: str) -> str:
    """Scores with minus infinity for NaN."""
    return values.graph.op("Where", values.graph.op("IsNaN", scores), -np.inf, scores)


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


@build.register
def _(node: ir.Guard, values: Values) -> str:
    graph, score = values.graph, values.names[node.score]
    unsure, rows = values.true_of(graph.op("Not", _sure(values, node, score)))
    part = values.of_rows(rows)
    build_needed(part, [node.exact])
    places, exact = graph.op("Transpose", unsure), part.names[node.exact]
    if values.types[node.exact].wide != values.types[node.score].wide:  # of one in double its sign alone
        exact = values.cast(graph.op("Sign", exact), values.type_of(score))
    return graph.op("ScatterND", score, places, exact)


def settled(values: Values, name: str) -> str:
    """The value that settles a sign: of a guard that goes on to double, what that has.

    How often a graph's float32 products are rounded on the way to their sum is not known.
    """
    guard = next((node for node in values.body if node.out == name and node.guards), None)
    if guard is None:
        return name
    score, exact = ir.operands(guard)
    return name if values.types[exact].wide == values.types[score].wide else exact


def _sure(values: Values, node: ir.Guard, score: str) -> str:
    """Whether each row's margin is at least the width; NaN is not."""
    width = values.scalar(node.width)
    if node.rule == "sign":
        return values.graph.op("GreaterOrEqual", values.graph.op("Abs", values.column(score)), width)
    n_scores = values.types[node.score].width
    if node.rule == "argmax":
        return _sure_of_largest(values, score, width, n_scores)
    return _sure_of_vote(values, score, width, math.isqrt(2 * n_scores) + 1)


def _sure_of_largest(values: Values, score: str, width: str, n_scores: int) -> str:
    """The largest is above each other score by the width; not by TopK, which needs rows to work on."""
    graph, known = values.graph, without_nan(values, score)
    largest = graph.op("ReduceMax", known, axes=(1,), keepdims=1)
    ahead = graph.op("GreaterOrEqual", graph.op("Sub", largest, score), width)
    place = graph.op("ArgMax", known, axis=1, keepdims=1)
    itself = graph.op("Equal", place, values.integers(*range(n_scores)))
    return _all(values, graph.op("Or", ahead, itself))


def _sure_of_vote(values: Values, score: str, width: str, n_classes: int) -> str:
    """Every pair of the winner is in its favour by the width; the other pairs do not matter."""
    graph = values.graph
    signs = pair_signs(n_classes).T  # [classes, pairs]
    label = winner(values, score, n_classes)
    mine, other = (graph.op("Gather", t, label, axis=0) for t in (signs, signs == 0))
    favour = graph.op("GreaterOrEqual", graph.op("Mul", score, mine), width)
    return _all(values, graph.op("Or", favour, other))


def _all(values: Values, truths: str) -> str:
    """[N, k] truths to [N]: are all of a row's true?"""
    least = values.graph.op("ReduceMin", values.cast(truths, INDEX), axes=(1,), keepdims=0)
    return values.cast(least, np.dtype(np.bool_))


@build.register
def _(node: ir.Reach, values: Values) -> str:
    """In double; the squared distance of a row that is not finite is NaN, and NaN is not beyond."""
    graph, x, centre = values.graph, values.names[node.x], values.tables[node.centre]
    h = values.wide_centred(x, centre)
    square = graph.op("MatMul", graph.op("Mul", h, h), np.ones((len(centre), 1)))
    known = values.poisoned(x, len(centre), square)
    beyond = graph.op("Greater", known, node.radius**2)
    return graph.op("Where", beyond, values.tables[node.far], values.names[node.score])


@build.register
def _(node: ir.Add, values: Values) -> str:
    return values.graph.op("Add", values.names[node.left], values.names[node.right])
