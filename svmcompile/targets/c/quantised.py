"""Functions of the header for rows and scores in whole numbers, and what a file says of their precision."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.nodes import Node, lazy_operands, operands
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Body, Function, body, c_real, needed
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.nodes import CFile

MOST_RANGES = 16  # that a file lists


def quantiser(program: Program) -> Node | None:
    """The node that alone makes whole numbers of the row; None where more than it reads the row."""
    readers = [node for node in program.body if program.input.name in operands(node)]
    if any(lazy_operands(node) for node in program.body):  # which start from the row itself
        return None
    return readers[0] if len(readers) == 1 and readers[0].quantises else None


def whole_scores(file: CFile) -> tuple[str, float] | None:
    """The value in whole numbers behind the scores or the value, and its unit."""
    value = file.program.output("scores") or file.program.output("value")
    return file.nodes[value].whole_score if value in file.nodes else None


@dataclass(frozen=True, slots=True)
class Quantised:
    """Functions for rows in whole numbers: what the header declares, and their bodies."""

    api: list[Function]
    bodies: list[Body]


def quantised_functions(file: CFile) -> Quantised:
    """Functions for rows in whole numbers, where the row is needed for nothing else."""
    program, types, name = file.program, file.types, file.name
    scores, found = whole_scores(file), Quantised([], [])
    if program.input.number:
        row = f"const {c_real(program.input.number)} x[{program.n_features}]"
        if scores:
            _add_scores(found, file, scores, row)
    elif node := quantiser(program):
        d, kind = types[node.out].width, c_real(types[node.out].whole or "i8")
        row, start = f"const {kind} x[{d}]", (node.out, "x")
        declaration = f"void {name}_quantise(const float x[{d}], {kind} q[{d}])"
        found.api.append(Function("The row in whole numbers, as the next functions take it.", declaration))
        found.bodies.append(Body(declaration, [], [f"{file.nodes[node.out].function}(x, q)"]))
        if label := program.output("label"):
            declaration = f"int {name}_predict_q({row})"
            found.api.append(Function(f"{name}_predict for such a row.", declaration))
            found.bodies.append(body(program, types, file.symbols, label, declaration, start=start))
        if scores and node in needed(program, scores[0], set()):
            _add_scores(found, file, scores, row, start)
    return found


def _add_scores(
    found: Quantised, file: CFile, scores: tuple[str, float], row: str, start: tuple[str, str] | None = None
) -> None:
    """The function that gives scores, or the value, in whole numbers; from one that is there already."""
    (value, unit), target = scores, "scores" if file.program.labels else ""
    what = "The value for such a row" if start else "The value of one row"
    declaration = f"int32_t {file.name}_predict_q({row})"
    if target:
        result = f"int32_t scores[{file.types[value].width}]"
        what = f"The decision values of {'such a' if start else 'one'} row"
        declaration = f"void {file.name}_decision_function_q({row}, {result})"
    text = f"{what}, in units of {real(unit, 'f32')}{'' if start else '; no float is touched'}."
    found.api.append(Function(text, declaration))
    found.bodies.append(body(file.program, file.types, file.symbols, value, declaration, target, start))


def fixed_banner(program: Program) -> list[str]:
    """What a file in whole numbers says of its precision."""
    told = program.origin.details.get("fixed") if program.number in FIXED else None
    if not told:
        return []
    lines = [f"Decision values are within {told['error']:.3g} of the original's, for rows within range."]
    if "disagreement" in told:
        lines.append(
            f"{100 * told['disagreement']:.3g} % of {told['rows']} rows of data get another label."
        )
    if "low" in told:
        lines += _ranges(told["low"], told["high"])
    return lines


def _ranges(low: list[float], high: list[float]) -> list[str]:
    """The range of the features: of each where they are few, else of all."""
    if len(low) <= MOST_RANGES:
        return ["Range of each feature:"] + [
            f"  {at}: {one:.6g} to {other:.6g}"
            for at, (one, other) in enumerate(zip(low, high, strict=True))
        ]
    return [f"Features range from {min(low):.6g} to {max(high):.6g}, each as the report lists it."]
