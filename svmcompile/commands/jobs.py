"""What the commands do, without printing: each returns plain figures."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from svmcompile import api
from svmcompile.accelerate.registry import METHODS, method
from svmcompile.commands.device_fit import Asked, refuse
from svmcompile.data import (
    Data,
    PredictionWriter,
    count_rows,
    iter_data,
    partition_files,
    read_data,
    read_partitions,
)
from svmcompile.device.cost import DeviceOptions, device_cost, rows_for, shortfalls, with_cost
from svmcompile.emission import Watcher
from svmcompile.errors import OptionError
from svmcompile.files import write_file
from svmcompile.ir.arithmetic import FIXED
from svmcompile.ir.program import Claim, Program
from svmcompile.ir.store import MAGIC, from_bytes
from svmcompile.model.svm import SVM
from svmcompile.outputs import Files
from svmcompile.read import read
from svmcompile.targets.names import name_from


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What `compile` was asked for."""

    method: str
    options: Mapping[str, Any]
    targets: tuple[str, ...]
    precision: str
    profile: str
    tables: str | None
    name: str | None
    trust_pickle: bool
    n_features: int | None
    most_probable: bool
    dump_ir: Path | None
    kits: tuple[str, ...] = ()
    ranges: str | None = None
    given: str | None = None
    soft_double: bool = False
    device: DeviceOptions | None = None
    measure: bool = False


def stored_program(path: Path) -> Program | None:
    """The program in a `.svmc` file, None if the file is something else."""
    if path.suffix != ".svmc" and not (path.is_file() and _holds_program(path)):
        return None
    return from_bytes(api.read_file(path), str(path))


def _holds_program(path: Path) -> bool:
    with path.open("rb") as stream:
        head = stream.read(64)
    return head.startswith(MAGIC) and b"program.json" in head


def compile_model(
    model: Path, output: Path, wanted: CompileOptions, data_for: Callable[[Any], Data | None]
) -> tuple[dict[str, Any], dict[str, int]]:
    """Compile a file to a folder; the report and the sizes of the files written."""
    listings: dict[str, str] = {}

    def watch(step: str, program: Program) -> None:
        listings[f"{len(listings):02d}-{step}.txt"] = program.text()

    program = stored_program(model)
    figures: dict[str, Any] = {}
    svm, data, seconds = None, None, 0.0
    if program is None:
        svm = read(model, trust_pickle=wanted.trust_pickle, n_features=wanted.n_features)
        svm = svm.by_probability() if wanted.most_probable else svm
        data = data_for(svm)
        begin = time.perf_counter()
        program = _compiled(svm, wanted, data, watch)
        seconds = time.perf_counter() - begin
        program = _quantised(program, wanted, data, data_for)
        if data is not None:
            figures = _evaluate(program, model, svm, data, wanted)
    elif wanted.method != "exact" or wanted.options:
        raise OptionError(f"{model}: is compiled already; give the original model to choose a method")
    else:
        program = _quantised(program, wanted, data_for(program), data_for)
    name = wanted.name if wanted.name is not None else name_from(model.stem)
    files = api.emit(
        program, wanted.targets, name, wanted.precision, wanted.profile, wanted.tables, figures, watch,
        X=None if data is None else data.X,
        kit=wanted.kits,
        soft_double=wanted.soft_double,
    )  # fmt: skip
    if wanted.device:
        asked = Asked(svm, program, data, wanted.method, wanted.precision, name, wanted.soft_double)
        files = _on_device(files, asked, wanted.device)
    api.write(files, output)
    for listing, text in listings.items() if wanted.dump_ir else ():
        write_file(wanted.dump_ir / listing, text)  # type: ignore[operator]
    sizes = {key: len(value.encode() if isinstance(value, str) else value) for key, value in files.items()}
    # The time is told, never stored: equal input gives equal files.
    return json.loads(files[f"{name}.json"]) | {"seconds": seconds}, sizes


def _compiled(svm: SVM, wanted: CompileOptions, data: Data | None, watch: Watcher) -> Program:
    """What the method makes, as predicted or as measured."""
    if not wanted.measure:
        return api.compile_svm(svm, wanted.method, data, _tuned(wanted), watch)
    from svmcompile.measured import compile_measured

    return compile_measured(svm, wanted.method, data, _tuned(wanted), watch)


def _on_device(files: Files, asked: Asked, device: DeviceOptions) -> Files:
    """The files with their cost on a device; an error where it has no room for them."""
    rows = rows_for(asked.program, None if asked.data is None else asked.data.X)
    cost = device_cost(files, asked.name, device.cpu, rows, device.picojoules)
    if shortfalls(cost, device):
        raise refuse(asked, cost, device)
    return with_cost(files, asked.name, cost)


