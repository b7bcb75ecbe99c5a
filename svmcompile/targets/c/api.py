"""The public functions of generated C: declarations, and bodies that call the nodes in order."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.graph import only_maker, value_number
from svmcompile.ir.kinds import Types
from svmcompile.ir.nodes import Kind, Node, lazy_operands, operands
from svmcompile.ir.program import Program
from svmcompile.targets.templating import KEYWORDS, Names

# Programs in whole numbers speak float with their callers.
C_TYPES: dict[Number, str] = {
    "f32": "float", "f64": "double", "q15": "float", "q7": "float",
    "u8": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t",
}  # fmt: skip


RETURNED = {
    Kind.INDEX: "size_t",
    Kind.LABEL: "int",
}  # kinds of values that functions return, and their types


@dataclass(frozen=True, slots=True)
class Function:
    """One public function: what the header says and, for batches, the call per row."""

    comment: str
    declaration: str
    call: str = ""


@dataclass(frozen=True, slots=True)
class Body:
    """One single-row function: buffers for the values on the way, and the calls that fill them."""

    declaration: str
    statements: list[str]


def takes_kernel(program: Program) -> bool:
    """Whether the caller computes the kernel."""
    return any(getattr(node, "shape", "") == "given" for node in program.body)


def widened_later(program: Program) -> set[str]:
    """Values in double that no array holds: all that read the row widen it themselves."""
    asked, body = takes_kernel(program), program.body
    return {
        node.out
        for node in body
        if node.widens and (asked or all(one.takes_floats for one in body if node.out in operands(one)))
    }


def row_parameters(program: Program, name: str) -> str:
    """How the nodes are given a row: its features, or a query and the kernel to ask."""
    if takes_kernel(program):
        return f"{name}_kernel *kernel, const void *query"
    return f"const {row_type(program)} *x"


def public_functions(program: Program, types: Types, name: str) -> list[Function]:
    """Everything the header declares, in the order of the header."""
    rows, row = f"const {row_type(program)} *x, size_t rows", item("x", size(name, "features"))
    found = []
    for result in results(program, types, name):
        target = "" if result.alone else f", {item(result.target, result.size)}"
        function = f"{name}_{result.function}"
        call, batch = f"{function}({row}{target})", f"void {function}_batch({rows}, {result.many})"
        each = f"{result.target}[i] = {call}" if result.alone else call
        found += [
            Function(result.comment, result.declaration(function, row_array(program, name))),
            Function("The same for many rows.", batch, each),
        ]
    text = f"Runs stored rows and returns how many fail; 0 if {name.upper()}_NO_SELF_TEST is defined."
    return [*found, Function(text, f"int {name}_self_test(void)")]


def size(name: str, of: str) -> str:
    """The constant of the header that tells how many there are."""
    return f"{name}_N_{of}".upper()


def item(array: str, width: str) -> str:
    """Where row i begins in an array of rows."""
    return f"{array} + i * {width}"


@dataclass(frozen=True, slots=True)
class Result:
    """One output: its public function and where that writes."""

    value: str  # of the program
    function: str
    target: str
    width: int
    kind: str  # C type
    comment: str
    size: str = ""  # the header's constant for the width; none where one number is returned

    @property
    def alone(self) -> bool:
        """Whether it is one number, which is returned."""
        return not self.size

    @property
    def many(self) -> str:
        """The parameter that takes the results of many rows."""
        return f"{'int32_t' if self.kind == 'int' else self.kind} *{self.target}"

    @property
    def written(self) -> str:
        """The parameter that a single result is written to; empty where it is returned."""
        return "" if self.alone else self.target

    def declaration(self, function: str, row: str) -> str:
        kind, target = (
            (self.kind, "") if self.alone else ("void", f", {self.kind} {self.target}[{self.size}]")
        )
        return f"{kind} {function}({row}{target})"


def results(program: Program, types: Types, name: str) -> list[Result]:
    """What a model gives, in the order of the header: labels or the value first."""
    real, row = real_of(program), f"for one row of {program.n_features} features"
    main = program.output("label") or program.output("value")
    assert main is not None
    if program.labels is None:
        width = types[main].width
        comment = f"The value {row}." if width == 1 else f"The {width} values {row}."
        many = size(name, "values") if width > 1 else ""
        target = "results" if many else "values"  # a sparse row has values of its own
        found = [Result(main, "predict", target, width, real, comment, many)]
        if deviation := program.output("deviation"):
            comment = f"The standard deviation of the value {row}."
            found.append(Result(deviation, "predict_std", "deviations", 1, real, comment))
        return found
    if types[main].kind is Kind.LABELS:
        width, comment = types[main].width, f"The indices of the labels in {name}_labels, {row}."
        found = [Result(main, "predict", "labels", width, "int32_t", comment, size(name, "targets"))]
    else:
        comment = f"The index of the label in {name}_labels, {row}."
        found = [Result(main, "predict", "indices", 1, "int", comment)]
    if scores := program.output("scores"):
        width = types[scores].width
        comment = f"The {width} decision values of one row."
        comment = comment if width > 1 else "The signed decision value of one row."
        found.append(
            Result(scores, "decision_function", "scores", width, real, comment, size(name, "scores"))
        )
    if probabilities := program.output("probabilities"):
        width = types[probabilities].width
        comment, many = f"The probabilities of the {width} classes for one row.", size(name, "classes")
        if program.labels.targets:
            comment, many = f"The {width} probabilities of one row.", size(name, "probabilities")
        found.append(Result(probabilities, "predict_proba", "probabilities", width, real, comment, many))
    if samples := program.output("samples"):
        comment = "The raw score of one row: its decision value without the offset."
        found.append(Result(samples, "score_samples", "samples", 1, real, comment))
    return found


def real_of(program: Program) -> str:
    """The C type of the program's numbers."""
    return c_real(program.number or "f64")


