"""Public functions beyond those of one row: many rows, sparse rows, the caller's kernel, whole numbers.

A given kernel is a function of the caller's, called with a query and the number of
a training point. The functions under the usual names take a row of its values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from svmcompile.errors import EmitError
from svmcompile.ir.arithmetic import BYTES, FIXED
from svmcompile.ir.graph import float_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Node, lazy_operands, operands
from svmcompile.ir.program import Program
from svmcompile.targets.c import api
from svmcompile.targets.c.api import Body, Function, Result, real_of, row_array
from svmcompile.targets.c.literals import real
from svmcompile.targets.c.nodes import CFile, CNode
from svmcompile.targets.c.nodes.sums import batched_sum
from svmcompile.targets.templating import Names

SPARSE_ROW = "const int32_t *indices, const {real} *values, size_t n"
SPARSE_ROWS = "const size_t *starts, const int32_t *indices, const {real} *values, size_t rows"
OTHER_TARGETS = {"indices": "labels", "values": "results"}  # where a row has indices and values
MOST_RANGES = 16  # that a file lists
SPARSE_BYTES, MOST_ROWS, MOST_ROW = 64 << 10, 96, 1 << 20  # of rows that get their zeros back


@dataclass(frozen=True, slots=True)
class Goal:
    """One public result: how it is got from the sums of a row, alone or as row `i` of many."""

    name: str  # of the public function
    single: str  # C type of a single result, void if it is written to `target`
    target: str  # parameter that takes results, empty if a single one is returned
    many: str  # parameter that takes the results of many rows
    one: str  # statement for a single row
    each: str  # statement for row `i` whose sums are at `{sums}` and whose number is `{row}`
    sure: str = ""  # function of a label that the row itself decides where sums do not
    settle: str = ""  # which takes that row


@dataclass(frozen=True, slots=True)
class Tiled:
    """Everything the templates need around a tiled sum."""

    node: CNode[Any]
    bodies: list[Body]
    goals: list[Goal]


@dataclass(frozen=True, slots=True)
class SparseFunction:
    """A result of rows given by their non-zero features: of one row, and of many."""

    result: Result
    single: Function
    batch: Function


@dataclass(frozen=True, slots=True)
class SparseRows:
    """The functions for rows given by their non-zero features, and how these are read."""

    functions: list[SparseFunction]
    native: bool  # a sum reads them as they are; else rows get their zeros back
    chunk: int  # rows that do so at once
    bytes: int  # of such rows


def tiled(file: CFile) -> Tiled | None:
    """The functions around the program's tiled sum; None where there is none, or more than one."""
    node = _batched(file)
    return Tiled(node, *_goals(file, node)) if node and (node.chunk or node.takes_sparse_rows) else None


def _batched(file: CFile) -> CNode[Any] | None:
    """The node that takes many rows at once: the one sum there is, or what stands before all others."""
    fronts = [node for node in file.nodes.values() if node.in_front]
    if len(fronts) == 1:
        return fronts[0]
    found = batched_sum(file.program)
    return file.nodes[found.out] if found else None


def _goals(file: CFile, node: CNode[Any]) -> tuple[list[Body], list[Goal]]:
    program, types, symbols, real = file.program, file.types, file.symbols, real_of(file.program)
    given, start = f"const {real} sums[{node.out_width}]", (node.node.out, "sums")
    main, *others = api.results(program, types, file.name)
    if main.alone and main.value == node.node.out:
        each = "results[{row}] = *({sums})"
        return [], [Goal("predict", real, "", f"{real} *results", "return sums[0]", each)]
    bodies, goals = [], []
    for result in (replace(main, target="labels" if program.labels else "results"), *others):
        target, stem = result.target, "label" if result.value == main.value else result.target
        function = symbols(f"{stem} of sums", f"{stem}_of")
        last = file.nodes.get(result.value)
        if last and last.behind_sums:
            declaration = f"static {result.declaration(function, f'const {real} *x, {given}')}"
            read = (program, types, symbols, result.value, declaration, "", start)
            bodies.append(api.body(*read, with_row=True))
            row = f"x + ({{row}}) * {program.n_features}"
            each = f"{target}[{{row}}] = {function}({row}, {{sums}})"
            settling = (f"{last.function}_sure", file.lazy(last.lazy))
            goals.append(Goal(result.function, result.kind, "", result.many, "", each, *settling))
            continue
        declaration = f"static {result.declaration(function, given)}"
        bodies.append(api.body(program, types, symbols, result.value, declaration, result.written, start))
        one, each = f"return {function}(sums)", f"{target}[{{row}}] = {function}({{sums}})"
        if not result.alone:
            one = f"{function}(sums, {target})"
            each = f"{function}({{sums}}, {target} + ({{row}}) * {result.width})"
        kind, parameter = (result.kind, "") if result.alone else ("void", result.many)
        goals.append(Goal(result.function, kind, parameter, result.many, one, each))
    return bodies, goals


