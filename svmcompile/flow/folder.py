"""Output folders: what `write` wrote, found and loaded again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from svmcompile.errors import OptionError, ReadError
from svmcompile.ir.program import Program
from svmcompile.ir.store import from_bytes

TARGETS = ("c", "onnx", "wasm")


def find_program(folder: str | Path, name: str | None = None) -> tuple[str, Program]:
    """The name and program of an output folder."""
    path = Path(folder)
    if not path.is_dir():
        raise ReadError(f"{path}: not a folder; compile a model there first")
    stems = sorted(item.stem for item in path.glob("*.svmc"))
    if name is None and len(stems) > 1:
        raise OptionError(f"{path}: holds several models ({', '.join(stems)}); name one")
    chosen = name or (stems[0] if stems else "")
    if chosen not in stems:
        raise ReadError(f"{path}: holds no model{' ' + repr(name) if name else ''} (no .svmc file)")
    return chosen, from_bytes(read_file(path / f"{chosen}.svmc"), str(path / f"{chosen}.svmc"))


def read_file(path: Path) -> bytes:
    """A file's bytes, or a clear error."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ReadError(f"{path}: {error.strerror}") from None


def read_c(folder: Path, stem: str) -> tuple[str, str]:
    """NAME.c and NAME.h."""
    source, header = (
        read_file(folder / f"{stem}{suffix}").decode(errors="replace") for suffix in (".c", ".h")
    )
    return source, header


def targets_in(folder: Path, stem: str) -> list[str]:
    """The targets whose files are there."""
    return [target for target in TARGETS if (folder / f"{stem}.{target}").exists()]


def load_target(folder: Path, stem: str, program: Program, target: str, n_jobs: int = 1) -> Any:
    """The model of one target, ready to predict."""
    labels, names = program.labels, program.input.feature_names
    if target == "onnx":
        from svmcompile.runtime.onnx import load_onnx

        return load_onnx(folder / f"{stem}.onnx", labels, program.n_features, names)
    if target == "wasm":
        from svmcompile.runtime.wasm import WasmModel

        return WasmModel(folder / f"{stem}.wasm", labels, names)
    from svmcompile.runtime.c import CModel

    return CModel(stem, *read_c(folder, stem), labels, names, n_jobs)