def _quantised(
    program: Program, wanted: CompileOptions, data: Data | None, data_for: Callable[[Any], Data | None]
) -> Program:
    """The program in whole numbers, where that is the precision."""
    if wanted.precision not in FIXED:
        if wanted.ranges or wanted.given:
            raise OptionError("--ranges and --input are for precisions q15 and q7")
        return program
    ranges = _ranges(wanted.ranges, program) if wanted.ranges else None
    rows = None if data is None else data.X
    return api.quantise(program, wanted.precision, rows, ranges, wanted.given)


def _ranges(text: str, program: Program) -> tuple[Any, Any]:
    """The range of all features from LOW:HIGH, or of each from the rows of a file."""
    low, colon, high = text.partition(":")
    if colon and not Path(text).exists():
        try:
            return float(low), float(high)
        except ValueError:
            raise OptionError(f"--ranges {text!r} is neither LOW:HIGH nor a file") from None
    rows = read_data(Path(text), n_features=program.n_features, feature_names=program.feature_names).X
    return rows.min(axis=0), rows.max(axis=0)


def _tuned(wanted: CompileOptions) -> Mapping[str, Any]:
    """The method's options; a method that can be tuned for a profile is, unless they say otherwise."""
    known = {option.name for option in method(wanted.method).option_list}
    tune = "host" if wanted.profile == "host" else "portable"
    return {"tune": tune, **wanted.options} if "tune" in known else wanted.options


def _evaluate(
    program: Program, model: Path, svm: SVM, data: Data, wanted: CompileOptions
) -> dict[str, Any]:
    labels = None if data.y is None else api.labels_as_given(program, data.y)
    original = api.reference(model, svm, wanted.trust_pickle)
    number = api.checked_precision(wanted.precision)
    figures = api.evaluate(program, number, original, Data(data.X, labels))
    # Rows that a program was fitted to flatter it; the report says so.
    return figures | {"fitted_to_these_rows": program.claim is Claim.APPROXIMATE}


def train_model(
    method: str,
    data: Path,
    label: str | None,
    output: Path,
    options: Mapping[str, Any],
    cluster: str | None,
) -> dict[str, Any]:
    """Train a program on a data file, or on the files of a folder, and store it; the report."""
    from svmcompile.cluster import connected

    if output.suffix != ".svmc":
        raise OptionError(f"{output}: a trained program is stored as .svmc; name it so")
    begin = time.perf_counter()
    with connected(cluster) if cluster else nullcontext():
        rows = read_partitions(data, label=label) if data.is_dir() else read_data(data, label=label)
        program = api.train_data(rows, method, options)
    report = _training_report(program, rows) | {"seconds": time.perf_counter() - begin}
    program.save(output)
    return report | {"output": str(output)}


