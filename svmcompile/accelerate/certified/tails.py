"""The fallback in blocks with jets: undecided rows go in, the cheapest blocks and a program come out.

After each block of vectors the others are a Taylor polynomial about the mean of the rows that come here,
with a bound of its own, so that a row can stop before it has met them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from svmcompile.accelerate.bounds.costs import Prices
from svmcompile.accelerate.bounds.margins import kernel_error, row_error
from svmcompile.accelerate.builder import Builder, head_nodes
from svmcompile.accelerate.certified.costs import TaylorPrices
from svmcompile.accelerate.taylor.expansion import RbfSum
from svmcompile.accelerate.taylor.jets import Jets, jet_bytes, jet_node, jets
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import Blocks, jet_blocks, met_and_tried
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.ir.stages import longest_chain
from svmcompile.model.svm import SVM

CELLS = 16


def made_jets(own: SVM, whole: RbfSum, rows: Array, parts: int, sharpen: int) -> Jets | None:
    """Jets between so many parts of the vectors; None where float32 could not be sure of any."""
    chain = longest_chain(own.kernel, whole.vectors.shape[1])
    error = kernel_error(own.kernel, whole.vectors, row_error(own.front, own.n_features), chain)
    return jets(whole, rows, parts, CELLS, sharpen, error) if error.usable else None


def most_jets(d: int, room: int) -> int:
    """How many jets so many bytes hold."""
    return max(0, (room - 4 * (d + 1)) // jet_bytes(d, CELLS))


class Costs:
    """What rows cost: once, and for each jet and each kernel value."""

    def __init__(self, price: Prices, own: TaylorPrices, d: int) -> None:
        self.once = price.call + own.once(d)
        self.jet, self.value = own.jet(d) + price.stage, price.term

    def of_rows(self, found: Blocks, ends: Array) -> Array:
        met, tried = met_and_tried(found, ends)
        return np.asarray(self.once + self.value * met + self.jet * tried)


@dataclass(frozen=True, eq=False, slots=True)
class Tail:
    """Jets, and what they cost rows."""

    found: Jets

    @property
    def ends(self) -> Array:
        """Of blocks, and of all vectors."""
        return np.array([*self.found.ends, len(self.found.whole.weights)])

    @property
    def bytes(self) -> int:
        d = int(self.found.whole.vectors.shape[1])
        return 4 * (d + 1) + len(self.found.ends) * jet_bytes(d, CELLS)

    def blocks(self, rows: Array) -> Blocks:
        node, tables = jet_node(self.found)
        return jet_blocks(At(node, tables), rows)

    def row_costs(self, rows: Array, costs: Costs) -> Array:
        return costs.of_rows(self.blocks(rows), self.ends)

    def by_block(self, rows: Array, costs: Costs) -> list[tuple[float, float]]:
        """Of each jet, and at last of all vectors: its share of the rows and of the cost."""
        found, before, shares = self.blocks(rows), 0, list[tuple[float, float]]()
        stop, tried, jets = found.stop, found.tried, len(self.found.ends)
        for at, end in enumerate(self.ends.tolist()):
            came = (stop >= at) & found.finite
            cost = costs.value * (end - before) * came.mean() + (costs.once if at == 0 else 0.0)
            cost += costs.jet * (came & tried[:, at]).mean() if at < jets else 0.0
            share = (stop == at).mean() if at < jets else (stop >= at).mean()
            shares.append((float(share), float(cost)))
            before = end
        return shares


def best_tail(found: Jets, rows: Array, costs: Costs, most: int, whole: bool = False) -> Tail:
    """Of at most so many jets the cheapest for rows, or as many of them as there can be."""
    every, count = Tail(found), min(most, len(found.ends))
    seen, ends = every.blocks(rows), every.ends
    tried = [
        list(kept)
        for size in range(count if whole else 1, count + 1)
        for kept in combinations(range(len(found.ends)), size)
    ]
    kept = min(tried, key=lambda some: costs.of_rows(_only(seen, some), ends[[*some, -1]]).mean())
    return Tail(found.some(kept))


def _only(seen: Blocks, kept: list[int]) -> Blocks:
    """The blocks with some of the jets."""
    some = [*kept, -1]
    return seen._replace(scores=seen.scores[:, some], gaps=seen.gaps[:, some])


def jet_program(svm: SVM, own: SVM, tail: Tail) -> Program:
    """Exact sum in double, blocks with jets, and the original's head."""
    builder = Builder(svm)
    exact = builder.exact_in_double()
    x = builder.preprocess("bounded_", front=own.front)
    node, tables = jet_node(tail.found, x, exact)
    for name, table in tables.items():
        (builder.indices if name == node.ends else builder.table)(name, table)
    builder.body.append(node)
    builder.body.extend(head_nodes(svm, node.out))
    return builder.program([Output("label", "label")], "certified", Claim.SAME_LABEL, ())
