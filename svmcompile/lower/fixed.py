"""fix: a math program becomes one in whole numbers, "q15" or "q7".

Sums over kernels, affine functions and trees are computed in whole numbers, from a row that is quantised
once. What comes before (preprocessing beyond scaling) and after (decision values as the caller sees them)
stays in float. Scales are chosen by the range of each feature and tried out on the rows given.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.nodes import Node, operands, table_names
from svmcompile.ir.own import fresh, own_tables
from svmcompile.ir.program import Claim, Number, Output, Program, WholeInput
from svmcompile.lower import cast_tables
from svmcompile.lower.fixed_quadratic import fixed_quadratic
from svmcompile.lower.fixed_rows import (
    INT32,
    Row,
    Span,
    View,
    common_row,
    from_whole,
    has_grid,
    input_row,
    own_row,
    view_of,
)
from svmcompile.lower.fixed_sums import Fixed, fixed_affine, fixed_sum
from svmcompile.lower.fixed_trees import fixed_axes, fixed_leaf_sums, fixed_leaves, fixed_path, fixed_planes

SHARES = (1.0, 0.97, 0.94)  # of the largest scale that are tried
# Rows to come may go this share of a range beyond those seen, on either side.
MARGIN: dict[Number, float] = {"q7": 0.05, "q15": 0.25}
MOST_ROWS = 2000  # that scales are tried on
SUMS = (ir.KernelSum, ir.PairSum)
WITH_KERNEL = (*SUMS, ir.PathSum, ir.LeafSums)
TESTS = (ir.AxisRoute, ir.PlaneRoute, ir.PlaneLists)
FIXABLE = (*WITH_KERNEL, *TESTS, ir.Affine, ir.Quadratic, ir.LeafAffine)
JOINED = (ir.Add, ir.Guard)  # whose operands must be in one unit
WHOLE_HEADS = (ir.Vote, ir.ArgMax, ir.Threshold)  # which take scores in whole numbers as they are


def fix(program: Program, number: Number, span: Span, given: WholeInput = "") -> Program:
    """The program in whole numbers whose labels differ least from the program's on the rows of the span.

    Rows are floats, or whole numbers of the type `given`.
    """
    program = _plain(own_tables(program))
    spans = _spans(program, span, number)
    judged = _Judged.of(program, span.rows)
    program = program.replace(input=replace(program.input, number=given))
    found = [_fixed(program, number, spans, share) for share in _shares(program, spans)]
    best, badness = min(((one, judged.badness(one)) for one in found), key=lambda pair: pair[1])
    return judged.noted(best, badness)


def range_of_rows(rows: NDArray[Any]) -> Span:
    """The range of each feature in some rows of finite numbers."""
    kept = rows[np.isfinite(rows).all(axis=1)].astype(np.float64)
    if not len(kept):
        raise OptionError("the data for ranges has no row of finite numbers")
    step = -(-len(kept) // MOST_ROWS)
    return Span(kept.min(axis=0), kept.max(axis=0), kept[::step])


def widened(span: Span, number: Number) -> Span:
    """A range seen, with room for rows that go beyond."""
    room = MARGIN[number] * (span.high - span.low)
    return Span(span.low - room, span.high + room, span.rows)


def given_range(low: Any, high: Any, n_features: int, rows: NDArray[Any] | None = None) -> Span:
    """A range given for all features, or for each, and rows to try scales on."""
    ends = [np.broadcast_to(np.asarray(end, dtype=np.float64), (n_features,)) for end in (low, high)]
    if not np.isfinite(ends).all() or (ends[0] > ends[1]).any():
        raise OptionError("a range goes from a lower to a higher number, both finite")
    return Span(ends[0], ends[1], rows)


def _plain(program: Program) -> Program:
    """The program without what only saves time or cannot be had: sums that stop early, probabilities."""
    notes = list(program.origin.notes)
    outputs = tuple(output for output in program.outputs if output.name != "probabilities")
    if len(outputs) < len(program.outputs):
        notes.append("probabilities are left out in fixed point; they need f32 or f64")
    body: list[Node] = []
    instead: dict[str, str] = {}
    for node in program.body:
        node = _reading(node, instead)
        if isinstance(node, (ir.BoundedSum, ir.BoundedVote, ir.TaylorSum, ir.TaylorVote)):
            instead[node.out] = instead.get(node.exact, node.exact)
            notes.append("fixed point adds up all vectors, whatever the method would leave out")
        else:
            body.append(node)
    outputs = tuple(replace(output, value=instead.get(output.value, output.value)) for output in outputs)
    kept = _needed(body, {output.value for output in outputs})
    used = {name for node in kept for name in table_names(node)}
    tables = {name: table for name, table in program.tables.items() if name in used}
    origin = replace(program.origin, notes=tuple(dict.fromkeys(notes)))
    return program.replace(body=tuple(kept), outputs=outputs, tables=tables, origin=origin)


def _needed(body: Iterable[Node], wanted: set[str]) -> list[Node]:
    """The nodes that lead to some values."""
    kept: list[Node] = []
    for node in reversed(list(body)):
        if node.out in wanted:
            kept.append(node)
            wanted = wanted | set(operands(node))
    return kept[::-1]


def _reading(node: Node, instead: dict[str, str]) -> Node:
    """The node with some of the values it reads replaced."""
    changes: dict[str, Any] = {
        name: instead[getattr(node, name)]
        for name in node.__dataclass_fields__
        if name != "out" and isinstance(getattr(node, name), str) and getattr(node, name) in instead
        and node.__dataclass_fields__[name].type in ("Value", "Lazy")
    }  # fmt: skip
    return replace(node, **changes) if changes else node


def _fixable(program: Program) -> list[Any]:
    """Nodes to be computed in whole numbers: sums that are no step of preprocessing."""
    steps = {name for node in program.body if isinstance(node, ir.AsFeatures) for name in operands(node)}
    return [node for node in program.body if isinstance(node, FIXABLE) and node.out not in steps]


def _by_distance(node: Node) -> bool:
    """Whether a node needs all features in one scale."""
    return isinstance(node, WITH_KERNEL) and node.kernel.kind == "rbf"


def _spans(program: Program, span: Span, number: Number) -> dict[str, Span]:
    """The range of all features that are quantised."""
    bases = dict.fromkeys(view_of(program, node.x).base for node in _fixable(program))
    made = [base for base in bases if base != program.input.name]
    if made and span.rows is None:
        raise OptionError(
            "preprocessing makes new features here, whose ranges follow from data only; give rows"
        )
    values = interpret_values(program, span.rows, made) if made and span.rows is not None else {}
    return {
        base: widened(range_of_rows(values[base]), number) if base in values else span for base in bases
    }


def _shares(program: Program, spans: dict[str, Span]) -> list[float]:
    """Scales worth trying where distances are computed."""
    views = [view_of(program, node.x) for node in _fixable(program) if _by_distance(node)]
    if not views:
        return [1.0]
    return [*SHARES, *([0.0] if all(has_grid(spans[view.base].seen(view), view) for view in views) else [])]


def _alike(view: View, other: View) -> bool:
    """Whether distances are the same in both."""
    return view.base == other.base and np.array_equal(view.slope, other.slope)


def _placed(body: list[Node]) -> list[Node]:
    """Nodes in an order in which each comes after what it reads."""
    placed: list[Node] = []
    waiting = list(body)
    names = {node.out for node in body}
    while waiting:
        done = {node.out for node in placed}
        ready = next(n for n in waiting if all(name in done or name not in names for name in operands(n)))
        placed.append(ready)
        waiting.remove(ready)
    return placed


def _fixed(program: Program, number: Number, spans: dict[str, Span], share: float) -> Program:
    """The program in whole numbers; scores that are joined are made again in one unit."""
    fixer = Fixer(program, number, spans, share)
    made = fixer.fixed()
    units = fixer.joined_units()
    return Fixer(program, number, spans, share, units).fixed() if units else made


@dataclass
class Fixer:
    """Goes through a program and collects what it becomes."""

    program: Program
    number: Number
    spans: dict[str, Span]
    share: float
    units: dict[str, float] = field(default_factory=dict)  # of scores, where not the finest
    body: list[Node] = field(default_factory=list)
    tables: dict[str, NDArray[Any]] = field(default_factory=dict)
    rows: list[tuple[View, Row]] = field(default_factory=list)
    scores: dict[str, Fixed] = field(default_factory=dict)
    slacks: dict[str, list[float]] = field(default_factory=dict)

    def fixed(self) -> Program:
        fixable = _fixable(self.program)
        for node in fixable:
            if _by_distance(node):
                self._add_common_row(node, fixable)
        names = {node.out for node in fixable}
        for node in self.program.body:
            if node.out not in names or not self._add(node):
                self._keep(node)
        outputs = tuple(
            Output(
                output.name, self._as_float(output.value) if output.value in self.scores else output.value
            )
            for output in self.program.outputs
        )
        body = _needed(_placed(self.body), {output.value for output in outputs})
        used = {name for node in body for name in table_names(node)}
        tables = {name: table for name, table in self.tables.items() if name in used}
        machine = self.program.replace(body=tuple(body), outputs=outputs, tables=tables, number=self.number)
        return check(self._told(machine.replace(tables=cast_tables(machine))))

    def joined_units(self) -> dict[str, float]:
        """One unit for all scores that are added or chosen between, coarse enough for their sum."""
        groups: list[set[str]] = []
        for node in self.program.body:
            if isinstance(node, JOINED):
                own = {node.out, *operands(node)}
                touched = [group for group in groups if group & own]
                groups = [group for group in groups if not group & own] + [own.union(*touched)]
        found: dict[str, float] = {}
        own_units = {node.out for node in self.program.body if getattr(node, "order", "") == "dag"}
        for group in groups:
            if group & own_units:  # votes of a graph are ones, and are joined as floats
                continue
            units = [self.scores[name].unit for name in sorted(group) if name in self.scores]
            found |= dict.fromkeys(group, float(np.float32(1.01 * sum(units))))
        return found

    def _add(self, node: Any) -> bool:
        """The node in whole numbers, if it has such a form."""
        view, tables = view_of(self.program, node.x), dict(self.program.tables)
        row, unit = self._row(view, _by_distance(node)), self.units.get(node.out, 0.0)
        if isinstance(node, ir.Affine):
            made: Fixed | None = fixed_affine(node, tables, row, view, unit)
        elif isinstance(node, ir.Quadratic):
            made = fixed_quadratic(node, tables, row, view, unit)
        elif isinstance(node, SUMS):
            made = fixed_sum(node, tables, row, view, self.number, unit)
        elif isinstance(node, ir.AxisRoute):
            made = fixed_axes(node, tables, row, view)
        elif isinstance(node, (ir.PlaneRoute, ir.PlaneLists)):
            made = fixed_planes(node, tables, row, view, unit)
        elif isinstance(node, ir.LeafAffine):
            made = fixed_leaves(node, tables, row, view, unit)
        else:
            make = fixed_path if isinstance(node, ir.PathSum) else fixed_leaf_sums
            made = make(node, tables, row, view, self.number, unit)
        if made is None:
            return False
        self._take(node, made)
        return True

    def _take(self, node: Any, made: Fixed) -> None:
        if not isinstance(node, (ir.AxisRoute, ir.PlaneRoute)):
            self.scores[node.out] = made
        if made.slack is not None:
            self.slacks[node.out] = made.slack.tolist()
        self.body.append(made.node)
        self.tables |= made.tables

    def _add_common_row(self, node: Any, fixable: list[Any]) -> None:
        """The row of distances, for all nodes whose features differ by shifts alone."""
        view = view_of(self.program, node.x)
        if any(_alike(view, other) for other, _ in self.rows):
            return
        span = self.spans[view.base].seen(view)
        for other in fixable:
            own = view_of(self.program, other.x)
            if _by_distance(other) and _alike(view, own):
                span = span.and_also(self.program.tables[other.vectors] - own.start + view.start)
        row = common_row(self._row_name(view), view, span, self.number, self.share)
        self._add_row(view, self._bytes(view) if self._takes_bytes(view) else row)

    def _row(self, view: View, distances: bool) -> Row:
        """The quantised row a node reads."""
        for other, row in self.rows:
            if _alike(view, other) if distances else view.base == other.base:
                return row
        row = own_row(self._row_name(view), view.base, self.spans[view.base], self.number)
        if self._takes_bytes(View(view.base, np.ones(1), np.zeros(1))):
            row = self._bytes(view)
        return self._add_row(View(view.base, np.zeros(0), np.zeros(0)), row)

    def _takes_bytes(self, view: View) -> bool:
        """Whether bytes can be taken as they come: all features count alike, and upwards."""
        given = self.program.input
        alike = bool((view.slope == view.slope[0]).all()) and bool(view.slope[0] > 0)
        return given.number == "u8" and view.base == given.name and alike

    def _bytes(self, view: View) -> Row:
        return input_row(view.base, self.program.n_features, self.number)

    def _row_name(self, view: View) -> str:
        return fresh(view.base, "q", [item.out for item in (*self.program.body, *self.body)])

    def _add_row(self, view: View, row: Row) -> Row:
        row = replace(row, made=row.base != self.program.input.name)
        if self.program.input.number and not row.made and not row.as_it_is:
            row = from_whole(row, self.program.input.number)
        self.rows.append((view, row))
        if row.as_it_is:
            return row
        quantise, tables = row.node()
        self.body.append(quantise)
        self.tables |= tables
        return row

    def _keep(self, node: Node) -> None:
        """A node that stays as it is, and reads floats unless whole numbers do as well."""
        if isinstance(node, JOINED) and node.out in self.units and self._in_one_unit(node):
            self._join(node)
            return
        if not isinstance(node, WHOLE_HEADS):
            read = {name: self._as_float(name) for name in operands(node) if name in self.scores}
            node = _reading(node, read)
        if node.level is ir.Level.MATH:
            raise UnsupportedError(
                f"{type(node).__name__} has no form in fixed point; use --precision f32 or another method"
            )
        self.body.append(node)
        self.tables |= {name: self.program.tables[name] for name in table_names(node)}

    def _in_one_unit(self, node: Node) -> bool:
        units = [self.scores[name].unit for name in operands(node) if name in self.scores]
        return len(units) == len(operands(node)) and np.allclose(units, units[0], rtol=1e-6)

    def _join(self, node: Any) -> None:
        """Scores in one unit stay whole numbers."""
        made = [self.scores[name] for name in operands(node)]
        unit, error = made[0].unit, sum(one.error for one in made)
        if isinstance(node, ir.Guard):
            width = min(float(np.ceil(node.width / unit)), float(INT32))
            node, error = replace(node, width=width), max(one.error for one in made)
            self.slacks[node.out] = [2 * error / unit + 1]
        self.scores[node.out] = Fixed(node, {}, unit, error)
        self.body.append(node)

    def _as_float(self, name: str) -> str:
        """The value as float."""
        made = f"{name}_real"
        if not any(node.out == made for node in self.body):
            self.body.append(ir.Dequantise(made, name, self.scores[name].unit))
        return made

    def _told(self, machine: Program) -> Program:
        """The program with what it says of itself."""
        if not self.rows:
            raise UnsupportedError(
                "nothing in this program can be computed in fixed point; use --precision f32"
            )
        row = self.rows[0][1]
        fixed = {
            "precision": self.number,
            "claim": machine.origin.claim.value,
            "error": max(made.error for made in self.scores.values()),
            "units": {name: made.unit for name, made in self.scores.items()},
            "slacks": self.slacks,
        }
        if row.base == self.program.input.name:
            fixed |= {"low": row.span.low.tolist(), "high": row.span.high.tolist()}
        details = {**machine.origin.details, "fixed": fixed}
        origin = replace(machine.origin, claim=Claim.APPROXIMATE, details=details)
        return machine.replace(origin=origin)


@dataclass(frozen=True, eq=False)
class _Judged:
    """What the math program says of some rows."""

    rows: NDArray[Any] | None
    outputs: dict[str, NDArray[Any]]

    @classmethod
    def of(cls, program: Program, rows: NDArray[Any] | None) -> _Judged:
        return cls(rows, {} if rows is None else interpret(program, rows))

    def badness(self, fixed: Program) -> tuple[float, float, float]:
        """Share of labels that differ, mean error of scores, and the stated bound."""
        bound = fixed.origin.details["fixed"]["error"]
        if self.rows is None:
            return 0.0, bound, bound
        found = interpret(fixed, self.rows)
        labels = float((found["label"] != self.outputs["label"]).mean()) if "label" in found else 0.0
        names = [name for name in found if name != "label"]
        off = sum(float(np.abs(found[name] - self.outputs[name]).mean()) for name in names)
        return labels, off, bound

    def noted(self, fixed: Program, badness: tuple[float, float, float]) -> Program:
        """The program with the share of labels that differ among what it says of itself."""
        if self.rows is None:
            return fixed
        own = {**fixed.origin.details["fixed"], "disagreement": badness[0], "rows": len(self.rows)}
        details = {**fixed.origin.details, "fixed": own}
        return fixed.replace(origin=replace(fixed.origin, details=details))
