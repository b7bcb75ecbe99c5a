"""Programs whose bounds are as wide as their scores are large, and whose exact answers are wrong.

A bound that is too small hardly ever gives another label: bounds are wider than what rounding does. Here
the label tells whether a bound or the exact answer decided a row, so that code has to hold to the very
inequality that a node states. The bounds of one level are widened at a time, until a share of the rows is
in doubt; those of other levels are so wide that they decide nothing. Once more scores and bounds are zero,
where it matters whether a score must be above its bound, or may be equal to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import Bounds
from svmcompile.ir.graph import maker
from svmcompile.ir.interpret import interpret
from svmcompile.ir.node import TABLES, At, Node
from svmcompile.ir.program import Program
from svmcompile.targets.c.self_test import SelfTest
from tests.crossing.judged import Expected, rows_of
from tests.mutants.jobs import DOUBT, Job

FIRST = ("widths", "residuals", "slacks", "margins", "loose", "gaps")  # stand in one inequality
LATER = ("rounding", "closer")  # those of direct sums, each a level of its own
BY_ENTRY = (*LATER, "widths")  # whose last axis says different things
SCORES = ("weights", "bias", "projection", "projections", "estimates", "offsets", "constants", "slopes",
          "squares", "cubes", "middles")  # what scores are made of  # fmt: skip
WRONG = "wrong_"
EXACT = (0.0, 1e-60)  # a tie, and a sum whose sign is lost if it becomes float32 too early
HUGE = 1e12  # a bound that decides nothing
DECIDED = 0.3  # of the rows that can be, when all bounds of a level are widened
LEAST = 0.1  # of the rows at least, else a level does not matter
FACTORS = np.logspace(-8, 24, 257)  # by which bounds are widened
NEAR = 1e-3  # how far a bound may be off, and
ROUNDING = 2e-6  # how far rounding may move a row, each in its own size
COUNT = 250  # rows

Part = tuple[str, int | None]  # a field, and the entry if each says something else
Factors = Mapping[Part, float]


@dataclass(frozen=True)
class Level:
    """The bounds of a node that stand in one inequality, at one order."""

    node: Any
    names: tuple[str, ...]
    order: int | None = None

    def __str__(self) -> str:
        order = "" if self.order is None else f" {self.order + 1}"
        return f"{type(self.node).__name__} {self.names[0]}{order}"

    def parts(self, program: Program) -> Iterator[Part]:
        """What is widened one after the other."""
        for name in self.names:
            if name in BY_ENTRY:
                table = program.tables[getattr(self.node, name)]
                yield from ((name, at) for at in range(table.shape[-1]) if table[..., at].any())
            else:
                yield name, None


@dataclass(frozen=True, eq=False)
class Doubtful(Job):
    """An emission of such a program, with rows whose label is known."""

    known: Any = None

    @property
    def expected(self) -> Expected:  # type: ignore[override]
        return self.known  # type: ignore[no-any-return]


def doubtful(one: Job) -> Iterator[Doubtful]:
    """A job's program with the bounds of each level widened; none where code has units of its own."""
    assert one.emitted.code
    code = one.emitted.code
    wrong = with_wrong_answers(code.program) if code.meaning is code.program else None
    if wrong is None:
        return
    X = rows_of(code.program, mixed(one.X), one.request.number, COUNT)
    test = SelfTest(np.zeros((0, X.shape[1])), np.zeros((0, 1)), None, np.zeros(0))
    for at, level in enumerate(levels(wrong)):
        forms = {str(level): widened(wrong, level, X), f"{level} at zero": at_zero(wrong, level)}
        forms |= {f"exact sums of {value}": with_sums(wrong, level, value) for value in EXACT if not at}
        for name, found in forms.items():
            if found:
                known = expected(found, level, one.request.number, X)
                emitted = replace(one.emitted, code=replace(code, program=found, meaning=found), test=test)
                yield Doubtful(f"{one.name}{DOUBT}{name}", found, one.request, emitted, X, known=known)