def row_type(program: Program) -> str:
    """The C type of the features as they come."""
    return c_real(program.input.number or program.number or "f64")


def c_real(number: Number) -> str:
    """The C type of a number type."""
    return C_TYPES[number]


def row_array(program: Program, name: str) -> str:
    """The parameter of a row as it comes."""
    return f"const {row_type(program)} x[{size(name, 'features')}]"


def functions(program: Program, types: Types, name: str, symbols: Names) -> list[Body]:
    """Bodies of the single-row functions."""
    bodies = []
    for result in results(program, types, name):
        declaration = result.declaration(f"{name}_{result.function}", row_array(program, name))
        bodies.append(body(program, types, symbols, result.value, declaration, result.written))
    return bodies


def body(
    program: Program, types: Types, symbols: Names, goal: str, declaration: str, target: str = "",
    start: tuple[str, str] | None = None, with_row: bool = False,
) -> Body:  # fmt: skip
    """Calls for all nodes the goal needs. The goal is written to `target`, or returned.

    `start` names a value that is there already and the variable that holds it; the row itself is there
    where there is no start, or beside it.
    """
    functions_of = {symbols(f"%{node.out}", node.out) for node in program.body}  # which no local may hide
    local = Names(
        KEYWORDS | functions_of | {"x", "z", "out", "scores", "probabilities", target, *(start or ())[1:]}
    )
    row = {} if start and not with_row else {program.input.name: row_argument(program)}
    buffer = {**row, **dict([start] if start else [])}
    buffers: list[str] = []
    calls: list[str] = []
    if goal in buffer and target:
        width = types[goal].width
        calls.append(f"for (size_t p = 0; p < {width}; p++)\n        {target}[p] = {buffer[goal]}[p]")
    for node in needed(program, goal, set(buffer)):
        if node.out in widened_later(program):
            buffer[node.out] = buffer[operands(node)[0]]
            continue
        arguments = _arguments(program, node, buffer)
        function = symbols(f"%{node.out}", node.out)
        if types[node.out].kind is Kind.LABEL and node.out == goal:
            calls.append(f"return {function}({arguments})")
            continue
        if types[node.out].kind in RETURNED:
            buffer[node.out] = local(node.out)
            calls.append(
                f"const {RETURNED[types[node.out].kind]} {buffer[node.out]} = {function}({arguments})"
            )
            continue
        held = None if start else taken_over(program, types, node)
        if node.out == goal and target:
            buffer[node.out] = target
        elif held:
            buffer[node.out] = buffer[held]
        else:
            buffer[node.out] = local(node.out)
            real = array_type(node.out, program, types)
            buffers.append(f"{real} {buffer[node.out]}[{types[node.out].width}]")
        calls.append(f"{function}({arguments}, {buffer[node.out]})")
    if not target and types[goal].kind is not Kind.LABEL:
        place = "" if types[goal].kind is Kind.INDEX else "[0]"
        calls.append(f"return {buffer[goal]}{place}")
    return Body(declaration, buffers + calls)


def array_type(value: str, program: Program, types: Types) -> str:
    """The C type of the numbers of a value that is an array."""
    if types[value].kind is Kind.LABELS:
        return "int32_t"
    return c_real(value_number(value, program, types))


def taken_over(program: Program, types: Types, node: Node) -> str | None:
    """The value in whose array a node leaves its own: an array of ours that nothing else reads."""
    if not node.in_place:
        return None
    (value,) = operands(node)
    same = value_number(value, program, types) == value_number(node.out, program, types)
    return value if same and only_maker(program, value) else None


def _arguments(program: Program, node: Node, buffer: dict[str, str]) -> str:
    """What a node's function is handed; the kernel and the query but once."""
    read = [buffer[name] for name in _eager(node)]
    if lazy_operands(node):  # what is computed when needed starts from the row
        read.insert(0, buffer[program.input.name])
    return ", ".join(dict.fromkeys(read) if takes_kernel(program) else read)


def row_argument(program: Program) -> str:
    """The row as it is handed on."""
    return "kernel, query" if takes_kernel(program) else "x"


def needed(program: Program, goal: str, known: set[str]) -> list[Node]:
    """The nodes that lead to a value for every row, from values known already."""
    wanted, kept = {goal}, []
    for node in reversed(program.body):
        if node.out in wanted and node.out not in known:
            kept.append(node)
            wanted.update(_eager(node))
    return kept[::-1]


def _eager(node: Node) -> tuple[str, ...]:
    """The operands every row needs."""
    return tuple(name for name in operands(node) if name not in lazy_operands(node))
