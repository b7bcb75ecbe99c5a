"""What rows come to that no polynomial is sure of: the sum, or a sum that stops when it is sure.

Undecided sample rows go in, the cheaper of the two for them comes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from svmcompile.accelerate.anytime.instead import Instead
from svmcompile.accelerate.anytime.options import AnytimeOptions
from svmcompile.accelerate.anytime.single import single as bounded
from svmcompile.accelerate.certified.choose import Choice
from svmcompile.accelerate.certified.costs import TaylorPrices
from svmcompile.accelerate.certified.options import CertifiedOptions
from svmcompile.accelerate.taylor.front import taylor_node
from svmcompile.ir.program import Program
from svmcompile.ir.taylor_meaning import taylor_orders
from svmcompile.kernel import Array
from svmcompile.svm import SVM

# The sum alone: one stage, which costs next to nothing since the sum needs its values too.
DIRECT = {"host": 16, "portable": 1, "flops": 1}
REDONE = 1.4  # rows that come here are close to zero: some go on to double, as other rows hardly do
LEAST_ROWS = 20  # undecided ones, to judge by
MOST_VECTORS = 4000  # bounds of more vectors cost more time to make than rows are likely to save


@dataclass(frozen=True, eq=False, slots=True)
class Fallback:
    """A program with a bounded sum, and what it costs undecided rows."""

    program: Program
    kind: str
    cost: float

    def figures(self, choice: Choice, gates: tuple[float, ...], own: TaylorPrices) -> dict[str, Any]:
        """Share of the sample rows and mean cost of each stage, for reports."""
        node, tables = taylor_node(choice.whole, choice.expansions, gates=gates)
        rows, leaf = choice.sample
        found = taylor_orders(node, rows, leaf, tables)
        order, d = choice.form.order, rows.shape[1]
        upto = own.upto(choice.form, d)
        depth = np.array([one.depth for one in choice.leaves], dtype=np.float64)[leaf]
        spent = np.diff(upto, prepend=0.0)
        way = own.route(depth, d, len(choice.leaves))
        stages: list[dict[str, Any]] = [{"stage": "route", "share": 0.0, "cost": float(way.mean())}]
        for at in range(order):
            share, came = float((found.settled == at).mean()), float((found.last >= at).mean())
            stages.append({"stage": f"order {at + 1}", "share": share, "cost": came * float(spent[at])})
        left = float((found.settled == order).mean())
        stages.append({"stage": self.kind, "share": left, "cost": left * self.cost})
        total = sum(stage["cost"] for stage in stages)
        shown = [{key: _rounded(value) for key, value in stage.items()} for stage in stages]
        return {"stages": shown, "cost": round(total, 3), "sample_rows": len(rows)}


def _rounded(value: Any) -> Any:
    return round(value, 5) if isinstance(value, float) else value


def fallback(
    svm: SVM, own: SVM, rows: Array, choice: Choice, plain: Fallback | None, options: CertifiedOptions
) -> Fallback | Instead:
    """The cheapest way for the rows that the front end leaves; `plain` is another to compare with."""
    first = DIRECT[options.tune]
    settings = AnytimeOptions(tune=options.tune, force=True, k_max=first, block=first, r_coords="0")
    left = undecided(choice)
    found = [_made(svm, own, rows, left, settings, "the sum")]
    few = len(left) < LEAST_ROWS or own.n_vectors > MOST_VECTORS
    if options.fallback == "anytime" or (options.fallback == "auto" and not few):
        bounds = AnytimeOptions(tune=options.tune, force=True)
        staged = _made(svm, own, rows, left, bounds, "its bounds")
        found = [staged] if options.fallback == "anytime" else [*found, staged]
    if plain is not None and options.fallback != "anytime":
        found.append(plain)
    made = [one for one in found if isinstance(one, Fallback)]
    return min(made, key=lambda one: one.cost) if made else found[0]


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
    return Fallback(program, kind, REDONE * float(chosen["cost"]))