def mixed(X: Any) -> Any:
    """Half of the rows as they are, half between two and a little beyond, so that scores have all sizes."""
    random = np.random.default_rng(4)
    a, b = (X[random.integers(0, len(X), COUNT)] for _ in range(2))
    way = np.where(np.arange(COUNT) % 2, random.uniform(-0.2, 1.2, COUNT), 0.0)[:, None]
    return a + way * (b - a)


def with_wrong_answers(program: Program) -> Program | None:
    """The last exact sums have the other sign; None if there are none, or no label."""
    lazy = [node for node in program.body if hasattr(node, "exact") and bounds_of(node)]
    if not lazy or "label" not in {output.name for output in program.outputs}:
        return None
    node: Any = maker(program, lazy[0].exact)
    while node is not None and not hasattr(node, "bias"):
        node = maker(program, ir.operands(node)[0])
    if node is None or not {node.weights, node.bias} <= {*program.tables}:
        return None
    names = {name: f"{WRONG}{name}" for name in (node.weights, node.bias)}
    other = replace(node, weights=names[node.weights], bias=names[node.bias])
    body = tuple(other if one is node else one for one in program.body)
    tables = {**program.tables, **{new: -program.tables[old] for old, new in names.items()}}
    used = {getattr(one, field.name) for one in body for field in fields(one) if field.type in TABLES}
    return program.replace(body=body, tables={name: tables[name] for name in tables if name in used})


def bounds_of(node: Node) -> list[str]:
    """Fields that bound what a node is off by."""
    if isinstance(node, ir.Guard):
        return ["width"] if np.isfinite(node.width) else []
    return [name for name in (*FIRST, *LATER) if getattr(node, name, "")]


def levels(program: Program) -> Iterator[Level]:
    for node in program.body:
        names = bounds_of(node)
        if first := tuple(name for name in names if name not in LATER):
            by_order = hasattr(node, "gaps") and not isinstance(node, ir.JetSum)
            orders = len(At(node, program.tables).margins) if by_order else 1
            yield from (Level(node, first, order) for order in (range(orders) if orders > 1 else (None,)))
        yield from (Level(node, (name,)) for name in names if name in LATER)


def widened(program: Program, level: Level, X: Any) -> Program | None:
    """The program with the bounds of a level widened, part by part; None if that decides nothing."""
    right = interpret(with_bounds(program, level, {}, others=zero), X)["label"]  # nothing is in doubt
    wrong = interpret(with_bounds(program, level, None), X)["label"]
    can_tell = np.isfinite(X).all(axis=1) & (right != wrong).reshape(len(X), -1).any(axis=1)
    chosen: dict[Part, float] = {}

    def share(part: Part | None = None, factor: float = 0.0) -> float:
        factors = {**chosen, part: factor} if part else chosen
        label = interpret(with_bounds(program, level, factors), X)["label"]
        return float((label == right)[can_tell].mean()) if can_tell.any() else 0.0

    known = whole = share()
    parts = [*level.parts(program)]
    for at, part in enumerate(parts):
        wanted = whole * (1 - (1 - DECIDED) * (at + 1) / len(parts))
        if share(part, FACTORS[-1]) > wanted:
            continue  # it does not count for these rows
        low, high = 0, len(FACTORS) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if share(part, FACTORS[middle]) > wanted else (low, middle)
        chosen[part] = FACTORS[low]
        known = share()
    return with_bounds(program, level, chosen) if LEAST < known < whole else None


def at_zero(program: Program, level: Level) -> Program | None:
    """The program with scores and bounds of a level that are exactly zero; None if exact sums were, too."""
    node = level.node
    if isinstance(node, ir.Certain | ir.Guard):
        node = maker(program, node.scores if isinstance(node, ir.Certain) else node.score)
    names = (*SCORES, "columns", "starts") if isinstance(node, ir.PickedTaylor) else SCORES
    held = {getattr(node, name, "") for name in names} & {*program.tables}
    if any(name.startswith(WRONG) for name in held):
        return None
    zeros = {name: np.zeros_like(program.tables[name]) for name in held}
    return with_bounds(program.replace(tables={**program.tables, **zeros}), level, {})


