"""What `bench` does: takes a folder, rows and rivals to a race in a process of its own, with one thread.

The race runs in a child process whose environment tells every maths library to
use one thread; they read it only once, before their first import.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import api, errors
from svmcompile.bench.charts import bar_chart
from svmcompile.bench.peers import chosen
from svmcompile.bench.subject import Subject
from svmcompile.commands.race import Race
from svmcompile.data import read_data
from svmcompile.errors import OptionError, ReadError, SvmCompileError
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program
from svmcompile.model.svm import SVM
from svmcompile.read import content_of, read
from svmcompile.read.detect import format_of
from svmcompile.runtime.toolchain import cache_folder

THREADS = ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM", "GOTO")
REPEATS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchOptions:
    """What `bench` was asked for."""

    folder: str
    data: str
    model: str | None = None
    trust_pickle: bool = False
    label: str | None = None
    name: str | None = None
    against: tuple[str, ...] | None = None
    rows: int | None = None
    batch: int = 2000
    repeats: int = REPEATS


def bench(options: BenchOptions, output: Path | None = None, quiet: bool = False) -> dict[str, Any]:
    """The figures; `bench.json` and `bench.svg` as well, if there is an output folder."""
    _check(options)
    result = _in_child(options, quiet)
    if output is not None:
        api.write(
            {"bench.json": json.dumps(result, indent=2, sort_keys=True) + "\n", "bench.svg": chart(result)},
            output,
        )
    return result


def _check(options: BenchOptions) -> None:
    chosen(options.against)
    for name in ("batch", "repeats", "rows"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise OptionError(f"--{name} must be at least 1, got {value}")


def _in_child(options: BenchOptions, quiet: bool) -> dict[str, Any]:
    """Run `measure` in a process of its own; its errors are raised here again."""
    package = str(Path(__file__).resolve().parent.parent.parent)
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, **{f"{name}_NUM_THREADS": "1" for name in THREADS}}
    with tempfile.TemporaryDirectory(prefix="svmcompile-bench-") as folder:
        request, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        request.write_text(json.dumps({**asdict(options), "quiet": quiet}), encoding="utf-8")
        command = [sys.executable, "-m", "svmcompile.commands.bench", str(request), str(answer)]
        subprocess.run(command, env=environment, check=False)
        if not answer.exists():
            raise errors.ToolchainError("the process that runs the benchmark ended early")
        result: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    if "error" in result:
        raise getattr(errors, result["error"])(result["message"])
    return result


def _child(request: Path, answer: Path) -> None:
    """The other side of `_in_child`."""
    asked = json.loads(request.read_text(encoding="utf-8"))
    quiet = asked.pop("quiet")
    asked["against"] = None if asked["against"] is None else tuple(asked["against"])
    try:
        result = measure(BenchOptions(**asked), quiet)
    except SvmCompileError as error:
        result = {"error": type(error).__name__, "message": str(error)}
    answer.write_text(json.dumps(result), encoding="utf-8")


def measure(options: BenchOptions, quiet: bool = True) -> dict[str, Any]:
    """The race itself, in this process."""
    stem, program = api.find_program(options.folder, options.name)
    with tempfile.TemporaryDirectory(prefix="svmcompile-bench-") as work:
        subject, reference, answers = _subject(options, stem, program, Path(work))
        contest = Race(Path(options.folder), stem, subject, answers, options.repeats, quiet)
        result = contest.run(chosen(options.against))
    return {"reference": reference, **result}


def _subject(
    options: BenchOptions, stem: str, program: Program, work: Path
) -> tuple[Subject, str, NDArray[Any]]:
    """The subject, who says what the right answers are, and the answers."""
    svm, estimator = _original(options, program)
    report = api.read_file(Path(options.folder) / f"{stem}.json")
    number = api.checked_precision(json.loads(report)["precision"])
    rows, given = _rows(options, program, number)
    subject = Subject(program, svm, estimator, number, rows, given, options.batch, work, cache_folder())
    name: str = "the interpreter"
    original: Any = program
    if svm is not None:
        name, original = api.reference(estimator or options.model, svm, options.trust_pickle)
    return subject, name, np.asarray(original.predict(rows))


def _original(options: BenchOptions, program: Program) -> tuple[SVM | None, Any]:
    """The model as read and, where scikit-learn made it, the estimator."""
    if options.model is None:
        return None, None
    svm = read(options.model, trust_pickle=options.trust_pickle, n_features=program.n_features)
    if (svm.n_vectors, svm.labels) != (program.origin.n_support_vectors, program.labels):
        raise OptionError(f"{options.model}: is not the model that {options.folder} was compiled from")
    from svmcompile.read.stored import load_pickle, load_skops

    content = content_of(options.model)
    kind = format_of(content, options.model)
    if kind == "skops":
        return svm, load_skops(content, options.model)
    return svm, load_pickle(content, options.model, options.trust_pickle) if kind == "pickle" else None


def _rows(options: BenchOptions, program: Program, number: Number) -> tuple[NDArray[np.float64], int]:
    """At least one batch of finite rows, rounded to the number type, and how many the data has."""
    if program.input.number:
        raise OptionError("rows of whole numbers are not timed; compile the model without --input")
    names = program.input.feature_names
    data = read_data(options.data, label=options.label, n_features=program.n_features, feature_names=names)
    rows = data.X[np.isfinite(data.X).all(axis=1)][: options.rows or options.batch]
    if not len(rows):
        raise ReadError(f"{options.data}: has no row of finite numbers")
    given = len(rows)
    if given < options.batch:
        rows = np.resize(rows, (options.batch, rows.shape[1]))
    rounded = rows if number == "f64" else rows.astype(np.float32)
    return np.ascontiguousarray(rounded, dtype=np.float64), given


def chart(result: dict[str, Any]) -> str:
    """The bar chart of a result, as SVG."""
    classes = f", {result['n_classes']} classes" if result["n_classes"] else ""
    subtitle = (
        f"{result['n_support_vectors']:,} support vectors, {result['n_features']:,} features{classes}, "
        f"{result['precision']}, {result['profile']} profile; one thread, processor time; shorter is faster"
    )
    return bar_chart(f"{result['name']}: time per row", subtitle, result["contenders"], result["batch"])


if __name__ == "__main__":
    _child(Path(sys.argv[1]), Path(sys.argv[2]))
