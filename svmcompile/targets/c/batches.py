"""Public functions around a tiled sum: many rows at once, and rows given by their non-zero features."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import PackedLeaves, SparseSum, TiledSum, TiledTaylor
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import Body, Function, Result, body, item, real_of, results
from svmcompile.targets.c.nodes.leaves import chunk_rows as leaf_chunk_rows
from svmcompile.targets.c.nodes.sums import chunk_rows, goes_alone, takes_sparse
from svmcompile.targets.c.nodes.taylor_host import taylor_chunk
from svmcompile.targets.names import Names

Sums = TiledSum | SparseSum | PackedLeaves | TiledTaylor

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


def tiled(program: Program, types: Types, symbols: Names) -> Tiled | None:
    """The functions around the program's tiled sum; None where there is none, or more than one."""
    node = _batched(program)
    if node is None:
        return None
    number = program.number or "f64"
    rows = _rows(node, program, number)
    if isinstance(node, PackedLeaves) and not rows:
        return None
    bodies, goals = _goals(program, types, symbols, node)
    return Tiled(
        bodies=bodies,
        goals=goals,
        rows=rows,
        width=types[node.out].width,
        n_features=program.n_features,
        function=symbols(f"%{node.out}", node.out),
        sparse=isinstance(node, SparseSum) or (isinstance(node, TiledSum) and takes_sparse(node, program)),
        real=real_of(program),
    )


def _batched(program: Program) -> Sums | None:
    """The node that takes many rows at once: the one sum there is, or what stands before all others."""
    fronts = [node for node in program.body if isinstance(node, TiledTaylor)]
    if len(fronts) == 1:
        return fronts[0] if taylor_chunk(fronts[0], program) else None
    found = [node for node in program.body if isinstance(node, (TiledSum, SparseSum, PackedLeaves))]
    return None if len(found) != 1 or goes_alone(program) else found[0]


def _rows(node: Sums, program: Program, number: Number) -> int:
    """How many rows go through a node at once."""
    if isinstance(node, TiledTaylor):
        return taylor_chunk(node, program)
    if isinstance(node, PackedLeaves):
        return leaf_chunk_rows(node, program)
    return chunk_rows(node, program, number) if isinstance(node, TiledSum) else 0


def leaf_body(program: Program, types: Types, symbols: Names, node: PackedLeaves) -> Body:
    """What takes a row to its leaf, as one function."""
    function = symbols(f"%{node.out} leaf_of", f"{node.out}_leaf_of")
    declaration = f"static size_t {function}(const {real_of(program)} *x)"
    return body(program, types, symbols, node.leaf, declaration)


def input_body(program: Program, types: Types, symbols: Names, node: TiledSum | PackedLeaves) -> Body:
    """What prepares a row for a tiled sum, as one function."""
    real, function = real_of(program), symbols(f"%{node.out} input", f"{node.out}_input")
    declaration = (
        f"static inline __attribute__((always_inline)) void {function}(const {real} *x, {real} *z)"
    )
    return body(program, types, symbols, node.x, declaration, "z")


def _goals(program: Program, types: Types, symbols: Names, node: Sums) -> tuple[list[Body], list[Goal]]:
    real, width = real_of(program), types[node.out].width
    given, start = f"const {real} sums[{width}]", (node.out, "sums")
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