def _training_report(program: Program, rows: Data) -> dict[str, Any]:
    some = slice(None, None, -(-len(rows.X) // api.SOME_ROWS))
    X, y = rows.X[some], np.asarray(rows.y)[some]
    cost = program.cost().as_dict() | {
        key: value for key, value in program.cost(X).as_dict().items() if key.startswith("mean_")
    }
    return {
        **_program_facts(program),
        "n_rows": len(rows.X),
        "cost": cost,
        "accuracy": float((program.predict(X) == y).mean()),
        "accuracy_rows": len(X),
        "fitted_to_these_rows": True,
        "details": dict(program.origin.details),
    }


def inspect(thing: Path, trust_pickle: bool, n_features: int | None) -> tuple[dict[str, Any], str]:
    """Facts about a model, a program or a folder, and a program's listing."""
    if thing.is_dir():
        stems = sorted(item.stem for item in thing.glob("*.svmc"))
        models = {stem: _folder_facts(thing, stem) for stem in stems}
        if not models:
            api.find_program(thing)  # raises what fits
        return {"kind": "folder", "models": models}, ""
    program = stored_program(thing)
    if program is not None:
        return {"kind": "program", **_program_facts(program)}, program.text()
    return {
        "kind": "model",
        **_svm_facts(read(thing, trust_pickle=trust_pickle, n_features=n_features)),
    }, ""


def _folder_facts(folder: Path, stem: str) -> dict[str, Any]:
    _, program = api.find_program(folder, stem)
    sizes = {item.name: item.stat().st_size for item in sorted(folder.glob(f"{stem}.*"))}
    report = folder / f"{stem}.json"
    emitted = json.loads(report.read_text()) if report.exists() else {}
    keys = (
        "target",
        "precision",
        "profile",
        "agreement",
        "accuracy",
        "max_decision_error",
        "max_probability_error",
        "rows",
        "cost",
        "device",
        "vectors",
    )
    chosen = {key: emitted[key] for key in keys if key in emitted}
    return {**_program_facts(program), **chosen, "files": sizes}


def _program_facts(program: Program) -> dict[str, Any]:
    origin = program.origin
    return {
        "source": origin.source,
        "sha256": origin.sha256,
        "method": origin.method,
        "options": dict(origin.options),
        "claim": origin.claim.value,
        "features": program.n_features,
        "classes": list(program.labels.values) if program.labels else [],
        "outputs": [output.name for output in program.outputs],
        "support_vectors": origin.n_support_vectors,
        "cost": program.cost().as_dict(),
        "passes": [asdict(saving) for saving in origin.savings],
        "notes": list(origin.notes),
    }


def _svm_facts(svm: SVM) -> dict[str, Any]:
    zeros = float((svm.vectors == 0).mean()) if svm.vectors.size else 0.0
    return {
        "source": svm.source.kind,
        "sha256": svm.source.sha256,
        "kernel": ", ".join(dict.fromkeys(part.kernel.text() for part in svm.parts or (svm,))),
        "machines": len(svm.parts) or 1,
        "features": svm.n_features,
        "feature_names": list(svm.feature_names),
        "classes": list(svm.labels.values) if svm.labels else [],
        "support_vectors": svm.n_vectors,
        "vectors_per_class": list(svm.counts),
        "zeros_in_vectors": zeros,
        "scores": svm.n_sums,
        "label_rule": svm.label_rule.value,
        "preprocessing": [step.kind.lower() for step in svm.front.steps if len(step.place) == 1],
        "probabilities": svm.has_probabilities,
        "notes": list(svm.notes),
    }


def verify_folder(folder: Path, model: Path, name: str | None, trust_pickle: bool, read_data: Any) -> Any:
    """The verification report of a folder on a data file."""
    _, program = api.find_program(folder, name)
    data = read_data(program.n_features, program.input.feature_names)
    labels = None if data.y is None else api.labels_as_given(program, data.y)
    return api.verify(folder, model, data.X, labels, name=name, trust_pickle=trust_pickle)


def check_certificates(
    folder: Path, model: Path, name: str | None, trust_pickle: bool, read_data: Any
) -> Any:
    """The report on a folder's certificates for the rows of a data file, in the precision of its C code."""
    stem, program = api.find_program(folder, name)
    data = read_data(program.n_features, program.input.feature_names)
    report = json.loads(api.read_file(folder / f"{stem}.json"))
    precision = report["precision"]
    return api.check_certificate(program, data.X, model, precision=precision, trust_pickle=trust_pickle)


def predict_file(
    folder: Path, data: Path, output: Path, label: str | None, name: str | None, target: str | None,
    scores: bool, n_jobs: int, quiet: bool,
) -> dict[str, Any]:  # fmt: skip
    """Score a data file, or the files of a folder, chunk by chunk; how many rows there were."""
    from svmcompile.commands.show import progress

    stem, program = api.find_program(folder, name)
    model = api.load(folder, stem, target, n_jobs)
    if scores and program.output("scores") is None:
        raise OptionError("--scores: this model has no decision function")
    width, names = program.n_features, program.input.feature_names
    files = partition_files(data)
    chunks = (
        chunk
        for file in files
        for chunk in iter_data(file, label=label, n_features=width, feature_names=names)
    )
    done = 0
    kind: Literal["label", "value"] = "value" if program.labels is None else "label"
    with (
        progress(f"scoring {data.name}", _rows_of(files), quiet) as advance,
        PredictionWriter(output, kind) as sink,
    ):
        for chunk in chunks:
            sink.write(model.predict(chunk.X), model.decision_function(chunk.X) if scores else None)
            done += len(chunk.X)
            advance(len(chunk.X))
    return {"model": stem, "rows": done, "output": str(output)}


def _rows_of(files: list[Path]) -> int | None:
    """Rows in all, where that is cheap to say."""
    counts = [count_rows(file) for file in files]
    return None if None in counts else sum(count or 0 for count in counts)


def list_methods() -> list[dict[str, Any]]:
    """Every method as its own module declares it."""
    return [
        {
            "name": name,
            "claim": found.claim.value,
            "needs_data": found.needs_data,
            "summary": found.summary,
            "options": [asdict(option) for option in found.option_list],
            "trains": found.train is not None,
            "train_options": [asdict(option) for option in found.train_option_list],
        }
        for name, found in ((name, method(name)) for name in METHODS)
    ]
