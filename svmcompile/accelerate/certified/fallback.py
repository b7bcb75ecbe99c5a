"""What rows come to that no polynomial is sure of: the sum, or one that stops when it is sure.

Undecided sample rows go in, the cheapest for them comes out: the sum itself, with the bounds of `anytime`
first, or in blocks with jets of what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from svmcompile.accelerate.anytime.costs import prices
from svmcompile.accelerate.anytime.instead import Instead
from svmcompile.accelerate.anytime.options import AnytimeOptions
from svmcompile.accelerate.anytime.remarks import ROUNDING
from svmcompile.accelerate.anytime.single import single as bounded
from svmcompile.accelerate.certified.choose import Choice
from svmcompile.accelerate.certified.costs import PRICES, TaylorPrices
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.certified.tails import (
    CELLS,
    PARTS,
    Costs,
    best_jets,
    by_block,
    jet_program,
    made_jets,
    memory_for,
)
from svmcompile.accelerate.taylor.front import taylor_node
from svmcompile.accelerate.taylor.jets import jet_bytes, jet_node
from svmcompile.accelerate.taylor.squares import FEW_PRODUCTS, MANY_PRODUCTS
from svmcompile.ir.jets_meaning import jet_blocks
from svmcompile.ir.program import Program
from svmcompile.ir.taylor_meaning import taylor_orders
from svmcompile.kernel import Array
from svmcompile.svm import SVM

# The sum alone: one stage, which costs next to nothing since the sum needs its values too.
DIRECT = {"host": 16, "portable": 1, "flops": 1}
REDONE = 1.4  # rows that come here are close to zero: some go on to double, as other rows hardly do
LEAST_ROWS = 20  # undecided ones, to judge by
WITHOUT_JETS = ("host",)  # whose code meets all vectors together
MOST_JET_VECTORS = 1200  # likewise for jets, each of which takes the cube of their number
MOST_VECTORS = 4000  # bounds of more vectors cost more time to make than rows are likely to save


class Part(NamedTuple):
    """A stage of a fallback: the share of the rows that come to it which it decides, and its mean cost."""

    stage: str
    share: float
    cost: float


@dataclass(frozen=True, eq=False, slots=True)
class Fallback:
    """A program with a sum that is sure of its sign, and what its stages cost undecided rows."""

    program: Program
    parts: tuple[Part, ...]
    bytes: int = 0  # of tables beside those of the vectors

    @property
    def cost(self) -> float:
        return sum(part.cost for part in self.parts)

    def figures(self, choice: Choice, gates: tuple[float, ...], own: TaylorPrices) -> dict[str, Any]:
        """Share of the sample rows and mean cost of each stage, for reports."""
        node, tables = taylor_node(choice.whole, choice.expansions, gates=gates)
        rows, leaf = choice.sample
        found = taylor_orders(node, rows, leaf, tables)
        order, d = choice.form.order, rows.shape[1]
        upto = own.upto(order, d, choice.form.rank)
        depth = np.array([one.depth for one in choice.leaves], dtype=np.float64)[leaf]
        spent = np.diff(upto, prepend=0.0)
        way = own.route(depth, d, len(choice.leaves))
        stages: list[dict[str, Any]] = [{"stage": "route", "share": 0.0, "cost": float(way.mean())}]
        for at in range(order):
            share, came = float((found.settled == at).mean()), float((found.last >= at).mean())
            stages.append({"stage": f"order {at + 1}", "share": share, "cost": came * float(spent[at])})
        left = float((found.settled == order).mean())
        stages += [
            {"stage": part.stage, "share": left * part.share, "cost": left * part.cost}
            for part in self.parts
        ]
        total = sum(stage["cost"] for stage in stages)
        shown = [{key: _rounded(value) for key, value in stage.items()} for stage in stages]
        found_rows = {"sample_rows": len(rows), "undecided": round(left, 5)}
        return {"stages": shown, "cost": round(total, 3), **found_rows}


def _rounded(value: Any) -> Any:
    return round(value, 5) if isinstance(value, float) else value


def fallback(
    svm: SVM, own: SVM, rows: Array, choice: Choice, options: CertifiedOptions
) -> Fallback | Instead:
    """The cheapest way for the rows that the front end leaves."""
    first, kind = DIRECT[options.tune], options.fallback
    settings = AnytimeOptions(tune=options.tune, force=True, k_max=first, block=first, r_coords="0")
    left = undecided(choice)
    direct = _made(svm, own, rows, left, settings, "the sum")
    if isinstance(direct, Instead):
        return direct
    found: list[Fallback | Instead] = [direct]
    judged = len(left) >= LEAST_ROWS and own.n_vectors <= MOST_VECTORS
    if kind == "anytime" or (kind == "auto" and judged):
        bounds = AnytimeOptions(tune=options.tune, force=True)
        found.append(_made(svm, own, rows, left, bounds, "its bounds"))
    few = own.n_vectors <= MOST_JET_VECTORS and options.tune not in WITHOUT_JETS
    if kind == "jets" or (kind == "auto" and judged and few):
        found.append(_with_jets(svm, own, left, choice, direct.cost, options))
    if kind in ("anytime", "jets"):
        return found[-1]
    return min((one for one in found if isinstance(one, Fallback)), key=lambda one: one.cost)


def _with_jets(
    svm: SVM, own: SVM, left: Array, choice: Choice, direct: float, options: CertifiedOptions
) -> Fallback | Instead:
    """Blocks with jets in what memory the front end leaves; `direct` is the cost of the sum."""
    d, room = own.kernel_width, options.max_bytes - choice.bytes
    most = memory_for(d, room)
    if not most:
        return Instead(f"not one jet fits into the {room} bytes that are left; raise max_bytes")
    sharpen = MANY_PRODUCTS if len(choice.leaves) == 1 else FEW_PRODUCTS
    found = made_jets(own, choice.whole, _coming(choice), options.blocks or PARTS, sharpen)
    if found is None:
        return Instead(ROUNDING)
    costs = Costs(prices(options.tune, svm), PRICES[options.tune], d)
    least = min(most, len(found.ends)) if options.blocks else 1
    chosen, gate, _ = best_jets(found, left, costs, most, least)
    node, tables = jet_node(chosen, gate=gate)
    ends = np.array([*chosen.ends, own.n_vectors])
    shares = by_block(jet_blocks(node, left, tables), ends, costs)
    redone = (REDONE - 1) / REDONE * direct  # of rows that no jet is sure of either
    parts = [Part(f"block {at + 1}", *both) for at, both in enumerate(shares[:-1])]
    parts.append(Part("the sum", shares[-1][0], shares[-1][1] + redone))
    size = 4 * (d + 1) + len(chosen.ends) * jet_bytes(d, CELLS)
    return Fallback(jet_program(svm, own, chosen, gate), tuple(parts), size)


def _coming(choice: Choice) -> Array:
    """Rows that no order decides, of those that centres are made of; all of them if there are few."""
    left = [leaf.rows[leaf.settles(choice.form, leaf.rows) == choice.form.order] for leaf in choice.leaves]
    found = np.concatenate(left)
    return found if len(found) >= LEAST_ROWS else np.concatenate([leaf.rows for leaf in choice.leaves])


def undecided(choice: Choice) -> Array:
    """Sample rows that no order decides; all of them if there are none."""
    left = [leaf.sample[leaf.settled(choice.form) == choice.form.order] for leaf in choice.leaves]
    found = np.concatenate(left)
    return found if len(found) else choice.sample[0]


def _made(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: AnytimeOptions, kind: str
) -> Fallback | Instead:
    program = bounded(svm, own, rows, sample, options)
    if isinstance(program, Instead):
        return program
    chosen: dict[str, Any] = program.origin.details["choice"]
    return Fallback(program, (Part(kind, 1.0, REDONE * float(chosen["cost"])),))
