"""fix: a math program becomes one in whole numbers, "q15" or "q7".

Sums over kernels, affine functions and trees are computed in whole numbers, from a row that is quantised
once. What comes before (preprocessing beyond scaling) and after (decision values as the caller sees them)
stays in float. Scales are chosen by the range of each feature and tried out on the rows given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import Number, WholeInput
from svmcompile.ir.graph import leading_to, own_tables
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.node import VALUES, lazy_operands, operands
from svmcompile.ir.nodes import Node, table_names
from svmcompile.ir.program import Program
from svmcompile.lower.fixed.fixer import Fixer, fixable
from svmcompile.lower.fixed.projections import by_distance, mixed_sums, projection_of
from svmcompile.lower.fixed.refit import refitted
from svmcompile.lower.fixed.rows import Span, Trial, has_grid, view_of
from svmcompile.model.head import renamed

FLOATS_ONLY = ("probabilities", "deviation")  # outputs that whole numbers do not give
# Details of programs whose method counts on it: a projection in whole numbers; in q7 weights of a byte,
# those of the projection of four bits, and curves of so many cells.
WHOLE_PROJECTION, BYTE_WEIGHTS = "whole_projection", "byte_weights"
FOUR_BITS, CURVE_CELLS = "four_bits", "curve_cells"
SHARES = (1.0, 0.97, 0.94)  # of the largest scale that are tried
COARSER = (0, 1, 2)  # times that the cells of a curve are doubled
# Rows to come may go this share of a range beyond those seen, on either side.
MARGIN: dict[Number, float] = {"q7": 0.05, "q15": 0.25}
# A projection in whole numbers may cost this share of labels, or as many times the error of values.
PROJECTED_LOSS, PROJECTED_ERROR = 0.01, 10.0
MOST_ROWS = 2000  # that scales are tried on


def fix(program: Program, number: Number, span: Span, given: WholeInput = "") -> Program:
    """The program in whole numbers whose labels differ least from the program's on the rows of the span.

    Rows are floats, or whole numbers of the type `given`.
    """
    program = _plain(own_tables(program))
    spans = _spans(program, span, number)
    judged = _Judged.of(program, span.rows)
    program = program.replace(input=replace(program.input, number=given))
    best, badness = _best(program, number, spans, judged)
    if _sources(program) and not program.origin.details.get(WHOLE_PROJECTION):
        plain, other = _best(program, number, spans, judged, projects=False)
        if not _nearly(badness, other):
            best, badness = plain, other
    return judged.noted(best, badness)


def _best(
    program: Program, number: Number, spans: dict[str, Span], judged: _Judged, projects: bool = True
) -> tuple[Program, tuple[float, float, float]]:
    """The least bad of what is tried out, and how bad that is."""
    told = program.origin.details if number == "q7" else {}
    byte_weights, four_bits = bool(told.get(BYTE_WEIGHTS)), bool(told.get(FOUR_BITS))
    cells = int(told.get(CURVE_CELLS, 0))
    first = Trial(projects=projects, byte_weights=byte_weights, four_bits=four_bits, cells=cells)
    first = replace(first, coarser=_coarser(program, number, spans, judged, first))
    trials = [replace(first, share=share) for share in _shares(program, spans)]
    made = {trial: _fixed(program, number, spans, trial) for trial in trials}
    trial = min(trials, key=lambda one: judged.badness(made[one]))
    best = _refitted(program, made[trial], judged, lambda changed: _fixed(changed, number, spans, trial))
    return best, judged.badness(best)


def _refitted(
    program: Program, fixed: Program, judged: _Judged, again: Callable[[Program], Program]
) -> Program:
    """The program in whole numbers with weights that suit it better, where scores of rows gain by it."""
    if judged.rows is None:
        return fixed
    changed, moved = refitted(program, fixed, judged.rows)
    if not moved:
        return fixed
    found = again(changed)
    told = found.origin.details["fixed"]
    details = {**found.origin.details, "fixed": {**told, "error": told["error"] + moved}}
    found = found.replace(origin=replace(found.origin, details=details))
    return min(fixed, found, key=lambda one: judged.badness(one)[1])


def _coarser(
    program: Program, number: Number, spans: dict[str, Span], judged: _Judged, trial: Trial
) -> int:
    """How much further curves go than their worst error asks for: what scores of the rows ask for.

    Vectors that were moved have large weights, and are far from rows: their kernel values are small,
    and all of them count.
    """
    if judged.rows is None or not any(by_distance(node) for node in fixable(program)):
        return 0
    found = [_fixed(program, number, spans, replace(trial, coarser=coarser)) for coarser in COARSER]
    return min(COARSER, key=lambda coarser: judged.badness(found[coarser])[1])


def _sources(program: Program) -> list[str]:
    """What projections are made of that can be in whole numbers."""
    bases = {view_of(program, node.x).base for node in fixable(program) if by_distance(node)}
    found = (projection_of(program, base) for base in sorted(bases))
    return [view_of(program, affine.x).base for affine in found if affine]


def _nearly(whole: tuple[float, float, float], plain: tuple[float, float, float]) -> bool:
    """Whether a projection in whole numbers does about as well as one in floats."""
    if whole[0] or plain[0]:
        return whole[0] <= max(plain[0], PROJECTED_LOSS)
    return whole[1] <= PROJECTED_ERROR * plain[1]


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
    outputs = tuple(output for output in program.outputs if output.name not in FLOATS_ONLY)
    if len(outputs) < len(program.outputs):
        gone = "standard deviations" if program.output("deviation") else "probabilities"
        notes.append(f"{gone} are left out in fixed point; they need f32 or f64")
    body: list[Node] = []
    instead: dict[str, str] = {}
    for node in program.body:
        node = renamed(node, instead, VALUES)
        if lazy_operands(node) and not node.guards:
            instead[node.out] = instead.get(lazy_operands(node)[0], lazy_operands(node)[0])
            notes.append("fixed point adds up all vectors, including those that the method would skip")
        elif node.widens:  # what follows is in whole numbers
            instead[node.out] = instead.get(operands(node)[0], operands(node)[0])
        else:
            body.append(node)
    outputs = tuple(replace(output, value=instead.get(output.value, output.value)) for output in outputs)
    kept = leading_to(body, [output.value for output in outputs])
    used = {name for node in kept for name in table_names(node)}
    tables = {name: table for name, table in program.tables.items() if name in used}
    origin = replace(program.origin, notes=tuple(dict.fromkeys(notes)))
    return program.replace(body=kept, outputs=outputs, tables=tables, origin=origin)


def _spans(program: Program, span: Span, number: Number) -> dict[str, Span]:
    """The range of all features that are quantised."""
    reading = [node for node in fixable(program) if not mixed_sums(program, node)]
    bases = dict.fromkeys(view_of(program, node.x).base for node in reading)
    bases |= dict.fromkeys(_sources(program))
    made = [base for base in bases if base != program.input.name]
    if made and span.rows is None:
        raise OptionError(
            "preprocessing creates new features, and their ranges can only come from data; give rows"
        )
    values = interpret_values(program, span.rows, made) if made and span.rows is not None else {}
    return {
        base: widened(range_of_rows(values[base]), number) if base in values else span for base in bases
    }


def _shares(program: Program, spans: dict[str, Span]) -> list[float]:
    """Scales worth trying where distances are computed."""
    views = [view_of(program, node.x) for node in fixable(program) if by_distance(node)]
    if not views:
        return [1.0]
    return [*SHARES, *([0.0] if all(has_grid(spans[view.base].seen(view), view) for view in views) else [])]


def _fixed(program: Program, number: Number, spans: dict[str, Span], trial: Trial) -> Program:
    """The program in whole numbers; scores that are joined are made again in one unit."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            fixer = Fixer(program, number, spans, trial)
            made = fixer.fixed()
            units = fixer.joined_units()
            return Fixer(program, number, spans, trial, units).fixed() if units else made
    except (ArithmeticError, ValueError) as error:
        raise OptionError(
            f"numbers of this model are too large or too small for whole numbers ({error}); scale its "
            "features before training, or use --precision f32 or f64"
        ) from None


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
