"""Heads that give probabilities, in ONNX: all in double, rounded when they leave.

LIBSVM's coupling is a loop of plain operators; rows stand still once they are near enough.
"""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import LEAST, MOST
from svmcompile.ir.nodes import operands
from svmcompile.ir.pairs import TOLERANCE, pair_indices, sweeps_of
from svmcompile.targets.onnx.graph import DOUBLE, Array
from svmcompile.targets.onnx.svm_operator import coupled, couples
from svmcompile.targets.onnx.values import Values, build


@build.register
def _(node: ir.Shifted, values: Values) -> str:
    return values.graph.op("Add", values.wide(values.names[node.scores]), values.tables[node.by])


@build.register
def _(node: ir.Sigmoid, values: Values) -> str:
    """With e = exp(-|z|): e / (1 + e) or 1 / (1 + e)."""
    graph, scores = values.graph, values.wide(values.names[node.scores])
    slopes, offsets = (values.tables[name] for name in (node.slopes, node.offsets))
    z = graph.op("Add", graph.op("Mul", scores, slopes), offsets)
    e = graph.op("Exp", graph.op("Neg", graph.op("Abs", z)))
    one = values.scalar(1.0)
    above = graph.op("Where", graph.op("GreaterOrEqual", z, 0.0), e, one)
    p = graph.op("Div", above, graph.op("Add", one, e))
    if node.floor:
        p = values.with_nan_of(z, values.clip(p, node.floor, 1.0 - node.floor))
    if couples(values, node.floor):
        values.couplings[p] = lambda k: coupled(values, scores, slopes, offsets, k)
    return p


@build.register
def _(node: ir.Softmax, values: Values) -> str:
    scores = values.wide(values.names[node.scores])
    return values.graph.op("Softmax", values.graph.op("Mul", scores, node.factor), axis=1)


