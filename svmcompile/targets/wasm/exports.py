"""What WebAssembly is built from: a machine program in, the C of its exports and the stack it needs out."""

from __future__ import annotations

from dataclasses import dataclass

from svmcompile.ir.arithmetic import BYTES
from svmcompile.ir.check import infer_types
from svmcompile.ir.program import Program
from svmcompile.targets.c.api import public_functions
from svmcompile.targets.c.scratch import scratch_bytes
from svmcompile.targets.templating import render

SPARE_STACK = 1 << 14  # for registers and addresses, beside the arrays that are counted
STACK_UNIT = 1 << 14


@dataclass(frozen=True, slots=True)
class WasmSource:
    """The file to compile beside NAME.c and NAME.h."""

    text: str
    stack_bytes: int


def wasm_source(program: Program, name: str) -> WasmSource:
    """The exports of a machine program under short names, without the prefix C needs."""
    types = infer_types(program)
    scores = program.output("scores")
    functions = [
        {"short": _short(function.declaration, name), "declaration": function.declaration}
        for function in public_functions(program, types, name)
    ]
    numbers = {
        "number_bytes": BYTES[program.number or "f64"],
        "n_features": program.n_features,
        "n_classes": program.n_classes,
        "n_scores": types[scores].width if scores else 0,
    }
    text = render(
        "wasm/exports.c.j2",
        {
            "name": name,
            "functions": functions,
            "numbers": [{"name": key, "value": value} for key, value in numbers.items()],
        },
    )
    needed = scratch_bytes(program) + SPARE_STACK
    return WasmSource(text, -(-needed // STACK_UNIT) * STACK_UNIT)


def _short(declaration: str, name: str) -> str:
    """`predict` of `int digits_predict(const float x[64])`."""
    return declaration.split("(")[0].split()[-1].removeprefix(f"{name}_")
