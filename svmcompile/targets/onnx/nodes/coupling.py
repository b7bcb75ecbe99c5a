"""LIBSVM's coupling in ONNX: a loop of plain operators; rows stand still once they are near enough."""

from __future__ import annotations

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.coupling import TOLERANCE, sweeps_of
from svmcompile.ir.pairs import pair_indices
from svmcompile.targets.onnx.build import build
from svmcompile.targets.onnx.values import DOUBLE, Values


@build.register
def _(node: ir.Couple, values: Values) -> str:
    graph, k = values.graph, node.n_classes
    pairs = values.names[node.pairs]
    rows, own = _matrix(values, pairs, k)
    zeros = graph.constant(np.zeros((values.types[node.pairs].width, k)))
    start = graph.op("Add", graph.op("MatMul", pairs, zeros), values.scalar(1.0 / k))  # NaN stays NaN
    body = graph.nested()
    inside = values.within(body)
    active, after = _sweep(inside, rows, own, body.argument)
    # Not a sum: ONNX Runtime 1.16 refuses to reduce what has no rows.
    left = body.op("Size", body.op("NonZero", active))
    goes_on = body.op("Greater", left, body.constant(np.array(0, np.int64)))
    most = graph.constant(np.array(sweeps_of(k), np.int64))
    return graph.loop(most, start, body, goes_on, after, DOUBLE, width=k)


def _matrix(values: Values, pairs: str, k: int) -> tuple[list[str], list[str]]:
    """The rows [N, k] of the matrix Q, and its diagonal [N, 1] each."""
    graph, indices = values.graph, pair_indices(k)
    wins, losses = np.zeros((len(indices), k)), np.zeros((len(indices), k))
    places = np.zeros((k, k), dtype=np.int64)
    for pair, (i, j) in enumerate(indices):
        wins[pair, j] = losses[pair, i] = 1.0
        places[i, j] = places[j, i] = pair
    lose = graph.op("Sub", values.scalar(1.0), pairs)
    squares = [
        graph.op("MatMul", graph.op("Mul", p, p), graph.constant(table))
        for p, table in ((pairs, wins), (lose, losses))
    ]
    diagonal = graph.op("Add", *squares)
    across = graph.op("Neg", graph.op("Mul", pairs, lose))
    own = [graph.op("Gather", diagonal, values.integers(t), axis=1) for t in range(k)]
    rows = [
        graph.op(
            "Where",
            graph.constant(np.eye(k, dtype=bool)[t]),
            own[t],
            graph.op("Gather", across, values.integers(*places[t].tolist()), axis=1),
        )
        for t in range(k)
    ]
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
    far = graph.op("GreaterOrEqual", errors, values.scalar(TOLERANCE / k))
    count = graph.op("MatMul", values.cast(far, DOUBLE), ones)
    active = graph.op("Greater", count, values.scalar(0.0))
    for t in range(k):
        mine = graph.op("Gather", qp, values.integers(t), axis=1)
        step = graph.op("Div", graph.op("Sub", pqp, mine), own[t])
        scale = graph.op("Add", one, step)
        p = graph.op("Add", p, graph.op("Mul", step, graph.constant(np.eye(k)[t : t + 1])))
        p = graph.op("Div", p, scale)
        change = graph.op("Add", graph.op("Mul", step, own[t]), graph.op("Mul", two, mine))
        pqp = graph.op("Add", pqp, graph.op("Mul", step, change))
        pqp = graph.op("Div", graph.op("Div", pqp, scale), scale)
        qp = graph.op("Div", graph.op("Add", qp, graph.op("Mul", step, rows[t])), scale)
    return active, graph.op("Where", active, p, start)
