"""Gates between orders: whether a row is worth the next one is known before it is computed.

What the next order may be off by depends on the row's distance alone; a score that is small beside it
will hardly be decided. How small is chosen by the cost of sample rows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

from svmcompile.accelerate.certified.choose import Choice
from svmcompile.accelerate.certified.costs import TaylorPrices
from svmcompile.accelerate.taylor.front import taylor_node
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_orders

GATES = (0.0, 0.5, 0.7, 0.85, 1.0)


def best_gates(choice: Choice, price: TaylorPrices, rest: float) -> tuple[float, ...]:
    """The gates that make the sample rows cheapest; `rest` is the cost of a row that stays undecided."""
    node, tables = taylor_node(choice.whole, choice.expansions)
    rows, leaf = choice.sample
    upto = price.upto(choice.form, rows.shape[1])

    def cost(gates: tuple[float, ...]) -> float:
        found = taylor_orders(At(replace(node, gates=gates), tables), rows, leaf)
        left = found.settled == len(upto)
        return float((upto[found.last] + rest * left).mean())

    return min(product(GATES, repeat=len(node.gates)), key=cost)
