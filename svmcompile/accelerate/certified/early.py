"""Early: for rows that are mostly zeros, a small front end before the chosen one.

What features bring there is read from a table with a line for each; few directions make it short, and most
rows need no more. Rows that are left begin anew with all directions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.certified.choose import HARDLY, Choice
from svmcompile.accelerate.certified.costs import TaylorPrices
from svmcompile.accelerate.certified.growth import Form
from svmcompile.accelerate.taylor.about import expansion_bytes
from svmcompile.accelerate.taylor.front import taylor_node
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_orders

RANK = 14  # with centre and slope one vector
NAME = "few"  # of its nodes and tables


class Early(NamedTuple):
    """Its form, the sample rows that come past it, and its mean cost."""

    form: Form
    past: NDArray[np.bool_]
    cost: float
    bytes: int


def early_front(
    choice: Choice, gates: tuple[float, ...], price: TaylorPrices, rest: float, room: int
) -> Early | None:
    """The small front end if it is predicted to save cost and fits into so many bytes more."""
    if not choice.form.filled or choice.form.rank <= RANK:
        return None
    leaf, d = choice.leaves[0], choice.sample[0].shape[1]
    form = replace(choice.form, order=2, rank=RANK)
    size = expansion_bytes(d, 2, RANK, form.cells)
    settled = leaf.settled(form)
    spent = price.upto(form, d)[np.minimum(settled, 1)]
    past = settled == form.order
    behind = _row_costs(choice, gates, price, rest)
    with_it = float((spent + behind * past).mean())
    if size > room or with_it >= HARDLY * float(behind.mean()):
        return None
    return Early(form, past, float(spent.mean()), size)


def _row_costs(choice: Choice, gates: tuple[float, ...], price: TaylorPrices, rest: float) -> Array:
    """Of each sample row in the chosen front end and behind it."""
    node, tables = taylor_node(choice.whole, choice.expansions, gates=gates)
    rows, leaf = choice.sample
    found = taylor_orders(At(node, tables), rows, leaf)
    upto = price.upto(choice.form, rows.shape[1])
    return np.asarray(upto[found.last] + rest * (found.settled == len(upto)))