def sparse_rows(file: CFile, around: Tiled | None) -> SparseRows:
    """The functions for rows given by their non-zero features, whoever reads them."""
    program, name = file.program, file.name
    native = around is not None and around.node.takes_sparse_rows
    row_bytes = program.n_features * BYTES[program.input.number or float_number(program)]
    if not native and row_bytes > MOST_ROW:
        raise EmitError(
            f"a row of {program.n_features:,} features that is given without its zeros takes {row_bytes:,} "
            f"bytes of the stack, and {MOST_ROW:,} are the most; leave these functions out with "
            "--api no-sparse (api='no-sparse')"
        )
    row, rows = (text.format(real=api.row_type(program)) for text in (SPARSE_ROW, SPARSE_ROWS))
    found = []
    for result in api.results(program, file.types, name):
        function = f"{name}_{result.function}"
        many = replace(result, target=OTHER_TARGETS.get(result.target, result.target))
        one = f"{function} for a row given by its n non-zero features, each listed once."
        each = "The same for many rows, as CSR: row i has entries starts[i] to starts[i + 1] - 1."
        single = Function(one, result.declaration(f"{function}_sparse", row))
        batch = Function(each, f"void {function}_sparse_batch({rows}, {many.many})")
        found.append(SparseFunction(many, single, batch))
    chunk = max(1, min(MOST_ROWS, SPARSE_BYTES // row_bytes))
    return SparseRows(found, native, chunk, 0 if native else chunk * row_bytes)


def points(program: Program) -> list[int]:
    """The training points the kernel may be asked for; none where no caller is asked."""
    given: list[Any] = [node for node in program.body if getattr(node, "shape", "") == "given"]
    tables = [program.tables[node.vectors] for node in given]
    return sorted({int(point) for table in tables for point in table.ravel()})


def asks_itself(program: Program) -> bool:
    """Whether the caller is asked for the kernel of a query with itself."""
    given: list[Any] = [node for node in program.body if getattr(node, "shape", "") == "given"]
    return any(getattr(node, "reach", 1.0) == 0 for node in given)


def kernel_functions(program: Program, types: Types, name: str) -> list[Function]:
    """What the header declares for callers with a kernel of their own."""
    query, found = "a query that only your kernel function understands", []
    for result in api.results(program, types, name):
        function = f"{name}_{result.function}"
        declaration = result.declaration(f"{function}_with", api.row_parameters(program, name))
        found.append(Function(f"{function} for {query}.", declaration))
        query = "such a query"
    return found


def functions_with_kernel(program: Program, types: Types, name: str, symbols: Names) -> list[Body]:
    """Bodies that ask the kernel, and those that look its values up in a row."""
    bodies = []
    for result in api.results(program, types, name):
        function = f"{name}_{result.function}"
        asking = result.declaration(f"{function}_with", api.row_parameters(program, name))
        bodies.append(api.body(program, types, symbols, result.value, asking, result.written))
        arguments = ", ".join(filter(None, [f"{name}_row_kernel, x", result.written]))
        call = "return " * result.alone + f"{function}_with({arguments})"
        bodies.append(Body(result.declaration(function, row_array(program, name)), [call]))
    return bodies


def quantiser(program: Program) -> Node | None:
    """The node that alone makes whole numbers of the row; None where more than it reads the row."""
    readers = [node for node in program.body if program.input.name in operands(node)]
    if any(lazy_operands(node) for node in program.body):  # which start from the row itself
        return None
    return readers[0] if len(readers) == 1 and readers[0].quantises else None


Both = tuple[Function, Body]  # what the header declares, and its body


def quantised_functions(file: CFile) -> list[Both]:
    """Functions for rows in whole numbers, where the row is needed for nothing else."""
    program, types, name = file.program, file.types, file.name
    value, found = program.output("scores") or program.output("value"), []
    scores = file.nodes[value].whole_score if value in file.nodes else None
    if program.input.number:
        if scores:
            found.append(_scores_function(file, scores, row_array(program, name)))
    elif node := quantiser(program):
        d, kind = types[node.out].width, api.c_real(types[node.out].whole or "i8")
        row, start = f"const {kind} x[{d}]", (node.out, "x")
        declaration = f"void {name}_quantise(const float x[{d}], {kind} q[{d}])"
        quantise = Function("Quantises a row for the functions that end in _q.", declaration)
        found.append((quantise, Body(declaration, [f"{file.nodes[node.out].function}(x, q)"])))
        if label := program.output("label"):
            declaration = f"int {name}_predict_q({row})"
            predict = Function(f"Like {name}_predict, for {quantised_row(file, node.out)}.", declaration)
            found.append((predict, api.body(program, types, file.symbols, label, declaration, start=start)))
        if scores and node in api.needed(program, scores[0], set()):
            found.append(_scores_function(file, scores, row, start))
    return found


def quantised_row(file: CFile, row: str) -> str:
    """What may be given to functions that end in _q: beyond these numbers, sums overflow."""
    return f"a row from {file.name}_quantise: numbers within +-{file.types[row].limit}"


def _scores_function(
    file: CFile, scores: tuple[str, float], row: str, start: tuple[str, str] | None = None
) -> Both:
    """The function that gives scores, or the value, in whole numbers; from one that is there already."""
    (value, unit), target = scores, "scores" if file.program.labels else ""
    row_text = quantised_row(file, start[0]) if start else "one row"
    what = f"The value of {row_text}"
    declaration = f"int32_t {file.name}_predict_q({row})"
    if target:
        result = f"int32_t scores[{file.types[value].width}]"
        what = f"The decision values of {row_text}"
        declaration = f"void {file.name}_decision_function_q({row}, {result})"
    made = api.needed(file.program, value, {file.program.input.name})
    alone = not start and all(file.types[node.out].whole for node in made)
    text = f"{what}, in units of {real(unit, 'f32')}{'; uses no float' if alone else ''}."
    calls = api.body(file.program, file.types, file.symbols, value, declaration, target, start)
    return Function(text, declaration), calls


def fixed_banner(program: Program) -> list[str]:
    """What a file in whole numbers says of its precision."""
    told = program.origin.details.get("fixed") if program.number in FIXED else None
    if not told:
        return []
    lines = [f"Decision values are within {told['error']:.3g} of the original's, for rows within range."]
    if "disagreement" in told:
        share = f"{100 * told['disagreement']:.3g} %"
        lines.append(f"{share} of {told['rows']} rows of the data get another label.")
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
