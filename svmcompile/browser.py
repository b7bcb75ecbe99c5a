"""Target wasm: a program in, NAME.wasm and the page NAME.html around it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from svmcompile.ir.program import Number, Program

Files = dict[str, str | bytes]


def emit_wasm(
    program: Program,
    name: str,
    number: Number,
    rows: NDArray[Any] | None = None,
    watch: Callable[[str, Program], None] | None = None,
) -> tuple[Files, Program]:
    """The files of a math program, and the machine program they were made from.

    `rows` tell the page what range the features have; without them the stored test rows do.
    """
    from svmcompile.emit.c import emit as emit_c
    from svmcompile.emit.page import page
    from svmcompile.emit.self_test import SelfTest
    from svmcompile.emit.wasm import wasm_source
    from svmcompile.load.wasm_build import build_wasm
    from svmcompile.lower import lower

    machine = lower(program, number, "portable")
    if watch:
        watch(f"lower-{number}-wasm", machine)
    files = emit_c(machine, name, SelfTest.of(program, number), "portable")
    source = wasm_source(machine, name)
    main = f"{name}_exports.c"
    module = build_wasm(main, {**files, main: source.text}, source.stack_bytes)
    return {f"{name}.wasm": module, f"{name}.html": page(machine, name, module, rows)}, machine