def with_sums(program: Program, level: Level, value: float) -> Program:
    """The program without any bound that decides, and exact sums that all have a value."""
    of_sums = {name: table for name, table in program.tables.items() if name.startswith(WRONG)}
    zeros = {name: np.zeros_like(table) for name, table in of_sums.items()}
    zeros |= {name: table + value for name, table in zeros.items() if table.ndim == 1}
    return with_bounds(program.replace(tables={**program.tables, **zeros}), level, None)


def blind(name: str, table: Any) -> Any:
    """A bound so wide that it decides nothing."""
    made = np.asarray(table, dtype=np.float64).copy()
    if name in ("margins", "width"):
        made[...] = HUGE
    elif name == "widths":
        made[0] = HUGE
    elif name in LATER:  # the part that grows with the sum may stand in an earlier inequality, too
        made[..., 1] = HUGE
    return made


def zero(name: str, table: Any) -> Any:
    return np.zeros_like(table, dtype=np.float64)


def with_bounds(program: Program, level: Level, factors: Factors | None, others: Any = blind) -> Program:
    """The program with the bounds of a level times factors, or blind, those of others made by `others`."""
    tables, body = dict(program.tables), []
    for node in program.body:
        for name in bounds_of(node):
            table = node.width if isinstance(node, ir.Guard) else program.tables[getattr(node, name)]
            if node.out != level.node.out or name not in level.names:
                made = others(name, table)
            else:
                made = blind(name, table) if factors is None else scaled(name, table, level, factors)
            if isinstance(node, ir.Guard):
                node = replace(node, width=float(made))
            else:
                tables[getattr(node, name)] = np.minimum(made, 1e30).astype(table.dtype)
        body.append(node)
    return program.replace(body=tuple(body), tables=tables)


def scaled(name: str, table: Any, level: Level, factors: Factors) -> Any:
    """Bounds, each a little more or less than its factor says; those of other orders decide nothing."""
    random = np.random.default_rng(len(name))
    made = np.maximum(table, 1e-9 * (name == "width")) * np.exp(random.uniform(-0.5, 0.5, np.shape(table)))
    if name in BY_ENTRY:
        made *= [factors.get((name, at), 0.0) for at in range(table.shape[-1])]
    else:
        made *= factors.get((name, None), 0.0)
    if level.order is not None and name == "margins":
        made[np.arange(len(made)) != level.order] = HUGE
    return made


def expected(program: Program, level: Level, number: Any, X: Any) -> Expected:
    """The labels of rows; unstable where a little more, or less, of anything gives another."""
    meant = interpret(program, X)
    random, unstable = np.random.default_rng(5), ~np.isfinite(X).all(axis=1)
    for more in (1 - NEAR, 1 + NEAR):
        tables, body = dict(program.tables), []
        for node in program.body:
            is_guard = isinstance(node, ir.Guard)
            body.append(replace(node, width=node.width * more) if is_guard else node)  # type: ignore[call-arg]
        for held in (getattr(level.node, name) for name in level.names if name != "width"):
            tables[held] = tables[held] * more
        moved = X * (1 + ROUNDING * random.choice((-1, 1), X.shape))
        for other, rows in ((program.replace(body=tuple(body), tables=tables), X), (program, moved)):
            with np.errstate(all="ignore"):
                label = interpret(other, rows)["label"]
            unstable |= (label != meant["label"]).reshape(len(X), -1).any(axis=1)
    ends = {name: np.full(np.shape(value), np.inf) for name, value in meant.items()}
    none = np.zeros((len(X), 0))
    bounds = Bounds(ends.get("scores", none), unstable, ends.get("probabilities", none), none)
    return Expected(program, number, X, meant, bounds)