@build.register
def _(node: ir.Isotonic, values: Values) -> str:
    scores = values.wide(values.names[node.scores])
    starts = values.tables[node.starts]
    columns = []
    for column in range(len(starts) - 1):
        part = slice(starts[column], starts[column + 1])
        x = values.graph.op("Gather", scores, values.integers(column), axis=1)
        lines = _along_lines(values, x, values.tables[node.knots][part], values.tables[node.levels][part])
        columns.append(lines)
    return values.graph.op("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]


def _along_lines(values: Values, x: str, knots: Array, levels: Array) -> str:
    """Between the last knot below x and the next; the ends are level."""
    graph = values.graph
    held = values.with_nan_of(x, values.clip(x, float(knots[0]), float(knots[-1])))
    below = count_true(values, graph.op("Less", knots[1:-1], held), len(knots) - 2)
    spans = np.diff(knots)
    slopes = np.diff(levels) / np.where(spans > 0, spans, np.inf)
    slope, start, level = (graph.op("Gather", table, below) for table in (slopes, knots[:-1], levels[:-1]))
    return graph.op("Add", graph.op("Mul", slope, graph.op("Sub", held, start)), level)


def count_true(values: Values, truths: str, width: int) -> str:
    """How many of a row's are true, [N, 1]; by a product, which does without rows too."""
    if not width:
        return values.integers(0)
    sums = _total(values, values.cast(truths, DOUBLE), width)
    return values.cast(sums, np.dtype(np.int64))


def _total(values: Values, tensor: str, width: int) -> str:
    """Sums over the last axis, which is kept."""
    return values.graph.op("MatMul", tensor, np.ones((width, 1)))


@build.register
def _(node: ir.Density, values: Values) -> str:
    """As many marks but the first as are not above the score tell its place."""
    graph, score, marks = values.graph, values.wide(values.names[node.score]), values.tables[node.marks]
    count = len(marks)
    places = np.arange(1, count + 1) / count
    places[-1] = 0.0
    met = graph.op("GreaterOrEqual", score, marks[1:])
    inlier = graph.op("Gather", graph.constant(places), count_true(values, met, count - 1))
    last, first = values.scalar(marks[-1]), values.scalar(marks[0])
    inlier = graph.op("Where", graph.op("Less", score, first), LEAST, inlier)
    inlier = graph.op("Where", graph.op("Greater", score, last), MOST, inlier)
    inlier = values.with_nan_of(score, inlier)
    return graph.op("Concat", graph.op("Sub", 1.0, inlier), inlier, axis=1)


@build.register
def _(node: ir.Complement, values: Values) -> str:
    graph, p = values.graph, values.names[node.chances]
    width = values.types[node.chances].width
    both = [graph.op("Unsqueeze", q, values.integers(2)) for q in (graph.op("Sub", 1.0, p), p)]
    return graph.op("Reshape", graph.op("Concat", *both, axis=2), values.integers(0, 2 * width))


@build.register
def _(node: ir.Shares, values: Values) -> str:
    graph, width = values.graph, values.types[node.chances].width
    size = width // node.groups
    parts = graph.op("Reshape", values.names[node.chances], values.integers(0, node.groups, size))
    total = _total(values, parts, size)
    none = graph.op("Equal", total, 0.0)
    shares = graph.op("Where", none, node.empty, graph.op("Div", parts, total))
    return graph.op("Reshape", shares, values.integers(0, width))


@build.register
def _(node: ir.Mean, values: Values) -> str:
    """Added up in order, so that ties stay ties; a product could not be divided, since ONNX Runtime
    makes one operator of the two, whose divisor is a float32."""
    graph, p = values.graph, values.names[node.chances]
    size = values.types[node.out].width
    runs = [range(at * size, (at + 1) * size) for at in range(node.groups)]
    parts = [graph.op("Gather", p, values.integers(*run), axis=1) for run in runs]
    total = parts[0]
    for part in parts[1:]:
        total = graph.op("Add", total, part)
    return graph.op("Div", total, float(node.groups))


@build.register
def _(node: ir.Couple, values: Values) -> str:
    graph, k = values.graph, node.n_classes
    pairs = values.names[node.pairs]
    if pairs in values.couplings and not any(node.out in operands(other) for other in values.body):
        return values.couplings[pairs](k)  # nothing is decided by them
    rows, own = _matrix(values, pairs, k)
    zeros = graph.constant(np.zeros((values.types[node.pairs].width, k)))
    start = graph.op("Add", graph.op("MatMul", pairs, zeros), 1.0 / k)  # NaN stays NaN
    body = graph.nested(DOUBLE, k)
    inside = values.within(body)
    active, after = _sweep(inside, rows, own, body.argument)
    goes_on = inside.any(active)
    return graph.loop(graph.constant(np.array(sweeps_of(k), np.int64)), start, body, goes_on, after)


def _matrix(values: Values, pairs: str, k: int) -> tuple[list[str], list[str]]:
    """The rows [N, k] of the matrix Q, and its diagonal [N, 1] each."""
    graph, indices = values.graph, pair_indices(k)
    wins, losses = np.zeros((len(indices), k)), np.zeros((len(indices), k))
    places = np.zeros((k, k), dtype=np.int64)
    for pair, (i, j) in enumerate(indices):
        wins[pair, j] = losses[pair, i] = 1.0
        places[i, j] = places[j, i] = pair
    lose = graph.op("Sub", 1.0, pairs)
    squares = [
        graph.op("MatMul", graph.op("Mul", p, p), table) for p, table in ((pairs, wins), (lose, losses))
    ]
    diagonal = graph.op("Add", *squares)
    across = graph.op("Neg", graph.op("Mul", pairs, lose))
    own = [graph.op("Gather", diagonal, values.integers(t), axis=1) for t in range(k)]
    rows = []
    for t in range(k):
        itself = graph.constant(np.eye(k, dtype=bool)[t])
        others = graph.op("Gather", across, values.integers(*places[t].tolist()), axis=1)
        rows.append(graph.op("Where", itself, own[t], others))
    return rows, own


def _sweep(values: Values, rows: list[str], own: list[str], start: str) -> tuple[str, str]:
    """Which rows are not near enough yet, [N, 1], and p after one more sweep for them."""
    graph, k = values.graph, len(rows)
    ones = graph.constant(np.ones((k, 1)))
    one, two = values.scalar(1.0), values.scalar(2.0)
    p = start
    qp = graph.op("Concat", *(graph.op("MatMul", graph.op("Mul", row, p), ones) for row in rows), axis=1)
    pqp = graph.op("MatMul", graph.op("Mul", p, qp), ones)
    errors = graph.op("Abs", graph.op("Sub", qp, pqp))
    far = graph.op("GreaterOrEqual", errors, TOLERANCE / k)
    count = graph.op("MatMul", values.cast(far, DOUBLE), ones)
    active = graph.op("Greater", count, 0.0)
    for t in range(k):
        mine = graph.op("Gather", qp, values.integers(t), axis=1)
        step = graph.op("Div", graph.op("Sub", pqp, mine), own[t])
        scale = graph.op("Add", one, step)
        p = graph.op("Add", p, graph.op("Mul", step, np.eye(k)[t : t + 1]))
        p = graph.op("Div", p, scale)
        change = graph.op("Add", graph.op("Mul", step, own[t]), graph.op("Mul", two, mine))
        pqp = graph.op("Add", pqp, graph.op("Mul", step, change))
        pqp = graph.op("Div", graph.op("Div", pqp, scale), scale)
        qp = graph.op("Div", graph.op("Add", qp, graph.op("Mul", step, rows[t])), scale)
    return active, graph.op("Where", active, p, start)
