"""What rows come to that no polynomial is sure of: a sum, and what it costs them stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from svmcompile.accelerate.bounds.instead import Instead
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.single import single as bounded
from svmcompile.accelerate.certified.choose import Choice
from svmcompile.accelerate.certified.costs import TaylorPrices
from svmcompile.accelerate.certified.early import Early
from svmcompile.accelerate.taylor.front import taylor_node
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_orders
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM

# The sum alone: one stage, which costs next to nothing since the sum needs its values too.
DIRECT = {"host": 16, "portable": 1, "flops": 1}
REDONE = 1.4  # rows that come here are close to zero: some go on to double, as other rows hardly do
IN_DOUBLE = 2.0  # times the cost in float32


class Part(NamedTuple):
    """A stage of a fallback: the share of the rows that come to it which it decides, and its mean cost."""

    stage: str
    share: float
    cost: float


@dataclass(frozen=True, eq=False, slots=True)
class Fallback:
    """A program with a sum that is sure of its sign, and what its stages cost undecided rows.

    There is none where the sum in double is cheap.
    """

    program: Program | None
    parts: tuple[Part, ...]
    bytes: int = 0  # of tables beside those of the vectors

    @property
    def cost(self) -> float:
        return sum(part.cost for part in self.parts)

    def figures(
        self, choice: Choice, gates: tuple[float, ...], own: TaylorPrices, early: Early | None
    ) -> dict[str, Any]:
        """Share of the sample rows and mean cost of each stage, for reports."""
        node, tables = taylor_node(choice.whole, choice.expansions, gates=gates)
        rows, leaf = choice.sample
        found = taylor_orders(At(node, tables), rows, leaf)
        order, d = choice.form.order, rows.shape[1]
        upto = own.upto(choice.form, d)
        depth = np.array([one.depth for one in choice.leaves], dtype=np.float64)[leaf]
        spent = np.diff(upto, prepend=0.0)
        way = own.route(depth, d, len(choice.leaves))
        stages: list[dict[str, Any]] = [{"stage": "route", "share": 0.0, "cost": float(way.mean())}]
        coming = early.past if early else np.ones(len(rows), dtype=bool)
        if early:
            name = f"order 2 in {early.form.rank} directions"
            stages.append({"stage": name, "share": 1 - float(coming.mean()), "cost": early.cost})
        for at in range(order):
            share, came = (float((one & coming).mean()) for one in (found.settled == at, found.last >= at))
            stages.append({"stage": f"order {at + 1}", "share": share, "cost": came * float(spent[at])})
        left = float(((found.settled == order) & coming).mean())
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


def quadratic(svm: SVM, price: TaylorPrices) -> Fallback:
    """The sum in double where it is one quadratic function."""
    return Fallback(None, (Part("the quadratic function", 1.0, IN_DOUBLE * quadratic_cost(svm, price)),))


def direct(svm: SVM, own: SVM, rows: Array, left: Array, tune: str) -> Fallback | Instead:
    """The sum of all vectors."""
    first = DIRECT[tune]
    settings = AnytimeOptions(tune=tune, force=True, k_max=first, block=first, r_coords="0")
    return _made(svm, own, rows, left, settings, "the sum")


def bounds(svm: SVM, own: SVM, rows: Array, left: Array, tune: str) -> Fallback | Instead:
    """The bounds of `anytime` first."""
    return _made(svm, own, rows, left, AnytimeOptions(tune=tune, force=True), "its bounds")


def is_quadratic(svm: SVM) -> bool:
    """Whether the sum in double is one quadratic function, which needs no vectors."""
    return svm.kernel.kind == "poly" and svm.kernel.degree == 2


def quadratic_cost(svm: SVM, price: TaylorPrices) -> float:
    """Of a quadratic and a linear form of the features."""
    d = svm.kernel_width
    return price.form(d * (d + 1) // 2 + d)


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
