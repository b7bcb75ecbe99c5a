"""Output folders: found and loaded again; how emitted code does on data, beside the original."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from svmcompile.errors import OptionError, ReadError
from svmcompile.flow.form import form_in
from svmcompile.flow.program import Opened
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program
from svmcompile.ir.store import from_bytes
from svmcompile.runtime import wasm
from svmcompile.runtime.libraries import SUFFIX
from svmcompile.verification.differential import Backend, Report, compare

TARGETS = ("shared", "c", "onnx", "wasm")  # which `load` takes first


def evaluate(
    program: Program, meaning: Program, number: Number, model: Opened, X: Any, y: Any
) -> dict[str, Any]:
    """Agreement, accuracy and worst error of a machine program on data, as the report shows them."""
    backend = Backend("interpreter", number, meaning)
    report = compare("", program, model.reference(), [backend], *_labelled(program, model, X, y))
    one = report.comparisons[0]
    figures: dict[str, Any] = {
        "rows": report.rows,
        "agreement": one.agreement,
        "max_decision_error": one.max_decision_error,
    }
    if one.max_probability_error is not None:
        figures["max_probability_error"] = one.max_probability_error
    if one.accuracy is not None:
        figures["accuracy"] = {"original": report.accuracy_of_reference, "compiled": one.accuracy}
    return figures


def compare_forms(folder: Path, stem: str, program: Program, model: Opened, X: Any, y: Any) -> Report:
    """Interpreter and every emitted form of a folder beside the original."""
    backends = [Backend("interpreter", program.number or "f64", program)]
    left_out = []
    for target in targets_in(folder, stem):
        if target == "wasm" and not wasm.has_wasmtime():
            left_out.append("wasm (pip install svmcompile[wasm] brings wasmtime, which runs it)")
            continue
        runner = load_target(folder, stem, program, target)
        backends.append(Backend(target, program.number or runner.precision, runner))
    report = compare(stem, program, model.reference(), backends, *_labelled(program, model, X, y))
    return replace(report, left_out=tuple(left_out))


def _labelled(program: Program, model: Opened, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Rows, and labels (which files hold as numbers or text) in the type of the model's own."""
    data = model.data(X, y)
    assert data
    kind = None if program.labels is None else program.labels.array().dtype
    if data.y is None or kind is None or kind.kind == data.y.dtype.kind:
        return data.X, data.y
    try:
        return data.X, data.y.astype(kind)
    except (TypeError, ValueError):
        return data.X, data.y


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
    source, header = (
        read_file(folder / f"{stem}{suffix}").decode(errors="replace") for suffix in (".c", ".h")
    )
    return source, header


def targets_in(folder: Path, stem: str) -> list[str]:
    """The targets whose files are there."""
    return [target for target in TARGETS if _file(folder, stem, target).exists()]


def _file(folder: Path, stem: str, target: str) -> Path:
    """The file that tells that a target is there."""
    return folder / f"{stem}.{SUFFIX if target == 'shared' else target}"


def load_target(folder: Path, stem: str, program: Program, target: str, n_jobs: int = 1) -> Any:
    """The model of one target, ready to predict."""
    path = _file(folder, stem, target)
    if target == "c":
        source, header = read_c(folder, stem)
        files: dict[str, Any] = {f"{stem}.c": source, f"{stem}.h": header}
    elif target == "shared":
        files = {path.name: path, f"{stem}.h": read_file(folder / f"{stem}.h").decode(errors="replace")}
    else:
        files = {path.name: read_file(path)}
    return form_in(folder, stem, target, program).model(files, n_jobs)
