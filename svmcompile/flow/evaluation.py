"""Output folders: found and loaded again; how emitted code does on data, beside the original."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.data.rows import as_rows
from svmcompile.data.text import as_texts, is_text
from svmcompile.errors import OptionError, ReadError
from svmcompile.extras import install
from svmcompile.files import recover
from svmcompile.flow.form import form_in
from svmcompile.flow.program import Opened, labels_for
from svmcompile.flow.seal import check_seal, read_plain
from svmcompile.ir.arithmetic import FIXED, Number
from svmcompile.ir.program import Program
from svmcompile.ir.store import from_bytes
from svmcompile.runtime import wasm
from svmcompile.runtime.libraries import SUFFIX
from svmcompile.statistics import CONFIDENCE, interval
from svmcompile.verification.differential import Backend, Report, compare

TARGETS = ("shared", "c", "onnx", "wasm", "blob", "sql")  # which `load` takes first
SUFFIXES = {"shared": SUFFIX, "blob": "bin"}  # of files that are not called after their target
LABELS = "the labels of the data"
TRAINED = ("DTSVM", "labelled rows")  # sources of programs that have no original


def evaluate(
    program: Program, meaning: Program, number: Number, model: Opened, X: Any, y: Any
) -> dict[str, Any]:
    """Agreement, accuracy and worst error of a machine program on data, as the report shows them."""
    backend = Backend("interpreter", number, meaning)
    report = compare("", program, model.reference(), [backend], *_labelled(program, X, y))
    one = report.comparisons[0]
    figures: dict[str, Any] = {
        "rows": report.rows,
        "agreement": one.agreement,
        "max_decision_error": one.max_decision_error,
    }
    if program.labels is not None:
        bounds = interval(report.rows - one.labels_differing, report.rows)
        figures |= {"agreement_interval": list(bounds), "confidence": CONFIDENCE}
    if one.max_probability_error is not None:
        figures["max_probability_error"] = one.max_probability_error
    if one.accuracy is not None:
        figures["accuracy"] = {"original": report.accuracy_of_reference, "compiled": one.accuracy}
    return figures


def compare_forms(
    folder: Path, stem: str, program: Program, model: Opened | None, X: Any, y: Any, run: bool = True
) -> Report:
    """Interpreter and every emitted form of a folder beside the original; by labels where there is none.

    Unless it may `run` what was emitted, the interpreter stands alone.
    """
    check_seal(folder, stem)
    backends = [Backend("interpreter", program.number or "f64", program)]
    left_out = []
    for target in targets_in(folder, stem):
        if not run:
            left_out.append(f"{target} (it was not to be run)")
            continue
        if target == "wasm" and not wasm.has_wasmtime():
            left_out.append(f"wasm (wasmtime runs it; run: {install('wasm')})")
            continue
        runner = load_target(folder, stem, program, target)
        backends.append(Backend(target, program.number or runner.precision, runner))
    reference = (LABELS, program) if model is None else model.reference()
    trusted: tuple[Program, ...] = ()
    if model is not None:
        trusted = model.fixed_anew(program) if program.number in FIXED else model.rebuilt()
    report = compare(stem, program, reference, backends, *_labelled(program, X, y), trusted=trusted)
    return replace(report, left_out=tuple(left_out))


def needs_original(program: Program, stem: str) -> str:
    """What is lacking to verify a program without a model."""
    if program.origin.source in TRAINED:
        return f"{stem}: was trained on labels and is verified by labels; give data that has some (--label)"
    return f"{stem}: was compiled from a model; give it with --model"


def _labelled(program: Program, X: Any, y: Any) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Rows, and labels (which files hold as numbers or text) in the type of the model's own."""
    rows = rows_or_texts(program, X)
    if y is None or program.labels is None:
        return rows, None
    labels, classes = labels_for(rows, y, program.labels.per_row), program.labels.array()
    if classes.dtype.kind != labels.dtype.kind and not (
        labels.dtype.kind == "U" and classes.dtype.kind == "b"
    ):
        with suppress(TypeError, ValueError):  # else they stay as they are, and are told below
            labels = labels.astype(classes.dtype)
    if len(labels) and not np.isin(labels, classes).any():
        given, known = (", ".join(map(repr, np.unique(some)[:3].tolist())) for some in (labels, classes))
        raise OptionError(
            f"no label of the data ({given}, ...) is a class of the model ({known}, ...); "
            "give labels as the model was trained with, or none"
        )
    return rows, labels


def rows_or_texts(program: Program, X: Any) -> NDArray[Any]:
    """Rows of numbers or, of a program that takes text, an array of texts."""
    if not program.input.text or not is_text(X):
        return as_rows(X, program.n_features, program.feature_names, program.categories)
    texts = np.empty(len(X), dtype=object)
    texts[:] = as_texts(X)
    return texts


def find_program(
    folder: str | Path, name: str | None = None, key: bytes | None = None
) -> tuple[str, Program]:
    """The name and program of an output folder, which must be signed with the key, if there is one."""
    path = Path(folder)
    if not path.is_dir():
        raise ReadError(f"{path}: not a folder; compile a model there first")
    recover(path)
    stems = sorted(item.stem for item in path.glob("*.svmc"))
    if name is None and len(stems) > 1:
        raise OptionError(f"{path}: holds several models ({', '.join(stems)}); name one")
    chosen = name or (stems[0] if stems else "")
    if chosen not in stems:
        within = ", ".join(sorted({str(item.parent) for item in path.glob("*/*.svmc")})[:3])
        hint = f"; there are models in {within}" if within and not name else ""
        raise ReadError(f"{path}: holds no model{' ' + repr(name) if name else ''} (no .svmc file){hint}")
    check_seal(path, chosen, [f"{chosen}.svmc"], key)
    return chosen, from_bytes(read_plain(path / f"{chosen}.svmc"), str(path / f"{chosen}.svmc"))


def read_c(folder: Path, stem: str) -> tuple[str, str]:
    """Source and header, as they were written."""
    check_seal(folder, stem, [f"{stem}.c", f"{stem}.h"])
    source, header = (
        read_plain(folder / f"{stem}{suffix}").decode(errors="replace") for suffix in (".c", ".h")
    )
    return source, header


def targets_in(folder: Path, stem: str) -> list[str]:
    """The targets whose files are there."""
    return [target for target in TARGETS if _file(folder, stem, target).exists()]


def _file(folder: Path, stem: str, target: str) -> Path:
    """The file that tells that a target is there."""
    return folder / f"{stem}.{SUFFIXES.get(target, target)}"


def load_target(folder: Path, stem: str, program: Program, target: str, n_jobs: int = 1) -> Any:
    """The model of one target, ready to predict."""
    path = _file(folder, stem, target)
    check_seal(folder, stem, [path.name, *([f"{stem}.h"] if target in ("c", "shared") else [])])
    if target == "c":
        source, header = read_c(folder, stem)
        files: dict[str, Any] = {f"{stem}.c": source, f"{stem}.h": header}
    elif target == "shared":
        files = {path.name: path, f"{stem}.h": read_plain(folder / f"{stem}.h").decode(errors="replace")}
    else:
        files = {path.name: read_plain(path)}
    return form_in(folder, stem, target, program).model(files, n_jobs)
