"""Sums of leaves in ONNX: rows and the leaf of each go in, the scores of that leaf come out.

The rows of each leaf are gathered, meet the leaf's vectors in one product, and are put back. Few
leaves stand in the graph one after the other; many are taken by a loop over those that have rows.
A leaf without vectors is a constant, gathered by the number of the leaf.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import EmitError
from svmcompile.ir import leaf_layout as layout
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import At
from svmcompile.ir.pairs import pair_weights
from svmcompile.targets.onnx.graph import DOUBLE, Array
from svmcompile.targets.onnx.nodes.decisions import pair_signs
from svmcompile.targets.onnx.nodes.sums import Folded, folded_kernel, is_affine
from svmcompile.targets.onnx.values import Values, build

MOST_UNROLLED = 64  # leaves; with more the graph grows large, and a loop costs little beside them


@build.register
def _(node: ir.LeafSums, values: Values) -> str:
    tables = values.tables
    own = list(layout.leaves(At(node, tables)))
    parts = [_part(node, leaf, tables) for leaf in own if leaf.vectors.stop > leaf.vectors.start]
    out = values.by(_constants(node, own, tables), values.names[node.leaf])
    if parts:
        work = _Work(values, node, _folded(values, node))
        out = work.build_loop(parts, out) if len(parts) > MOST_UNROLLED else work.unrolled(parts, out)
    return values.poisoned(values.names[node.x], values.types[node.x].width, out)


@build.register
def _(node: ir.CsrLeaves, values: Values) -> str:
    raise EmitError(f"leaves %{node.out} hold vectors without zeros, for C alone; make them dense first")


def _constants(node: ir.LeafSums, own: list[layout.Leaf], tables: Any) -> Array:
    """By leaf, the scores as if it had no vectors."""
    out = layout.empty_scores(node.rule, node.classes, len(own), DOUBLE).astype(np.float64)
    for leaf in own:
        columns = layout.leaf_columns(node.rule, leaf.members)
        out[leaf.number, columns] = layout.leaf_scores(
            node.rule, tables[node.bias][leaf.bias][None], leaf.members
        )
    return out


@dataclass(frozen=True, eq=False)
class _Part:
    """A leaf that has vectors.

    sums = kernel values . weights + bias; scores = (sums, or ones where they win) . spread + start
    """

    number: int
    vectors: slice
    weights: Array  # [n, sums]
    bias: Array  # [sums]
    spread: Array  # [sums, scores]
    start: Array  # [scores]


def _part(node: ir.LeafSums, leaf: layout.Leaf, tables: Any) -> _Part:
    weights, bias = layout.own_weights(leaf, tables[node.weights]), tables[node.bias][leaf.bias]
    start = layout.empty_scores(node.rule, node.classes, 1, DOUBLE)[0].astype(np.float64)
    columns = layout.leaf_columns(node.rule, leaf.members)
    start[columns] = 0.0
    signs = np.eye(len(columns))
    if node.rule == "vote":
        weights = pair_weights(weights.T, leaf.counts).T
        signs = pair_signs(len(columns))
        start[columns] = (signs < 0).sum(axis=0)  # votes if every pair is lost
    spread = np.zeros((len(signs), len(start)))
    spread[:, columns] = signs
    return _Part(leaf.number, leaf.vectors, weights, bias, spread, start)


def _folded(values: Values, node: ir.LeafSums) -> Folded:
    """The kernel over the vectors of all leaves."""
    x, vectors, kernel = values.names[node.x], values.tables[node.vectors], node.kernel
    if not is_affine(kernel):
        return folded_kernel(values, x, vectors, kernel)
    if kernel.kind == "linear":
        return Folded(kernel, values.wide(x), vectors, np.zeros(1))
    return Folded(Kernel("linear"), values.wide(x), np.zeros_like(vectors), np.ones(1))


@dataclass(frozen=True)
class _Work:
    """Leaf after leaf, in the graph or in a loop."""

    values: Values
    node: ir.LeafSums
    folded: Folded

    def unrolled(self, parts: list[_Part], out: str) -> str:
        """Scores with those of the parts put in."""
        constant, folded = self.values.graph.constant, self.folded
        for part in parts:
            offsets = folded.offsets if len(folded.offsets) == 1 else folded.offsets[part.vectors]
            arrays = (folded.table[part.vectors], offsets, part.weights, part.bias, part.spread, part.start)
            tensors = list(map(constant, arrays))
            number = constant(np.array(part.number, np.int32))
            out = self._put(self.values, out, self.values.names[self.node.leaf], number, tensors)
        return out

    def _put(self, values: Values, out: str, leaf: str, number: str, tensors: list[str]) -> str:
        """Scores with those of the rows put in whose leaf has this number and meets these tensors."""
        graph = values.graph
        table, offsets, weights, bias, spread, start = tensors
        places, rows = values.true_of(graph.op("Equal", leaf, number))
        dots = values.same("Gemm", values.gather(self.folded.rows, rows), table, offsets, transB=1)
        scores = graph.op("Gemm", self.folded.shaped(values, dots), weights, bias)
        if self.node.rule == "vote":
            scores = values.cast(graph.op("Greater", scores, 0.0), DOUBLE)
        if self.node.rule != "sum":
            scores = graph.op("Gemm", scores, spread, start)
        return values.put(out, places, scores)

    def build_loop(self, parts: list[_Part], out: str) -> str:
        """The same in a loop over the parts that have rows."""
        values, graph = self.values, self.values.graph
        rank = np.full(values.types[self.node.leaf].width, len(parts), np.int64)
        rank[[part.number for part in parts]] = np.arange(len(parts))
        ranks = values.by(rank, values.names[self.node.leaf])
        met = self._met(ranks, len(parts))
        body = graph.nested(DOUBLE, parts[0].spread.shape[1])
        inside = values.within(body)
        number = body.op("Gather", met, body.count, axis=0)
        after = self._put(inside, body.argument, ranks, number, self._sliced(inside, parts, number))
        goes_on = body.op("Identity", np.array(True))
        return graph.loop(graph.op("Size", met), out, body, goes_on, after)

    def _met(self, ranks: str, count: int) -> str:
        """The parts that have rows; not by Unique, which needs rows to work on."""
        graph, values = self.values.graph, self.values
        ones = graph.op("Expand", values.integers(1), graph.op("Shape", ranks))
        none = graph.constant(np.zeros(count + 1, np.int64))
        marks = graph.op("ScatterElements", none, ranks, ones, axis=0)
        marks = graph.op("Slice", marks, values.integers(0), values.integers(count), values.integers(0))
        return graph.op("Squeeze", graph.op("NonZero", marks), values.integers(0))

    def _sliced(self, values: Values, parts: list[_Part], number: str) -> list[str]:
        """The tensors of the part of that number, cut from tables of all parts."""
        cutter, folded = _Cutter(values, number), self.folded
        vectors = np.array([part.vectors.stop - part.vectors.start for part in parts])
        sums = np.array([len(part.bias) for part in parts])
        rows = np.concatenate([np.arange(part.vectors.start, part.vectors.stop) for part in parts])
        offsets = values.graph.constant(folded.offsets)
        if len(folded.offsets) > 1:
            offsets = cutter.rows(folded.offsets[rows], vectors)
        return [
            cutter.rows(folded.table[rows], vectors),
            offsets,
            cutter.matrix([part.weights for part in parts], vectors * sums, sums),
            cutter.rows(np.concatenate([part.bias for part in parts]), sums),
            cutter.rows(np.concatenate([part.spread for part in parts]), sums),
            values.by(np.stack([part.start for part in parts]), number),
        ]


@dataclass(frozen=True)
class _Cutter:
    """Cuts what belongs to one part, whose number is a tensor, from tables of all parts."""

    values: Values
    number: str

    def rows(self, table: NDArray[Any], counts: NDArray[Any]) -> str:
        """As many rows as the part has."""
        values, graph = self.values, self.values.graph
        ends, axis = layout.running(counts), values.integers(0)
        first, last = (
            graph.op("Unsqueeze", values.by(at, self.number), axis) for at in (ends[:-1], ends[1:])
        )
        return graph.op("Slice", table, first, last, axis)

    def matrix(self, tables: list[Array], sizes: NDArray[Any], columns: NDArray[Any]) -> str:
        """A matrix of as many columns as the part has, from its numbers in a row."""
        graph = self.values.graph
        flat = self.rows(np.concatenate([table.ravel() for table in tables]), sizes)
        shapes = np.stack([np.full(len(columns), -1), columns], axis=1).astype(np.int64)
        return graph.op("Reshape", flat, self.values.by(shapes, self.number))
