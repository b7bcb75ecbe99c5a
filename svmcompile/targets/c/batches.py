"""Public functions around a tiled sum: many rows at once, and rows given by their non-zero features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from svmcompile.targets.c.api import Body, Function, Result, body, item, real_of, results
from svmcompile.targets.c.nodes import CFile, CNode
from svmcompile.targets.c.nodes.sums import goes_alone

SPARSE_ROW = "const int32_t *indices, const {real} *values, size_t n"
SPARSE_ROWS = "const size_t *starts, const int32_t *indices, const {real} *values, size_t rows"


@dataclass(frozen=True, slots=True)
class Goal:
    """One public result: how it is got from the sums of a row, alone or as row `i` of many."""

    name: str  # of the public function
    single: str  # C type of a single result, void if it is written to `target`
    target: str  # parameter that takes results, empty if a single one is returned
    many: str  # parameter that takes the results of many rows
    one: str  # statement for a single row
    each: str  # statement for row `i` whose sums are at `{sums}` and whose number is `{row}`


@dataclass(frozen=True, slots=True)
class Tiled:
    """Everything the templates need around a tiled sum."""

    bodies: list[Body]
    goals: list[Goal]
    rows: int  # of a chunk; 0 where rows go one by one
    width: int
    n_features: int
    function: str
    sparse: bool
    real: str

    def each(self, goal: Goal, row: str) -> str:
        return goal.each.format(sums=item("sums", self.width), row=row)

    def one_number(self, goal: Goal) -> bool:
        """Whether a number makes the result, so that vectors of either do."""
        return self.width == 1 and not goal.target

    def alone(self, goal: Goal, row: str) -> str:
        """The statement for row `i` where `sums` holds the sums of that row only."""
        return goal.each.format(sums="sums", row=row)


def tiled(file: CFile) -> Tiled | None:
    """The functions around the program's tiled sum; None where there is none, or more than one."""
    node = _batched(file)
    if node is None or not (node.chunk or node.takes_sparse_rows):
        return None
    bodies, goals = _goals(file, node)
    return Tiled(
        bodies=bodies,
        goals=goals,
        rows=node.chunk,
        width=node.out_width,
        n_features=file.program.n_features,
        function=node.function,
        sparse=node.takes_sparse_rows,
        real=real_of(file.program),
    )


def _batched(file: CFile) -> CNode[Any] | None:
    """The node that takes many rows at once: the one sum there is, or what stands before all others."""
    fronts = [node for node in file.nodes.values() if node.in_front]
    if len(fronts) == 1:
        return fronts[0]
    sums = [node for node in file.nodes.values() if node.in_batches]
    return None if len(sums) != 1 or goes_alone(file.program) else sums[0]


def _goals(file: CFile, node: CNode[Any]) -> tuple[list[Body], list[Goal]]:
    program, types, symbols, real = file.program, file.types, file.symbols, real_of(file.program)
    given, start = f"const {real} sums[{node.out_width}]", (node.node.out, "sums")
    label, value = (program.output(key) for key in ("label", "value"))
    bodies, goals = [], []
    if label is not None:
        function = symbols("label of sums", "label_of")
        bodies.append(body(program, types, symbols, label, f"static int {function}({given})", "", start))
        each = f"labels[{{row}}] = {function}({{sums}})"
        goals.append(Goal("predict", "int", "", "int32_t *labels", f"return {function}(sums)", each))
    for result in results(program, types):
        function = symbols(f"{result.target} of sums", f"{result.target}_of")
        target = "" if result.alone else result.target
        declaration = f"static void {function}({given}, {real} {target}[{result.width}])"
        declaration = f"static {real} {function}({given})" if result.alone else declaration
        bodies.append(body(program, types, symbols, result.value, declaration, target, start))
        goals.append(_goal(result, function, real))
    if value is not None:
        each = "results[{row}] = *({sums})"
        goals.append(Goal("predict", real, "", f"{real} *results", "return sums[0]", each))
    return bodies, goals


def _goal(result: Result, function: str, real: str) -> Goal:
    """A result beside the label, from the function that makes it of sums."""
    many = f"{real} *{result.target}"
    if result.alone:
        each = f"{result.target}[{{row}}] = {function}({{sums}})"
        return Goal(result.function, real, "", many, f"return {function}(sums)", each)
    each = f"{function}({{sums}}, {result.target} + ({{row}}) * {result.width})"
    return Goal(result.function, "void", many, many, f"{function}(sums, {result.target})", each)


def sparse_functions(found: Tiled, name: str) -> list[Function]:
    """What the header declares for rows given by their non-zero features."""
    if not found.sparse:
        return []
    functions = []
    for goal in found.goals:
        row, rows = (text.format(real=found.real) for text in (SPARSE_ROW, SPARSE_ROWS))
        target = f", {goal.target}" if goal.target else ""
        functions += [
            Function(
                f"{name}_{goal.name} for a row given by n features that are not zero, each named once.",
                f"{goal.single} {name}_{goal.name}_sparse({row}{target})",
            ),
            Function(
                "The same for many rows: those of row i stand from starts[i] to starts[i + 1] - 1.",
                f"void {name}_{goal.name}_sparse_batch({rows}, {goal.many})",
            ),
        ]
    return functions
