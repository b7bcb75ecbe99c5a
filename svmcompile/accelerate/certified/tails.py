"""The fallback in blocks with jets: undecided rows go in, the cheapest blocks and a program come out.

After each block of vectors the others are a Taylor polynomial about the mean of the rows that come here,
with a bound of its own, so that a row can stop before it has met them all.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from svmcompile.accelerate.anytime.costs import Prices
from svmcompile.accelerate.anytime.margins import kernel_error, row_error
from svmcompile.accelerate.certified.costs import TaylorPrices
from svmcompile.accelerate.exact import Builder, head_nodes
from svmcompile.accelerate.taylor.expansion import RbfSum
from svmcompile.accelerate.taylor.jets import Jets, jet_bytes, jet_node, jets
from svmcompile.ir.jets_cost import met_and_tried
from svmcompile.ir.jets_meaning import Blocks, jet_blocks
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.ir.stages import longest_chain
from svmcompile.kernel import Array
from svmcompile.svm import SVM

PARTS = 10  # of the vectors, between which jets are tried
GATES = (0.0, 0.3, 0.5, 0.7, 0.85)
CELLS = 16


def made_jets(own: SVM, whole: RbfSum, rows: Array, parts: int, sharpen: int) -> Jets | None:
    """Jets between so many parts of the vectors; None where float32 could not be sure of any."""
    chain = longest_chain(own.kernel, whole.vectors.shape[1])
    error = kernel_error(own.kernel, whole.vectors, row_error(own.steps, own.n_features), chain)
    return jets(whole, rows, parts, CELLS, sharpen, error) if error.usable else None


class Costs:
    """What rows cost: once, and for each jet and each kernel value."""

    def __init__(self, price: Prices, own: TaylorPrices, d: int) -> None:
        self.once = price.call + own.once(d)
        self.jet, self.value = own.jet(d) + price.stage, price.term

    def mean(self, found: Blocks, ends: Array) -> float:
        met, tried = met_and_tried(found, ends)
        return float((self.once + self.value * met + self.jet * tried).mean())


def best_jets(
    found: Jets, rows: Array, costs: Costs, most: int, least: int = 1
) -> tuple[Jets, float, float]:
    """Of at most so many jets the cheapest for rows, their gate, and the mean cost."""
    node, tables = jet_node(found)
    seen = jet_blocks(node, rows, tables)
    ends = np.array([*found.ends, len(found.whole.weights)])
    tried = [
        list(kept)
        for count in range(least, min(most, len(found.ends)) + 1)
        for kept in combinations(range(len(found.ends)), count)
    ]
    kept = min(tried, key=lambda some: costs.mean(_only(seen, some), ends[[*some, -1]]))
    chosen = found.some(kept)
    node, tables = jet_node(chosen)
    seen, ends = jet_blocks(node, rows, tables), ends[[*kept, -1]]
    cost, gate = min((costs.mean(seen._replace(gate=gate), ends), gate) for gate in GATES)
    return chosen, gate, cost


def _only(seen: Blocks, kept: list[int]) -> Blocks:
    """The blocks with some of the jets."""
    some = [*kept, -1]
    return seen._replace(scores=seen.scores[:, some], gaps=seen.gaps[:, some], bounds=seen.bounds[:, kept])


def jet_program(svm: SVM, own: SVM, found: Jets, gate: float) -> Program:
    """Exact sum in double, blocks with jets, and the original's head."""
    builder = Builder(svm)
    exact = builder.exact_in_double()
    x = builder.preprocess("bounded_", steps=own.steps)
    node, tables = jet_node(found, x, exact, gate)
    for name, table in tables.items():
        (builder.indices if name == node.ends else builder.table)(name, table)
    builder.body.append(node)
    builder.body.extend(head_nodes(svm, node.out))
    return builder.program([Output("label", "label")], "certified", Claim.SAME_LABEL, ())


def memory_for(d: int, room: int) -> int:
    """How many jets so many bytes hold."""
    return max(0, (room - 4 * (d + 1)) // jet_bytes(d, CELLS))


def by_block(found: Blocks, ends: Array, costs: Costs) -> list[tuple[float, float]]:
    """Of each jet, and at last of all vectors: the share of rows it decides, and what it adds to the cost."""
    stop, tried = found.stop, found.tried
    before, shares = 0, []
    for at, end in enumerate(ends):
        came = (stop >= at) & found.finite
        cost = costs.value * (end - before) * came.mean()
        if at < len(ends) - 1:
            cost += costs.jet * (came & tried[:, at]).mean()
        share = (stop == at).mean() if at < len(ends) - 1 else (stop >= at).mean()
        shares.append((float(share), float(cost) + (costs.once if at == 0 else 0.0)))
        before = end
    return shares
