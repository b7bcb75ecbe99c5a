"""What rows come to that no polynomial is sure of: a sum, in blocks with jets, or guarded.

The fallback in blocks with jets: undecided rows go in, the cheapest blocks and a program come out.
After each block of vectors the others are a Taylor polynomial about the mean of the rows that come here,
with a bound of its own, so that a row can stop before it has met them all.

The exact sum in float32 with a bound on its rounding (`svmcompile.ir.widths`, as for labels that are
certain), and double for scores within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from svmcompile.accelerate.bounds.choose import Instead, Prices
from svmcompile.accelerate.bounds.margins import machine_error
from svmcompile.accelerate.bounds.options import AnytimeOptions
from svmcompile.accelerate.bounds.program import bound_sum as bounded
from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.certified.choose import Choice, Early, TaylorPrices
from svmcompile.accelerate.taylor.front import Gates
from svmcompile.accelerate.taylor.jets import Jets, jet_bytes, jet_node, jets
from svmcompile.accelerate.taylor.sums import RbfSum
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, dot_chain
from svmcompile.ir.polynomials import Blocks, count_met_and_tried
from svmcompile.ir.program import Program
from svmcompile.ir.widths import rbf_width
from svmcompile.model.svm import SVM

# The sum alone: one stage, which costs next to nothing since the sum needs its values too.
DIRECT = {"host": 16, "portable": 1, "flops": 1}
REDONE = 1.4  # rows that come here are close to zero: some go on to double, as other rows hardly do
IN_DOUBLE = 2.0  # times the cost in float32
CELLS = 16


class Part(NamedTuple):
    """A stage of a fallback: the share of the rows that come to it which it decides, and its mean cost."""

    stage: str
    share: float
    cost: float

    def as_dict(self) -> dict[str, Any]:
        """For reports."""
        return {"stage": self.stage, "share": round(self.share, 5), "cost": round(self.cost, 5)}


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
        self, choice: Choice, gates: Gates, own: TaylorPrices, early: Early | None
    ) -> dict[str, Any]:
        """Share of the sample rows and mean cost of each stage, for reports."""
        (rows, leaf), found, order = choice.sample, choice.orders(gates), choice.form.order
        d, depths = rows.shape[1], np.array([one.depth for one in choice.leaves], dtype=np.float64)
        way = own.route(depths[leaf], d, len(choice.leaves))
        spent = np.diff(own.upto(choice.form, d), prepend=0.0)
        stages = [Part("route", 0.0, float(way.mean()))]
        coming = early.past if early else np.ones(len(rows), dtype=bool)
        if early:
            name = f"order 2 in {early.form.rank} directions"
            stages.append(Part(name, 1 - float(coming.mean()), early.cost))
        for at in range(order):
            share, came = (float((one & coming).mean()) for one in (found.settled == at, found.last >= at))
            stages.append(Part(f"order {at + 1}", share, came * float(spent[at])))
        left = float(((found.settled == order) & coming).mean())
        stages += [Part(part.stage, left * part.share, left * part.cost) for part in self.parts]
        return {
            "stages": [part.as_dict() for part in stages],
            "cost": round(sum(part.cost for part in stages), 3),
            "sample_rows": len(rows),
            "undecided": round(left, 5),
        }


def quadratic(svm: SVM, price: TaylorPrices) -> Fallback:
    """The sum in double where it is one quadratic function."""
    return Fallback(None, (Part("the quadratic function", 1.0, IN_DOUBLE * quadratic_cost(svm, price)),))


def direct(svm: SVM, own: SVM, rows: Array, left: Array, tune: str) -> Fallback | Instead:
    """The sum of all vectors."""
    first = DIRECT[tune]
    settings = AnytimeOptions(tune=tune, force=True, k_max=first, block=first, r_coords="0")
    return _make(svm, own, rows, left, settings, "the sum")


def bounds(svm: SVM, own: SVM, rows: Array, left: Array, tune: str) -> Fallback | Instead:
    """The bounds of `anytime` first."""
    return _make(svm, own, rows, left, AnytimeOptions(tune=tune, force=True), "its bounds")


def is_quadratic(svm: SVM) -> bool:
    """Whether the sum in double is one quadratic function, which needs no vectors."""
    return svm.kernel.kind == "poly" and svm.kernel.degree == 2


def quadratic_cost(svm: SVM, price: TaylorPrices) -> float:
    """Of a quadratic and a linear form of the features."""
    d = svm.kernel_width
    return price.form(d * (d + 1) // 2 + d)


def undecided_rows(choice: Choice) -> Array:
    """Sample rows that no order decides; all of them if there are none."""
    left = [leaf.sample[leaf.settled(choice.form) == choice.form.order] for leaf in choice.leaves]
    found = np.concatenate(left)
    return found if len(found) else choice.sample[0]


def _make(
    svm: SVM, own: SVM, rows: Array, sample: Array, options: AnytimeOptions, kind: str
) -> Fallback | Instead:
    program = bounded(svm, own, rows, sample, options)
    if isinstance(program, Instead):
        return program
    chosen: dict[str, Any] = program.origin.details["choice"]
    return Fallback(program, (Part(kind, 1.0, REDONE * float(chosen["cost"])),))


def make_jets(own: SVM, whole: RbfSum, rows: Array, parts: int, sharpen: int) -> Jets | None:
    """Jets between so many parts of the vectors; None where float32 could not be sure of any."""
    error = machine_error(own, whole.vectors)
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
        met, tried = count_met_and_tried(found, ends)
        return np.asarray(self.once + self.value * met + self.jet * tried)

    def by_block(self, found: Jets, rows: Array) -> list[Part]:
        """Of each block that ends in a jet, and of the rest of the sum."""
        seen, before, parts = found.blocks(rows), 0, list[Part]()
        stop, tried, jets = seen.stop, seen.tried, len(found.ends)
        for at, end in enumerate(found.all_ends.tolist()):
            came = (stop >= at) & seen.finite
            cost = self.value * (end - before) * came.mean() + (self.once if at == 0 else 0.0)
            cost += self.jet * (came & tried[:, at]).mean() if at < jets else 0.0
            share = (stop == at).mean() if at < jets else (stop >= at).mean()
            parts.append(Part(f"block {at + 1}" if at < jets else "the sum", float(share), float(cost)))
            before = end
        return parts


def best_jets(found: Jets, rows: Array, costs: Costs, most: int, whole: bool = False) -> Jets:
    """Of at most so many jets the cheapest for rows, or as many of them as there can be."""
    seen, ends, count = found.blocks(rows), found.all_ends, min(most, len(found.ends))
    tried = [
        list(kept)
        for size in range(count if whole else 1, count + 1)
        for kept in combinations(range(len(found.ends)), size)
    ]
    return found.some(
        min(tried, key=lambda some: costs.of_rows(_only(seen, some), ends[[*some, -1]]).mean())
    )


def _only(seen: Blocks, kept: list[int]) -> Blocks:
    """The blocks with some of the jets."""
    some = [*kept, -1]
    return seen._replace(scores=seen.scores[:, some], gaps=seen.gaps[:, some])


def jet_program(svm: SVM, own: SVM, found: Jets) -> Program:
    """Exact sum in double, blocks with jets, and the original's head."""
    builder = Builder(svm)
    node, tables = jet_node(found, *builder.row_and_exact(own.front))
    builder.hold(tables)
    builder.body.append(node)
    return builder.label_program(node.out, "certified")


def guard_width(svm: SVM) -> float:
    """What the float32 sum of a machine without preprocessing may be off by; infinite if not known."""
    weights, bias = np.abs(svm.coefficients), abs(float(svm.intercepts[0]))
    return rbf_width(svm.kernel, svm.vectors, weights, bias, longest=dot_chain(svm.n_features))


def guard_sum(svm: SVM, width: float) -> Program:
    """The program of a machine with one decision value."""
    builder = Builder(svm)
    exact = builder.exact_in_double()
    builder.body.append(ir.Guard("guarded", builder.exact_sums(), exact, width, "sign"))
    return builder.label_program("guarded", "certified")
