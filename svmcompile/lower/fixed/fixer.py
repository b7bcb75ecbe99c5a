"""Fixer: goes through a math program and collects what it becomes in whole numbers, node by node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.check import check
from svmcompile.ir.graph import Tables, fresh, leading_to
from svmcompile.ir.node import VALUES
from svmcompile.ir.program import Claim, Output, Program
from svmcompile.ir.whole_numbers import BYTE, fit_strides
from svmcompile.lower import cast_tables
from svmcompile.lower.fixed.projections import (
    WITH_KERNEL,
    by_distance,
    fixed_projection,
    mixed_sums,
    projection_of,
    row_of_sums,
    source_row,
    unit_to_mix,
)
from svmcompile.lower.fixed.rows import (
    INT32,
    Row,
    Span,
    Trial,
    View,
    common_row,
    from_whole,
    input_row,
    own_row,
    view_of,
)
from svmcompile.lower.fixed.sums import Fixed, fixed_affine, fixed_quadratic, fixed_sum
from svmcompile.lower.fixed.trees import fixed_axes, fixed_leaf_sums, fixed_leaves, fixed_path, fixed_planes
from svmcompile.model.head import renamed

FORMS: dict[type[ir.Node], Callable[[Any, Tables, Row, View, float], Fixed | None]] = {
    ir.Affine: fixed_affine,
    ir.Quadratic: fixed_quadratic,
    ir.KernelSum: fixed_sum,
    ir.PairSum: fixed_sum,
    ir.PathSum: fixed_path,
    ir.LeafSums: fixed_leaf_sums,
    ir.AxisRoute: fixed_axes,
    ir.PlaneRoute: fixed_planes,
    ir.PlaneLists: fixed_planes,
    ir.LeafAffine: fixed_leaves,
}
RowMaker = Callable[[str, str, Span, Number], Row]
JOINED = (ir.Add, ir.Guard)  # whose operands must be in one unit
WHOLE_HEADS = (ir.Vote, ir.ArgMax, ir.Threshold)  # which take scores in whole numbers as they are


def fixable(program: Program) -> list[Any]:
    """Nodes to be computed in whole numbers: sums that are no step of preprocessing."""
    steps = {name for node in program.body if isinstance(node, ir.AsFeatures) for name in ir.operands(node)}
    steps -= {sums.out for node in program.body if (sums := mixed_sums(program, node))}
    return [node for node in program.body if type(node) in FORMS and node.out not in steps]


def _alike(view: View, other: View) -> bool:
    """Whether distances are the same in both."""
    return view.base == other.base and np.array_equal(view.slope, other.slope)


def _by_strides(pick: ir.Pick, tables: Tables) -> tuple[ir.Node, Tables]:
    """A pick of features in their order, by bytes where their numbers take more."""
    columns = tables[pick.columns]
    if columns.max() <= BYTE or not fit_strides(columns):
        return pick, tables
    return ir.StridePick(pick.out, pick.x, pick.columns), {pick.columns: np.diff(columns, prepend=0)}


def _sort_by_reading(body: list[ir.Node]) -> list[ir.Node]:
    """Nodes in an order in which each comes after what it reads."""
    placed: list[ir.Node] = []
    waiting = list(body)
    names = {node.out for node in body}
    while waiting:
        done = {node.out for node in placed}
        ready = next(node for node in waiting if not names & set(ir.operands(node)) - done)
        placed.append(ready)
        waiting.remove(ready)
    return placed


@dataclass
class Fixer:
    """Goes through a program and collects what it becomes."""

    program: Program
    number: Number
    spans: dict[str, Span]
    trial: Trial
    units: dict[str, float] = field(default_factory=dict)  # of scores, where not the finest
    body: list[ir.Node] = field(default_factory=list)
    tables: dict[str, NDArray[Any]] = field(default_factory=dict)
    rows: list[tuple[View, Row]] = field(default_factory=list)
    scores: dict[str, Fixed] = field(default_factory=dict)
    slacks: dict[str, list[float]] = field(default_factory=dict)

    def fixed(self) -> Program:
        found = fixable(self.program)
        for node in found:
            if by_distance(node):
                self._add_common_row(node, found)
        names = {node.out for node in found}
        for node in self.program.body:
            if node.out not in names or not self._add(node):
                self._keep(node)
        outputs = tuple(Output(one.name, self._real(one.value)) for one in self.program.outputs)
        body = leading_to(_sort_by_reading(self.body), [output.value for output in outputs])
        used = {name for node in body for name in ir.table_names(node)}
        tables = {name: table for name, table in self.tables.items() if name in used}
        machine = self.program.replace(body=body, outputs=outputs, tables=tables, number=self.number)
        return check(self._told(machine.replace(tables=cast_tables(machine))))

    def joined_units(self) -> dict[str, float]:
        """One unit for all scores that are added or chosen between, coarse enough for their sum."""
        groups: list[set[str]] = []
        for node in self.program.body:
            if isinstance(node, JOINED):
                own = {node.out, *ir.operands(node)}
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
        sums, unit = mixed_sums(self.program, node), self.units.get(node.out, 0.0)
        if sums:
            row = row_of_sums(self.scores.pop(sums.out), len(tables[sums.bias]), self.number)
        else:
            row = self._row(view, by_distance(node))
        made = FORMS[type(node)](node, tables, row, view, unit)
        if made and node.out in self._mixed:
            made = FORMS[type(node)](
                node, tables, row, view, unit_to_mix(made, row, tables[node.vectors].shape[1])
            )
        if made is None:
            return False
        self._take(node, made)
        return True

    @property
    def _mixed(self) -> set[str]:
        """Sums that an affine function mixes."""
        return {sums.out for node in self.program.body if (sums := mixed_sums(self.program, node))}

    def _take(self, node: Any, made: Fixed) -> None:
        if not isinstance(node, (ir.AxisRoute, ir.PlaneRoute)):
            self.scores[node.out] = made
        if made.slack is not None:
            self.slacks[node.out] = made.slack.tolist()
        self.body.append(made.node)
        self.tables |= made.tables

    def _add_common_row(self, node: Any, others: list[Any]) -> None:
        """The row of distances, for all nodes whose features differ by shifts alone."""
        view = view_of(self.program, node.x)
        if any(_alike(view, other) for other, _ in self.rows):
            return
        span = self.spans[view.base].seen(view)
        for other in others:
            own = view_of(self.program, other.x)
            if by_distance(other) and _alike(view, own):
                span = span.and_also(self.program.tables[other.vectors] - own.start + view.start)
        row = common_row(self._row_name(view), view, span, self.number, self.trial.share)
        self._add_row(view, self._bytes(view) if self._takes_bytes(view) else row)

    def _row(self, view: View, distances: bool, make: RowMaker = own_row) -> Row:
        for other, row in self.rows:
            if _alike(view, other) if distances else view.base == other.base:
                return row
        row = make(self._row_name(view), view.base, self.spans[view.base], self.number)
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
        row = replace(row, made=row.base != self.program.input.name, trial=self.trial)
        if self.trial.projects and (projected := self._projected(row)):
            self.rows.append((view, projected))
            return projected
        if self.program.input.number and not row.made and not row.as_it_is:
            row = from_whole(row, self.program.input.number)
        self.rows.append((view, row))
        if row.as_it_is:
            return row
        quantise, tables = row.node()
        self.body.append(quantise)
        self.tables |= tables
        return row

    def _projected(self, row: Row) -> Row | None:
        """The row made in whole numbers of the one it is a projection of, where it is one."""
        affine = projection_of(self.program, row.base)
        if affine is None:
            return None
        view = view_of(self.program, affine.x)
        source = self._row(view, False, source_row)
        made = fixed_projection(affine, dict(self.program.tables), source, view, row)
        if made is None:
            return None
        self.body.append(made[1])
        self.tables |= made[2]
        return made[0]

    def _keep(self, node: ir.Node) -> None:
        """A node that stays as it is, and reads floats unless whole numbers do as well."""
        if isinstance(node, JOINED) and node.out in self.units and self._in_one_unit(node):
            self._join(node)
            return
        if not isinstance(node, WHOLE_HEADS):
            read = {name: self._real(name) for name in ir.operands(node)}
            node = renamed(node, read, VALUES)
        if node.level is ir.Level.MATH:
            what, other = type(node).__name__, " or another method"
            if isinstance(node, WITH_KERNEL):  # all others of these have a form
                what, other = "preprocessing by kernels (Nystroem)", ""
            raise UnsupportedError(f"{what} has no form in fixed point; use --precision f32{other}")
        tables = {name: self.program.tables[name] for name in ir.table_names(node)}
        if isinstance(node, ir.Pick):
            node, tables = _by_strides(node, tables)
        self.body.append(node)
        self.tables |= tables

    def _in_one_unit(self, node: ir.Node) -> bool:
        units = [self.scores[name].unit for name in ir.operands(node) if name in self.scores]
        return len(units) == len(ir.operands(node)) and np.allclose(units, units[0], rtol=1e-6)

    def _join(self, node: Any) -> None:
        """Scores in one unit stay whole numbers."""
        made = [self.scores[name] for name in ir.operands(node)]
        unit, error = made[0].unit, sum(one.error for one in made)
        if isinstance(node, ir.Guard):
            width = min(float(np.ceil(node.width / unit)), float(INT32))
            node, error = replace(node, width=width), max(one.error for one in made)
            self.slacks[node.out] = [2 * error / unit + 1]
        self.scores[node.out] = Fixed(node, {}, unit, error)
        self.body.append(node)

    def _real(self, name: str) -> str:
        """The value as float, which it may be already."""
        is_row = bool(self.program.input.number) and name == self.program.input.name
        if name not in self.scores and not is_row:
            return name
        made = f"{name}_real"
        if not any(node.out == made for node in self.body):
            self.body.append(ir.Dequantise(made, name, 1.0 if is_row else self.scores[name].unit))
        return made

    def _told(self, machine: Program) -> Program:
        """The program with what it says of itself."""
        kernels = [node.kernel.kind for node in self.program.body if isinstance(node, ir.DifferenceSum)]
        if kernels:
            raise UnsupportedError(f"a {kernels[0]} kernel has no form in fixed point; use --precision f32")
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
