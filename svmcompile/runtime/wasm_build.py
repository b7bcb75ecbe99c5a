"""Building WebAssembly with ziglang's C compiler: C files in, the bytes of a module without imports out."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from svmcompile.errors import ToolchainError
from svmcompile.runtime.toolchain import cache_folder, run_compiler

FLAGS = ("-target", "wasm32-freestanding", "-O2", "-std=c99", "-ffp-contract=off", "-nostdlib", "-s")
LINK = ("-Wl,--no-entry",)


def wasm_compiler() -> tuple[str, ...]:
    """The command of ziglang, the only compiler for WebAssembly that PyPI brings whole."""
    if not importlib.util.find_spec("ziglang"):
        raise ToolchainError("target wasm is built with ziglang; run: pip install svmcompile[cc]")
    return (sys.executable, "-m", "ziglang", "cc")


def build_wasm(main: str, files: Mapping[str, str], stack_bytes: int) -> bytes:
    """The module of the file `main`, which includes the others; a cache is keyed by their content."""
    command = [*wasm_compiler(), *FLAGS, *LINK, f"-Wl,-z,stack-size={stack_bytes}", main, "-o", "out.wasm"]
    key = hashlib.sha256(_zig_version().encode())
    for part in (*command[1:], *(part for item in sorted(files.items()) for part in item)):
        key.update(part.encode() + b"\0")
    module = cache_folder() / f"{Path(main).stem}-{key.hexdigest()[:32]}.wasm"
    try:
        return module.read_bytes() if module.exists() else _build(command, files, module)
    except OSError as error:
        raise ToolchainError(
            f"cannot build in {module.parent}: {error}; set SVMCOMPILE_CACHE to a writable folder"
        ) from None


def _zig_version() -> str:
    from importlib.metadata import version

    return version("ziglang")


def _build(command: list[str], files: Mapping[str, str], module: Path) -> bytes:
    module.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=module.parent, prefix="build-") as temporary:
        folder = Path(temporary)
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        run_compiler(command, folder)
        content = (folder / "out.wasm").read_bytes()
        (folder / "out.wasm").replace(module)  # atomic, so a killed build leaves nothing half-made
    return content
