"""Public functions of programs whose kernel the caller computes.

The kernel is a function of the caller's, called with a query and the number of
a training point. The functions under the usual names take a row of its values.
"""

from __future__ import annotations

from svmcompile.emit.c_api import (
    Body,
    Function,
    body,
    decision_of,
    predict_of,
    real_of,
    row_parameters,
    takes_kernel,
)  # fmt: skip
from svmcompile.emit.names import Names
from svmcompile.ir.program import Program
from svmcompile.ir.rules import Types


def points(program: Program) -> list[int]:
    """The training points the kernel may be asked for; none where no caller is asked."""
    if not takes_kernel(program):
        return []
    given = [node for node in program.body if getattr(node, "shape", "") == "given"]
    tables = [program.tables[node.vectors] for node in given]  # type: ignore[union-attr]
    return sorted({int(point) for table in tables for point in table.ravel()})


def kernel_functions(program: Program, types: Types, name: str) -> list[Function]:
    """What the header declares for callers with a kernel of their own."""
    comment = f"{name}_predict for a query that only the caller's kernel knows."
    found = [Function(comment, _predict_with(program, name))]
    if program.output("scores") is not None:
        found.append(Function("Its decision values.", _decision_with(program, types, name)))
    return found


def _predict_with(program: Program, name: str) -> str:
    result = "int" if program.labels else real_of(program)
    return f"{result} {name}_predict_with({row_parameters(program, name)})"


def _decision_with(program: Program, types: Types, name: str) -> str:
    width = types[program.output("scores") or ""].width
    target = f"{real_of(program)} scores[{width}]"
    return f"void {name}_decision_function_with({row_parameters(program, name)}, {target})"


def functions_with_kernel(program: Program, types: Types, name: str, symbols: Names) -> list[Body]:
    """Bodies that ask the kernel, and those that look its values up in a row."""
    main = program.output("label") or program.output("value")
    scores, look_up = program.output("scores"), f"{name}_row_kernel, x"
    assert main is not None
    bodies = [
        body(program, types, symbols, main, _predict_with(program, name)),
        Body(predict_of(program, name), [], [f"return {name}_predict_with({look_up})"]),
    ]
    if scores is not None:
        plain = decision_of(program, name, types[scores].width)
        asking = _decision_with(program, types, name)
        bodies.append(body(program, types, symbols, scores, asking, "scores"))
        bodies.append(Body(plain, [], [f"{name}_decision_function_with({look_up}, scores)"]))
    return bodies
