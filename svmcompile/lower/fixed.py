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
from svmcompile.ir.program import Claim, Number, Output, Program
from svmcompile.lower import cast_tables
from svmcompile.lower.fixed_rows import Row, Span, View, common_row, has_grid, own_row, view_of
from svmcompile.lower.fixed_sums import Fixed, fixed_affine, fixed_sum

SHARES = (1.0, 0.97, 0.94)  # of the largest scale that are tried
# Rows to come may go this share of a range beyond those seen, on either side.
MARGIN: dict[Number, float] = {"q7": 0.05, "q15": 0.25}
MOST_ROWS = 2000  # that scales are tried on
SUMS = (ir.KernelSum, ir.PairSum)
FIXABLE = (*SUMS, ir.Affine)
WHOLE_HEADS = (ir.Vote, ir.ArgMax, ir.Threshold)  # which take scores in whole numbers as they are


def fix(program: Program, number: Number, span: Span) -> Program:
    """The program in whole numbers whose labels differ least from the program's on the rows of the span."""
    program = _plain(own_tables(program))
    spans = _spans(program, span, number)
    judged = _Judged.of(program, span.rows)
    found = [_Fixer(program, number, spans, share).fixed() for share in _shares(program, spans)]
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
        if isinstance(node, (ir.BoundedSum, ir.BoundedVote, ir.TaylorSum)):
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
    views = [
        view_of(program, node.x)
        for node in _fixable(program)
        if getattr(getattr(node, "kernel", None), "kind", "") == "rbf"
    ]
    if not views:
        return [1.0]
    return [*SHARES, *([0.0] if all(has_grid(spans[view.base].seen(view)) for view in views) else [])]


@dataclass
class _Fixer:
    """Goes through a program and collects what it becomes."""

    program: Program
    number: Number
    spans: dict[str, Span]
    share: float
    body: list[Node] = field(default_factory=list)
    tables: dict[str, NDArray[Any]] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    scores: dict[str, Fixed] = field(default_factory=dict)

    def fixed(self) -> Program:
        fixable = {node.out for node in _fixable(self.program)}
        for node in self.program.body:
            if node.out in fixable:
                self._add(node)
            else:
                self._keep(node)
        outputs = tuple(
            Output(
                output.name, self._as_float(output.value) if output.value in self.scores else output.value
            )
            for output in self.program.outputs
        )
        body = _needed(self.body, {output.value for output in outputs})
        used = {name for node in body for name in table_names(node)}
        tables = {name: table for name, table in self.tables.items() if name in used}
        machine = self.program.replace(body=tuple(body), outputs=outputs, tables=tables, number=self.number)
        return check(self._told(machine.replace(tables=cast_tables(machine))))

    def _add(self, node: Any) -> None:
        view = view_of(self.program, node.x)
        row = self._row(node, view)
        tables = self.program.tables
        if isinstance(node, ir.Affine):
            made = fixed_affine(node, dict(tables), row, view, node.out)
        else:
            made = fixed_sum(node, dict(tables), row, view, self.number, node.out)
        self.scores[node.out] = made
        self.body.append(made.node)
        self.tables |= made.tables

    def _row(self, node: Any, view: View) -> Row:
        """The quantised row a node reads; one for all nodes that can share it."""
        distances = isinstance(node, SUMS) and node.kernel.kind == "rbf"
        key = node.x if distances else view.base
        shared = [
            row
            for name, row in self.rows.items()
            if name == key or (not distances and row.base == view.base)
        ]
        if shared:
            return shared[0]
        value = fresh(view.base, "q", [item.out for item in (*self.program.body, *self.body)])
        span = self.spans[view.base]
        if distances:
            seen = span.seen(view).and_also(self.program.tables[node.vectors])
            row = common_row(value, view, seen, self.number, self.share)
        else:
            row = own_row(value, view.base, span, self.number)
        self.rows[key] = row
        quantise, tables = row.node()
        self.body.append(quantise)
        self.tables |= tables
        return row

    def _keep(self, node: Node) -> None:
        """A node that stays as it is, and reads floats unless whole numbers do as well."""
        if not isinstance(node, WHOLE_HEADS):
            read = {name: self._as_float(name) for name in operands(node) if name in self.scores}
            node = _reading(node, read)
        if node.level is ir.Level.MATH:
            raise UnsupportedError(
                f"{type(node).__name__} has no form in fixed point; use --precision f32 or another method"
            )
        self.body.append(node)
        self.tables |= {name: self.program.tables[name] for name in table_names(node)}

    def _as_float(self, name: str) -> str:
        """The value as float."""
        made = f"{name}_real"
        if not any(node.out == made for node in self.body):
            self.body.append(ir.Dequantise(made, name, self.scores[name].unit))
        return made

    def _told(self, machine: Program) -> Program:
        """The program with what it says of itself."""
        row = next(iter(self.rows.values()))
        fixed = {
            "precision": self.number,
            "claim": machine.origin.claim.value,
            "error": max(made.error for made in self.scores.values()),
            "units": {name: made.unit for name, made in self.scores.items()},
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
