"""Public functions of programs whose kernel the caller computes.

The kernel is a function of the caller's, called with a query and the number of
a training point. The functions under the usual names take a row of its values.
"""

from __future__ import annotations

from typing import Any

from svmcompile.ir.kinds import Types
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import (
    Body,
    Function,
    Result,
    body,
    predict_of,
    real_of,
    results,
    row_parameters,
    takes_kernel,
)  # fmt: skip
from svmcompile.targets.names import Names


def points(program: Program) -> list[int]:
    """The training points the kernel may be asked for; none where no caller is asked."""
    if not takes_kernel(program):
        return []
    given: list[Any] = [node for node in program.body if getattr(node, "shape", "") == "given"]
    tables = [program.tables[node.vectors] for node in given]
    return sorted({int(point) for table in tables for point in table.ravel()})


def kernel_functions(program: Program, types: Types, name: str) -> list[Function]:
    """What the header declares for callers with a kernel of their own."""
    comment = f"{name}_predict for a query that only the caller's kernel knows."
    found = [Function(comment, _predict_with(program, name))]
    for result in results(program, types):
        comment = f"{name}_{result.function} for such a query."
        found.append(Function(comment, _with(result, program, name)))
    return found


def _predict_with(program: Program, name: str) -> str:
    result = "int" if program.labels else real_of(program)
    return f"{result} {name}_predict_with({row_parameters(program, name)})"


def _with(result: Result, program: Program, name: str) -> str:
    return result.declaration(program, name, row_parameters(program, name), "_with")


def functions_with_kernel(program: Program, types: Types, name: str, symbols: Names) -> list[Body]:
    """Bodies that ask the kernel, and those that look its values up in a row."""
    main = program.output("label") or program.output("value")
    look_up = f"{name}_row_kernel, x"
    assert main is not None
    bodies = [
        body(program, types, symbols, main, _predict_with(program, name)),
        Body(predict_of(program, name), [], [f"return {name}_predict_with({look_up})"]),
    ]
    for result in results(program, types):
        target = "" if result.alone else result.target
        asking = f"{name}_{result.function}_with({look_up}{f', {target}' * (not result.alone)})"
        bodies.append(body(program, types, symbols, result.value, _with(result, program, name), target))
        plain = result.declaration(program, name)
        bodies.append(Body(plain, [], ["return " * result.alone + asking]))
    return bodies
