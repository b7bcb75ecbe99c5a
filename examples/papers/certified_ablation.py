"""What each variant of certified buys: C compiled without it, over C compiled with everything.

    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_ablation.py                    all sets
    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_ablation.py heart banana       some
    ... --variants gates jets                                                              some variants

A variant is switched off by an option where there is one, else by a patch of the one function or constant
that proposes it. Tables have a line for each set: what the program with everything costs, and as a ratio
what the program without the variant costs (above 1: the variant pays). A cell is empty where the program of
the set does not have the variant; 1 without decimals means that the very same C comes out. Rows are held
out. Times are those of the profile host, medians of runs in turn; instructions are those of portable C.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import certified_sets
import certified_votes
import numpy as np
from c_cost import CCost, Files, emitted_costs
from certified import machine
from common import dense, split, table

import svmcompile as sc
from svmcompile import lower
from svmcompile.accelerate.bounds.choose import Instead
from svmcompile.accelerate.certified import choose, fallback, method, options
from svmcompile.accelerate.certified.fallback import bounds, most_jets
from svmcompile.accelerate.certified.votes import votes
from svmcompile.accelerate.certified.votes.choose import Chooser
from svmcompile.accelerate.certified.votes.pairs import Pairs
from svmcompile.accelerate.taylor import spectra
from svmcompile.accelerate.taylor.sums import RbfSum
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Program
from svmcompile.lower import taylor as lower_taylor
from svmcompile.targets.c.nodes import taylor_host

ROWS = 2000  # timed
TURNS = 7
COUNTED, FEW_COUNTED = 2000, 100  # rows whose instructions are counted, of two and of several classes
LARGE = 65536
TUNES = ("host", "portable")
ONE, BATCH, PORTABLE = "ns of one row", "ns of a row in a batch", "instructions of a row"
MEASURES = (ONE, BATCH, PORTABLE, "bytes, host", "bytes, portable")
Off = Callable[[], AbstractContextManager[Any]]
Costs = dict[str, float]  # by measure


@dataclass(frozen=True)
class Trained:
    """A model, rows it was trained with and rows to measure with, and bytes that tables may take."""

    name: str
    model: Any
    X: Any
    rows: Any
    memory: int = 0
    several: bool = False  # classes

    def compiled(self, tune: str, **options: Any) -> Program:
        return sc.compile(
            self.model, method="certified", X=self.X, tune=tune, max_bytes=self.memory, **options
        )


@dataclass(frozen=True)
class Variant:
    """A part of the method: which programs have it, and how the compiler does without."""

    name: str
    used: Callable[[Program], bool]
    off: Off = nullcontext
    options: Mapping[str, Any] = field(default_factory=dict)
    layout: bool = False  # of C for the profile host alone: the program stays as it is

    def switched_off(self, one: Trained, tune: str, program: Program) -> tuple[Files, int]:
        """C without the variant, and the bytes of its tables; `program` has everything."""
        with self.off():
            own = program if self.layout else one.compiled(tune, **self.options)
            return sc.emit(own, "c", "model", profile=tune), table_bytes(own)


def choice(program: Program) -> dict[str, Any]:
    """What was chosen; nothing where the program has no polynomials."""
    details = program.origin.details
    return details["choice"] if details.get("emitted") in ("taylor", "polynomials") else {}


def table_bytes(program: Program) -> int:
    """Of polynomials and jets; 0 where there are none."""
    return sum(choice(program).get(name, 0) for name in ("bytes", "jet_bytes", "early_bytes"))


def has(kind: type[Any]) -> Callable[[Program], bool]:
    return lambda program: any(isinstance(node, kind) for node in program.body)


def stage(name: str) -> Callable[[Program], bool]:
    """Whether a bounded sum behind polynomials has a stage of that name."""
    bounded = has(ir.BoundedSum)
    return lambda one: bounded(one) and name in [part["stage"] for part in one.origin.details["stages"]]


def side_by_side(program: Program) -> bool:
    """Whether polynomials have a layout for vector instructions."""
    return bool(choice(program)) and not choice(program)["sparse"]


def patched(module: Any, **names: Any) -> Off:
    return lambda: patch.multiple(module, **names)


def give(value: Any) -> Callable[..., Any]:
    return lambda *_: value


def one_jet(d: int, room: int) -> int:
    return min(1, most_jets(d, room))


TWO_CLASSES = (
    Variant("order 3", lambda one: choice(one).get("order") == 3, patched(RbfSum, most_order=2)),
    Variant("centres", lambda one: choice(one).get("leaves", 1) > 1, options={"leaves": 1}),
    Variant("gates", lambda one: any(choice(one).get("gates", ())), patched(choose, choose_gates=give(()))),
    Variant(
        "axes",
        lambda one: choice(one).get("rank", 0) > 0,
        patched(choose, RANKS=(), CUBIC_RANKS=(), SPARSE_RANKS=()),
    ),
    Variant("sums of squares", lambda one: bool(choice(one)), patched(spectra, _sharpen=give(None))),
    Variant("picks", lambda one: choice(one).get("sparse", False), patched(choose, _sparse_forms=give([]))),
    Variant("early", lambda one: "early_rank" in choice(one), patched(choose, early_front=give(None))),
    Variant("guarded", has(ir.Guard), patched(method, guarded_cost=give(math.inf))),
    Variant("direct", stage("the sum"), patched(fallback, direct=bounds)),
    Variant("anytime", stage("its bounds"), patched(fallback, bounds=give(Instead("switched off")))),
    Variant("jets", has(ir.JetSum), patched(options, WITHOUT_JETS=TUNES)),
    Variant("blocks", has(ir.JetSum), patched(fallback, most_jets=one_jet)),
)
LAYOUTS = (
    Variant("vectors", side_by_side, patched(lower, tile_taylor=give(None)), layout=True),
    Variant("planes", side_by_side, patched(lower_taylor, MOST_LEAVES=0), layout=True),
    Variant("chunks", side_by_side, patched(taylor_host, CHUNK=0), layout=True),
    Variant("lanes", side_by_side, patched(taylor_host, lies_beside=give(False)), layout=True),
    Variant("tiles", side_by_side, patched(taylor_host, TILES=1), layout=True),
)
LAID_OUT = ("ijcnn1", "heart", "diabetis", "banana", "german")  # sets whose layouts are measured
VOTES = ("digits", "pendigits, 160 kB", "digits, rest")
SEVERAL_CLASSES = (
    Variant("order 2", lambda one: choice(one).get("order") == 2, options={"order": 1}),
    Variant("centres", lambda one: choice(one).get("centres", 1) > 1, options={"leaves": 1}),
    Variant("axes", lambda one: choice(one).get("rank", 0) > 0, options={"rank": 0}),
    Variant("sharper", has(ir.TaylorVote), patched(Chooser, _sharpen=lambda _, one: one)),
    Variant("zeros", has(ir.TaylorVote), patched(Pairs, sparse=False)),
    Variant("anytime", has(ir.BoundedVote), patched(votes, _anytime=give(None))),
)


def trained(words: Sequence[str]) -> Iterator[Trained]:
    """Sets of `certified.py` and some of `certified_votes.py`, and one whose rows are mostly zeros."""
    census = certified_sets.Case("a9a, 3000 rows", few_of_a9a, 1.0, 0.008, 0)
    memories = {"image": (0, LARGE), "letter B-R": (0, LARGE)}
    for case in (*certified_sets.CASES, census):
        for memory in memories.get(case.name, (0,)):
            name = f"{case.name}, {memory // 1024} kB" if memory else case.name
            if wanted(name, words):
                X, y, held = case.rows()
                yield Trained(name, machine(case, X, y, 0).fit(X, y), X, some(held), memory)
    images = certified_votes.Case("mnist, 1000 rows", few_images, 10.0, 0.005)
    for vote in (*certified_votes.CASES, images):
        if vote.name in (*VOTES, images.name) and wanted(vote.name, words):
            X, y, held = vote.rows()
            yield Trained(vote.name, vote.fitted(X, y), X, some(held), vote.max_bytes, several=True)


def few_of_a9a() -> certified_sets.Rows:
    found = split("a9a", 3000, certified_sets.HELD)
    return dense(found.X), found.y, dense(found.X_test)


def few_images() -> certified_votes.Rows:
    X, y, held = certified_votes.mnist()
    return X[:1000], y[:1000], held


def wanted(name: str, words: Sequence[str]) -> bool:
    return not words or any(name.startswith(word) for word in words)


def some(held: Any) -> Any:
    return np.resize(held, (ROWS, held.shape[1]))


def measured(one: Trained, variants: Sequence[Variant], tune: str) -> dict[str, Costs]:
    """Costs of the program with everything (""), and without each variant that it has."""
    program = one.compiled(tune)
    made: dict[str, tuple[Files, int]] = {
        "": (sc.emit(program, "c", "model", profile=tune), table_bytes(program))
    }
    for variant in variants:
        if variant.used(program) and (tune == "host" or not variant.layout):
            print(f"{one.name}, {tune}, without {variant.name}", file=sys.stderr, flush=True)
            made[variant.name] = variant.switched_off(one, tune, program)
    files = {name: own for name, (own, _) in made.items() if not name or own != made[""][0]}
    counted = 0 if tune == "host" else FEW_COUNTED if one.several else COUNTED
    turns = TURNS if tune == "host" else 1
    found = emitted_costs([*files.values()], one.rows, counted, turns)
    costs = dict(zip(files, found, strict=True))
    return {name: by_measure(costs.get(name, costs[""]), size, tune) for name, (_, size) in made.items()}


def by_measure(cost: CCost, size: int, tune: str) -> Costs:
    if tune == "host":
        return {ONE: cost.nanoseconds, BATCH: cost.batch_nanoseconds, "bytes, host": size}
    return {PORTABLE: cost.instructions, "bytes, portable": size}


def line(name: str, costs: Mapping[str, Costs], variants: Sequence[Variant], measure: str) -> list[str]:
    """What a set costs, and the ratios of the variants."""
    own = costs[""][measure]
    found = [costs.get(variant.name, {}).get(measure) for variant in variants]
    return [name, f"{own:.0f}", *("" if cost is None else ratio(cost, own) for cost in found)]


def ratio(cost: float, own: float) -> str:
    return "1" if cost == own else f"{cost / own:.2f}" if own else "-"


def show(sets: Sequence[Trained], variants: Sequence[Variant]) -> None:
    """All tables of some sets, printed once they are measured."""
    if not sets or not variants:
        return
    found: dict[str, dict[str, Costs]] = {}
    tunes = [tune for tune in TUNES if tune == "host" or not variants[0].layout]
    measures = [one for one in MEASURES if len(tunes) > 1 or one in (ONE, BATCH)]
    for one in sets:
        costs: dict[str, Costs] = {}
        for tune in tunes:
            for name, own in measured(one, variants, tune).items():
                costs.setdefault(name, {}).update(own)
        found[one.name] = costs
        for measure in measures:
            print(*line(one.name, costs, variants, measure), sep=" | ", file=sys.stderr, flush=True)
    head = ["set", "with all", *(variant.name for variant in variants)]
    for measure in measures:
        lines = [line(name, costs, variants, measure) for name, costs in found.items()]
        print(table(f"{measure}, and without a variant over that", head, lines), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--variants", nargs="*", default=[])
    words = parser.parse_args()
    sets = list(trained(words.sets))
    if not sets:
        parser.error(f"no set is called {' or '.join(words.sets)}")
    two = [one for one in sets if not one.several]
    for variants, own in (
        (TWO_CLASSES, two),
        (LAYOUTS, [one for one in two if one.name in LAID_OUT]),
        (SEVERAL_CLASSES, [one for one in sets if one.several]),
    ):
        show(own, [one for one in variants if not words.variants or one.name in words.variants])


if __name__ == "__main__":
    main()
