"""What is made around C: WebAssembly with its page, kits; and writing all of it to a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from svmcompile.data.rows import as_rows
from svmcompile.errors import OptionError
from svmcompile.files import write_files
from svmcompile.files.tree import write_tree
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program

Files = dict[str, str | bytes]


def emit_wasm(
    program: Program,
    name: str,
    number: Number,
    X: Any = None,
    watch: Callable[[str, Program], None] | None = None,
) -> tuple[Files, Program]:
    """The files of a math program, and the machine program they were made from.

    `X` are rows that tell the page what range the features have; without them the stored test rows do.
    """
    from svmcompile.lower import lower
    from svmcompile.runtime.wasm_build import build_wasm
    from svmcompile.targets.c.model import emit as emit_c
    from svmcompile.targets.c.self_test import SelfTest
    from svmcompile.targets.wasm.exports import wasm_source
    from svmcompile.targets.wasm.page import page

    machine = lower(program, number, "portable")
    if watch:
        watch(f"lower-{number}-wasm", machine)
    files = emit_c(machine, name, SelfTest.of(program, number), "portable")
    source = wasm_source(machine, name)
    main = f"{name}_exports.c"
    module = build_wasm(main, {**files, main: source.text}, source.stack_bytes)
    rows = None if X is None else as_rows(X, program.n_features, program.feature_names)
    return {f"{name}.wasm": module, f"{name}.html": page(machine, name, module, rows)}, machine


def emit_kits(
    kit: str | Iterable[str], program: Program, name: str, number: Number, profile: str, files: Files
) -> Files:
    """The files of each kit around the C that was emitted."""
    from svmcompile.targets.kits import check_kit, emit_kit

    kits = [check_kit(one, profile) for one in ((kit,) if isinstance(kit, str) else dict.fromkeys(kit))]
    if kits and f"{name}.c" not in files:
        raise OptionError("a kit is made of C; add target c")
    code = {file: str(files[file]) for file in (f"{name}.h", f"{name}.c")} if kits else {}
    return {path: text for one in kits for path, text in emit_kit(one, program, name, number, code).items()}


def write(files: Mapping[str, str | bytes], folder: str | Path) -> None:
    """Write files to a folder, all or none; so too each kit, which is a folder in it."""
    trees: dict[str, dict[str, str | bytes]] = {}
    plain = {}
    for path, content in files.items():
        parts = path.split("/", 2)
        if len(parts) == 3:
            trees.setdefault("/".join(parts[:2]), {})[parts[2]] = content
        else:
            plain[path] = content
    for tree, contents in trees.items():
        write_tree(contents, Path(folder) / tree)
    write_files(plain, Path(folder))
