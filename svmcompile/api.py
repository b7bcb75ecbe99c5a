"""The flow: read, accelerate, optimise, lower, emit, verify. Stages meet here and in `emission`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.registry import accelerate
from svmcompile.accelerate.registry import train as train_method
from svmcompile.data import Data
from svmcompile.data.rows import as_rows, table_rows
from svmcompile.emission import PRECISIONS as PRECISIONS
from svmcompile.emission import PROFILES as PROFILES
from svmcompile.emission import TARGETS, Watcher
from svmcompile.emission import checked_precision as checked_precision
from svmcompile.emission import emit as emit
from svmcompile.emission import quantise as quantise
from svmcompile.errors import OptionError, ReadError
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program
from svmcompile.ir.store import from_bytes
from svmcompile.lower import lower
from svmcompile.model.probes import probe_rows
from svmcompile.model.svm import SVM
from svmcompile.optimise import optimise
from svmcompile.outputs import Files as Files
from svmcompile.outputs import write as write
from svmcompile.report import MEAN_COSTS

SOME_ROWS = 10_000  # of those trained on tell the mean cost


def compile(  # the name users know; the builtin is not needed here
    source: Any,
    *,
    method: str = "exact",
    X: Any = None,
    y: Any = None,
    trust_pickle: bool = False,
    n_features: int | None = None,
    most_probable: bool = False,
    measure: bool = False,
    watch: Watcher | None = None,
    **options: Any,
) -> Program:
    """Compile a trained SVM (an estimator, or a path to a model file) into a program.

    `options` are the method's own; `svmcompile methods` lists them. `n_features`
    is for LIBSVM files, which do not store it. `most_probable` gives the label of
    the largest probability, as LIBSVM's predict does with -b 1. `measure` builds the C of the method, of
    its variants and of the exact sum, and keeps what is quickest on rows of X. A `DTSVMClassifier` has
    its program already.
    """
    from svmcompile.read import read

    own = getattr(source, "program_", None)
    if isinstance(own, Program):
        if method != "exact" or options:
            raise OptionError(f"{type(source).__name__} is compiled already; choose its options before fit")
        return own
    svm = read(source, trust_pickle=trust_pickle, n_features=n_features)
    svm = svm.by_probability() if most_probable else svm
    if measure:
        from svmcompile.measured import compile_measured

        return compile_measured(svm, method, as_data(svm, X, y), options, watch)
    return compile_svm(svm, method, as_data(svm, X, y), options, watch)


def compile_svm(
    svm: SVM, method: str, data: Data | None, options: Mapping[str, Any], watch: Watcher | None = None
) -> Program:
    """The program of an SVM that has been read."""
    return _finished(accelerate(svm, data, method, options), svm, data, watch)


def train(
    X: Any, y: Any, *, method: str = "dtsvm", watch: Watcher | None = None, **options: Any
) -> Program:
    """Train a program on labelled rows, without an SVM; `svmcompile methods` lists options and methods."""
    return train_data(labelled_data(X, y), method, options, watch)


def train_data(
    data: Data, method: str, options: Mapping[str, Any], watch: Watcher | None = None
) -> Program:
    """The program a method trains on data that has been read."""
    program = train_method(method, data, options)
    some = slice(None, None, -(-len(data.X) // SOME_ROWS) or 1)
    return _finished(program, None, Data(data.X[some]), watch)


def _finished(program: Program, svm: SVM | None, data: Data | None, watch: Watcher | None) -> Program:
    """What every program gets, whatever method made it."""
    if watch:
        watch(program.origin.method, program)
    program = optimise(program, watch)
    if data is not None and any(node.is_adaptive for node in program.body):
        program = _with_mean_cost(program, data)
    return program.replace(probes=probe_rows(program, svm, data))


def _with_mean_cost(program: Program, data: Data) -> Program:
    """The program with a note of what a row of the data costs on average."""
    mean = program.cost(data.X)
    figures = {key: getattr(mean, key) for key in MEAN_COSTS}
    details = {**program.origin.details, "mean_cost": {"rows": len(data.X), **figures}}
    return program.replace(origin=replace(program.origin, details=details))


def as_data(svm: SVM, X: Any, y: Any) -> Data | None:
    """Rows and labels as given from Python, checked against the model."""
    if X is None:
        if y is not None:
            raise OptionError("y was given without X")
        return None
    rows = as_rows(X, svm.n_features, svm.feature_names)
    return Data(rows, None if y is None else _labels_for(rows, y))


def labelled_data(X: Any, y: Any) -> Data:
    """Rows and labels to train on, as given from Python."""
    rows, names = table_rows(X)
    return Data(rows, None if y is None else _labels_for(rows, y), names)


def _labels_for(rows: NDArray[Any], y: Any) -> NDArray[Any]:
    labels = np.asarray(y).ravel()
    if len(labels) != len(rows):
        raise OptionError(f"X has {len(rows)} rows, y has {len(labels)}")
    return labels


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


def load(folder: str | Path, name: str | None = None, target: str | None = None, n_jobs: int = 1) -> Any:
    """A compiled model from an output folder, ready to predict.

    C is built with the C compiler at hand (once: a cache is keyed by content)
    and runs in `n_jobs` threads; ONNX runs in onnxruntime where that is
    installed, in one thread; WebAssembly in wasmtime, in one thread.
    """
    stem, program = find_program(folder, name)
    path = Path(folder)
    here = [one for one in TARGETS if (path / f"{stem}.{one}").exists()]
    chosen = target or (here[0] if here else "c")
    if chosen not in here:
        raise ReadError(f"{path}: holds no {chosen} code for {stem!r}; it has: {', '.join(here) or 'none'}")
    if chosen == "onnx":
        from svmcompile.runtime.onnx import load_onnx

        return load_onnx(
            path / f"{stem}.onnx", program.labels, program.n_features, program.input.feature_names
        )
    if chosen == "wasm":
        from svmcompile.runtime.wasm import WasmModel

        return WasmModel(path / f"{stem}.wasm", program.labels, program.input.feature_names)
    from svmcompile.runtime.c import CModel

    source, header = (
        read_file(path / f"{stem}{suffix}").decode(errors="replace") for suffix in (".c", ".h")
    )
    return CModel(stem, source, header, program.labels, program.input.feature_names, n_jobs)


def verify(
    folder: str | Path,
    model: Any,
    X: Any,
    y: Any = None,
    *,
    name: str | None = None,
    trust_pickle: bool = False,
) -> Any:
    """Original, interpreter and every emitted form side by side on the rows; a `Report`."""
    from svmcompile.read import read
    from svmcompile.runtime.wasm import has_wasmtime
    from svmcompile.verification.differential import Backend, compare

    stem, program = find_program(folder, name)
    svm = read(model, trust_pickle=trust_pickle, n_features=program.n_features)
    svm = svm.by_probability() if program.origin.details.get("most_probable") else svm
    data = as_data(svm, X, y)
    assert data is not None
    backends = [Backend("interpreter", program.number or "f64", program)]
    left_out = []
    for target in TARGETS:
        if (Path(folder) / f"{stem}.{target}").exists():
            if target == "wasm" and not has_wasmtime():
                left_out.append("wasm (pip install svmcompile[wasm] brings wasmtime, which runs it)")
                continue
            runner = load(folder, stem, target)
            backends.append(Backend(target, program.number or runner.precision, runner))
    original = reference(model, svm, trust_pickle)
    report = compare(stem, program, original, backends, data.X, data.y)
    return replace(report, left_out=tuple(left_out))


def check_certificate(
    program: Program,
    X: Any,
    model: Any = None,
    *,
    precision: str = "f32",
    every_leaf: bool = False,
    trust_pickle: bool = False,
) -> Any:
    """Confirm or refute, in many digits, what Taylor polynomials promise; a `CertificateReport`.

    The sum meant is that of the model, or without one the program's own in double. `every_leaf` checks the
    polynomials about all centres, not only the one a row is taken to. Needs the extra `proof`.
    """
    from svmcompile.progress import steps
    from svmcompile.read import read
    from svmcompile.verification.certificate import check_rows

    number, original = checked_precision(precision), None
    if model is not None:
        svm = read(model, trust_pickle=trust_pickle, n_features=program.n_features)
        original = accelerate(replace(svm, front=svm.front.uncentred()), None, "exact", {})
    rows = as_rows(X, program.n_features, program.input.feature_names)
    with steps("certificates", len(rows)) as advance:
        return check_rows(program, rows, number, original, every_leaf, advance)


def reference(model: Any, svm: SVM, trust_pickle: bool) -> tuple[str, Any]:
    """What to compare with: the original library, or its definition where it is not installed."""
    from svmcompile.read.original import load_original

    original = load_original(model, svm, trust_pickle=trust_pickle)
    exact = accelerate(replace(svm, front=svm.front.uncentred()), None, "exact", {})
    if original is not None:
        return original.name, replace(original, exact=exact)
    return f"interpreter of {svm.source.kind}", exact


def evaluate(program: Program, number: Number, original: Any, data: Data) -> dict[str, Any]:
    """Agreement, accuracy and worst error on data, as the report shows them."""
    from svmcompile.verification.differential import Backend, compare

    backend = Backend("interpreter", number, program if program.number else lower(program, number))
    report = compare("", program, original, [backend], data.X, data.y)
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


def labels_as_given(program: Program, labels: NDArray[Any]) -> NDArray[Any]:
    """Labels read from a file (numbers or text) in the type of the model's own."""
    if program.labels is None or program.labels.array().dtype.kind == labels.dtype.kind:
        return labels
    try:
        return labels.astype(program.labels.array().dtype)
    except (TypeError, ValueError):
        return labels
