"""Votes in ONNX.

Settling pairs of `BoundedVote` one after the other takes operators for each pair, which costs more than the
kernel values it saves in the batches ONNX is for: these hold the exact vote. The pairs of a champion are
settled all at once by Taylor polynomials, in double; rows whose champion does not win them all go on to the
next order, and then to the exact vote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At
from svmcompile.ir.vote_walk import in_rows
from svmcompile.targets.onnx.graph import DOUBLE, INDEX
from svmcompile.targets.onnx.values import Values, build, build_needed

# Measured on ONNX Runtime, in multiply-adds of a product of matrices:
VALUE = 60  # a kernel value beside its products: the exponential, and memory
LOOKED_UP = 17  # a number that each row looks up in a table, and its multiply-add
OPERATORS = 12_000  # those of a row in a large batch
LEFT = 0.2  # of the exact vote, for rows that stay unsure
FAR = 1e300  # more than any distance


@build.register
def _(node: ir.BoundedVote, values: Values) -> str:
    build_needed(values, [node.exact])
    return values.names[node.exact]


@build.register
def _(node: ir.TaylorVote, values: Values) -> str:
    tables = in_rows(At(node, values.tables))
    if not pays(node, tables):
        build_needed(values, [node.exact])
        return values.names[node.exact]
    graph, x = values.graph, values.wide(values.names[node.x])
    guess = graph.op("Add", graph.op("MatMul", x, tables["guess_weights"].T.copy()), tables["guess_bias"])
    champion = graph.op("ArgMax", guess, axis=1, keepdims=0)
    pairs = Pairs(values, node, tables, x, champion)
    rows = pairs.unsure(0)
    for order in range(1, len(tables["margins"])):
        part = pairs.of_rows(values.graph.op("Squeeze", rows, values.integers(0)))
        left = graph.op("Squeeze", part.unsure(order), values.integers(0))
        rows = graph.op("Gather", rows, left, axis=1)
    part_of = values.of_rows(graph.op("Squeeze", rows, values.integers(0)))
    build_needed(part_of, [node.exact])
    return values.put(champion, rows, part_of.names[node.exact])


def pays(node: ir.TaylorVote, tables: Mapping[str, NDArray[Any]]) -> bool:
    """Whether what each row looks up is less work, in a large batch, than the exact vote of all."""
    k, d = len(node.counts), tables["vectors"].shape[1]
    # Those of a one-vs-rest machine stand in several classes, and its sums are as few as the classes.
    vectors = len(np.unique(tables["vectors"][:, :, 0], axis=0))
    along, exact = node.rank or d, vectors * (d + VALUE + k)
    numbers = k * d
    if len(tables["margins"]) > 1:
        numbers += k * along * (along + 1) // 2 + node.rank * d
    return bool(OPERATORS + LOOKED_UP * numbers + LEFT * exact < 0.9 * exact)


class Pairs:
    """The pairs of each row's champion, at the nearest of its centres."""

    def __init__(
        self, values: Values, node: ir.TaylorVote, tables: Mapping[str, NDArray[Any]], x: str, champion: str
    ) -> None:
        self.values, self.node, self.tables, self.champion = values, node, tables, champion
        graph = values.graph
        self.centre = self._nearest(x)
        self.h = graph.op("Sub", x, self._at("centres"))
        self.square = values.row_dots(self.h, self.h)
        self.sums = graph.op("Add", self._at("constants"), values.products(self._at("slopes"), self.h))

    def of_rows(self, rows: str) -> Pairs:
        """Some of the rows."""
        part = object.__new__(Pairs)
        part.values, part.node, part.tables = self.values, self.node, self.tables
        for name in ("champion", "centre", "h", "square", "sums"):
            setattr(part, name, self.values.gather(getattr(self, name), rows))
        return part

    def _at(self, name: str) -> str:
        """A table's part of each row's centre."""
        return self.values.by(self.tables[name], self.centre)

    def _nearest(self, x: str) -> str:
        """The nearest centre of each row's champion: bounds hold at any."""
        graph, centres = self.values.graph, self.tables["centres"].astype(np.float64)
        owner = self._owners()
        if len(owner) == len(self.node.counts):
            return self.values.by(np.argsort(owner), self.champion)
        away = np.where(
            owner == np.arange(len(self.node.counts))[:, None], np.square(centres).sum(axis=1), FAR
        )
        products = graph.op("Mul", graph.op("MatMul", x, centres.T.copy()), 2.0)
        return graph.op(
            "ArgMin", graph.op("Sub", self.values.by(away, self.champion), products), axis=1, keepdims=0
        )

    def _owners(self) -> NDArray[np.int64]:
        """The class of each centre."""
        roots, children = (self.tables[name].astype(np.int64) for name in ("roots", "children"))
        owner = np.zeros(len(self.tables["centres"]), dtype=np.int64)
        for own, root in enumerate(roots.tolist()):
            ways = [root]
            while ways:
                at = ways.pop()
                if at < 0:
                    owner[~at] = own
                else:
                    ways += children[at].tolist()
        return owner

    def unsure(self, order: int) -> str:
        """Places [1, some] of the rows whose champion may lose a pair, for all that this order can tell."""
        graph, values, tables = self.values.graph, self.values, self.tables
        u = graph.op("Mul", self.square, self.node.kernel.gamma)
        fade = graph.op("Exp", graph.op("Neg", u))
        cells = tables["gaps"].shape[2]
        place = values.column(graph.op("Mul", u, self._at_column("steps")))
        inside = graph.op("Less", place, float(cells))
        cell = values.cast(graph.op("Where", inside, place, values.scalar(0.0)), INDEX)
        index = graph.op("Mul", values.cast(self.centre, INDEX), values.index(cells))
        gaps = tables["gaps"][order, :, :, 0].reshape(-1, tables["gaps"].shape[-1])
        gap = graph.op("Mul", values.by(gaps, graph.op("Add", index, cell)), u)
        gap = graph.op("Add", gap, values.by(tables["margins"][order], self.centre))
        sums = self.sums
        if order:
            more, loose = self._second()
            sums = graph.op("Add", sums, more)
            gap = graph.op("Add", gap, graph.op("Mul", fade, loose)) if loose else gap
        scores = graph.op("Add", values.by(tables["offsets"], self.champion), graph.op("Mul", fade, sums))
        still = values.cast(graph.op("Not", graph.op("Greater", scores, gap)), DOUBLE)
        count = values.column(graph.op("ReduceSum", still, values.integers(1), keepdims=1))
        sure = graph.op("And", inside, graph.op("Less", count, values.scalar(0.5)))
        return graph.op("NonZero", graph.op("Not", sure))

    def _at_column(self, name: str) -> str:
        return self.values.by(self.tables[name][:, None], self.centre)

    def _second(self) -> tuple[str, str]:
        """The part of order 2 of every pair, and what axes may leave of it."""
        graph, values, y, middle, loose = self.values.graph, self.values, self.h, "", ""
        if self.node.rank:
            y = values.products(self._at("axes"), self.h)
            along = values.row_dots(y, y)
            whole = graph.op("Mul", self.square, 1 + self.node.slack)
            left = graph.op("Max", graph.op("Sub", whole, along), 0.0)
            middle = graph.op("Mul", left, self._at("middles"))
            bounds = [values.by(self.tables["loose"][:, side], self.centre) for side in (0, 1)]
            loose = graph.op(
                "Add",
                *(graph.op("Mul", size, one) for size, one in zip((along, left), bounds, strict=True)),
            )
        second, first = np.tril_indices(self.node.rank or self.tables["centres"].shape[1])
        products = graph.op(
            "Mul", graph.op("Gather", y, first, axis=1), graph.op("Gather", y, second, axis=1)
        )
        form = values.products(self._at("squares"), products)
        return (graph.op("Add", form, middle) if middle else form), loose
