"""Bounded sums in ONNX, in double: a few chunks of vectors, each for the rows that are not sure yet.

Chunks end where stages do and grow; a graph of more, smaller chunks spends its
time on operators.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At
from svmcompile.ir.stages import estimate_of, lower_triangle
from svmcompile.targets.onnx.graph import Array
from svmcompile.targets.onnx.nodes.sums import is_affine, kernel_values, power
from svmcompile.targets.onnx.values import Values, build, build_needed

FIRST_CHUNK = 12  # vectors, at least
GROWTH = 4.0  # of a chunk's end over the one before, at least
MOST_CHUNKS = 4


@build.register
def _(node: ir.Widen, values: Values) -> str:
    return values.wide(values.names[node.x])


@build.register
def _(node: ir.BoundedSum, values: Values) -> str:
    if is_affine(node.kernel) or node.kernel.kind == "precomputed":  # which has no values left to save
        build_needed(values, [node.exact])
        return values.names[node.exact]
    inside = values.in_double()
    x, vectors = inside.wide(values.names[node.x]), values.tables[node.vectors]
    poison = inside.graph.op("MatMul", x, inside.graph.constant(np.zeros((vectors.shape[1], 1))))
    centre = vectors.mean(axis=0) if node.kernel.kind == "rbf" else np.zeros(vectors.shape[1])
    rows = _Rows(inside.wide_centred(x, centre), poison, *_measures(inside, node, x))
    return _Sum(node, vectors - centre, _chunks(values.tables[node.ends])).result(inside, rows, 0, "")


def of_all(values: Values, node: ir.BoundedSum | ir.JetSum, met: str, size: str) -> tuple[str, str]:
    """Score and error from the kernel values of all vectors."""
    graph, tables = values.graph, values.tables
    weights, rounding = tables[node.weights], tables[node.rounding]
    score = values.product(met, weights[None], tables[node.bias])
    sizes = graph.op("Abs", met)
    spread = graph.op("MatMul", sizes, rounding[0] * np.abs(weights)[:, None])
    return score, graph.op("Add", spread, graph.op("Mul", rounding[1], size))


def exact_where(values: Values, exact: str, score: str, sure: str) -> str:
    """The score where it is sure, else the exact one."""
    places, rows = values.true_of(values.graph.op("Not", values.column(sure)))
    part = values.of_rows(rows)
    build_needed(part, [exact])
    return values.put(score, places, part.names[exact])


def _chunks(ends: Array) -> list[int]:
    """The stages that end chunks: growing, the last among them."""
    kept: list[int] = []
    wanted = float(FIRST_CHUNK)
    for stage, end in enumerate(ends.tolist()):
        if end >= wanted and len(kept) < MOST_CHUNKS - 1:
            kept.append(stage)
            wanted = GROWTH * end
    return kept if kept and kept[-1] == len(ends) - 1 else [*kept, len(ends) - 1]


def _measures(values: Values, node: ir.BoundedSum, x: str) -> tuple[str, str]:
    """kernel(x, x) and the size of a row's kernel values, [N, 1]."""
    graph, kernel = values.graph, node.kernel
    if kernel.kind == "rbf":
        return values.scalar(1.0), values.scalar(1.0)
    ones = graph.constant(np.ones((values.tables[node.vectors].shape[1], 1)))
    norm = graph.op("MatMul", graph.op("Mul", x, x), ones)

    def raised(square: str) -> str:
        scaled = graph.op("Mul", square, kernel.gamma)
        return power(values, graph.op("Add", scaled, kernel.coef0), kernel.degree)

    root = graph.op("Sqrt", norm)
    reached = graph.op("Mul", root, graph.op("Max", root, node.reach))
    return raised(norm), graph.op("Max", 1.0, raised(reached))


@dataclass(frozen=True, slots=True)
class _Rows:
    """Tensors of the rows that are not sure yet."""

    x: str  # as the kernel takes it
    poison: str  # NaN for rows that are not finite, else zero
    own: str
    size: str

    def some(self, values: Values, rows: str) -> _Rows:
        """Those at the indices; what is one number for all rows stays."""
        one = values.scalar(1.0)
        own, size = (name if name == one else values.gather(name, rows) for name in (self.own, self.size))
        return _Rows(values.gather(self.x, rows), values.gather(self.poison, rows), own, size)


@dataclass(frozen=True, slots=True)
class _Sum:
    """A bounded sum whose chunks end with some of its stages."""

    node: ir.BoundedSum
    vectors: Array
    chunks: list[int]

    def result(self, values: Values, rows: _Rows, chunk: int, met: str) -> str:
        """The value of rows that have met the kernel values `met`, [N, 1]."""
        graph, node, ends = values.graph, self.node, values.tables[self.node.ends].astype(np.int64)
        start = int(ends[self.chunks[chunk - 1]]) if chunk else 0
        last = chunk == len(self.chunks)
        end = len(self.vectors) if last else int(ends[self.chunks[chunk]])
        if end > start:
            fresh = kernel_values(values, rows.x, self.vectors[start:end], node.kernel)
            met = graph.op("Concat", met, fresh, axis=1) if met else fresh
        if last:
            score, error = of_all(values, node, met, rows.size)
        else:
            score, error = self._staged(values, rows, met, self.chunks[chunk])
        score = graph.op("Add", score, rows.poison)
        if last and node.tolerance >= 0:
            return score
        if last:
            return exact_where(values, node.exact, score, self._sure(values, score, error))
        places, open_ = values.true_of(graph.op("Not", values.column(self._sure(values, score, error))))
        part = values.of_rows(open_)
        rest = self.result(part, rows.some(values, open_), chunk + 1, values.gather(met, open_))
        return values.put(score, places, rest)

    def _sure(self, values: Values, score: str, error: str) -> str:
        if self.node.tolerance >= 0:
            return values.graph.op("LessOrEqual", error, self.node.tolerance)
        return values.graph.op("Greater", values.graph.op("Abs", score), error)

    def _staged(self, values: Values, rows: _Rows, met: str, stage: int) -> tuple[str, str]:
        """Score and error of a stage."""
        graph, node, tables = values.graph, self.node, values.tables
        end, rank = int(tables[node.ends][stage]), len(tables[node.projection])
        has = min(end, rank)
        triangle = np.zeros((end, has))
        triangle[:has] = lower_triangle(tables[node.coordinates], has).T
        estimate = estimate_of(At(node, tables), stage)
        # One product for the coordinates and the score.
        both = graph.op("MatMul", met, np.column_stack([triangle, estimate]))
        score, rest = both, rows.own
        if has:
            q, score = graph.ops("Split", both, values.integers(has, 1), outputs=2, axis=1)
            rest = graph.op("Sub", rows.own, graph.op("ReduceSumSquare", q, axes=(1,), keepdims=1))
        bounds = (node.residuals, node.slacks, node.margins)
        residual, slack, margin = (values.scalar(tables[name][stage]) for name in bounds)
        slack = graph.op("Mul", slack, graph.op("Mul", rows.size, rows.size))
        left = graph.op("Add", graph.op("Max", rest, 0.0), slack)
        gap = graph.op("Mul", residual, graph.op("Sqrt", left))
        error = graph.op("Add", gap, graph.op("Mul", margin, rows.size))
        return graph.op("Add", score, tables[node.bias]), error
