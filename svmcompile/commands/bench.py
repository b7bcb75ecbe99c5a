"""What `bench` does: takes a folder, rows and rivals to a race in a process of its own, with one thread.

The race runs in a child process whose environment tells every maths library to
use one thread; they read it only once, before their first import.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import api, errors
from svmcompile.bench.charts import dot_chart
from svmcompile.bench.page import page
from svmcompile.bench.peers import Subject, choose_peers
from svmcompile.commands.data_options import reading
from svmcompile.commands.options import BenchOptions
from svmcompile.commands.race import Race
from svmcompile.data import read_data
from svmcompile.errors import OptionError, ReadError, SvmCompileError
from svmcompile.files.atomic import check_output_folder
from svmcompile.files.cache import private_cache, scratch
from svmcompile.files.plain import json_text
from svmcompile.flow.evaluation import find_program
from svmcompile.flow.seal import read_report
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.program import Program

THREADS = ("OPENBLAS", "OMP", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM", "GOTO")


def run(options: BenchOptions) -> dict[str, Any]:
    """The figures; `bench.json` and `bench.svg` as well, if there is an output folder."""
    choose_peers(options.peers)
    if options.output is not None:
        check_output_folder(options.output)
    for name in ("batch", "repeats", "rows", "threads"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise OptionError(f"--{name} must be at least 1, got {value}")
    result = _in_child(options)
    if options.output is not None:
        text = json_text(result)
        title = f"{result['name']}: time per row"
        picture = dot_chart(title, _about(result), result["contenders"], result["batch"])
        files = {
            "bench.json": text,
            "bench.svg": picture,
            "bench.html": page(result, title, _about(result)),
        }
        api.write(files, options.output)
    return result


def _in_child(options: BenchOptions) -> dict[str, Any]:
    """Run `measure` in a process of its own; its errors are raised here again."""
    package = str(Path(__file__).resolve().parent.parent.parent)
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, **{f"{name}_NUM_THREADS": "1" for name in THREADS}}
    environment["PYTHONSAFEPATH"] = "1"  # a numpy.py in the current folder is not ours
    with scratch() as folder:
        request, answer = folder / "request.pickle", folder / "answer.json"
        request.write_bytes(pickle.dumps(options))
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
    try:
        result = measure(pickle.loads(request.read_bytes()))
    except SvmCompileError as error:
        result = {"error": type(error).__name__, "message": str(error)}
    answer.write_text(json.dumps(result), encoding="utf-8")


def measure(options: BenchOptions) -> dict[str, Any]:
    """The race itself, in this process."""
    stem, program = find_program(options.folder, options.name)
    with scratch() as work:
        subject, reference, answers = _subject(options, stem, program, work)
        contest = Race(
            options.folder, stem, subject, answers, options.repeats, options.as_json, _threads(options)
        )
        result = contest.run(choose_peers(options.peers))
    return {"reference": reference, **result}


def _subject(
    options: BenchOptions, stem: str, program: Program, work: Path
) -> tuple[Subject, str, NDArray[Any]]:
    """The subject, who says what the right answers are, and the answers."""
    if program.several:
        raise OptionError(
            f"bench times one answer per row, and the model gives {program.several}; time its C"
        )
    number = api.checked_precision(str(read_report(options.folder, stem).get("precision")))
    rows, given = _rows(options, program, number)
    name: str = "the interpreter"
    original: Any = program
    svm = estimator = None
    if options.model is not None:
        model = api.open_model(
            options.model, trust_pickle=options.trust_pickle, n_features=program.n_features
        )
        svm = model.trained().dense("bench")
        if (svm.n_vectors, svm.labels) != (program.origin.n_support_vectors, program.labels):
            raise OptionError(f"{options.model}: is not the model that {options.folder} was compiled from")
        estimator = None if model.source == options.model else model.source
        name, original = model.reference()
    subject = Subject(program, svm, estimator, number, rows, given, options.batch, work, private_cache())
    return subject, name, np.asarray(original.predict(rows))


def _rows(options: BenchOptions, program: Program, number: Number) -> tuple[NDArray[np.float64], int]:
    """At least one batch of finite rows, rounded to the number type, and how many the data has."""
    if program.input.number:
        raise OptionError("bench cannot time rows of integers; compile the model without --input")
    data = read_data(options.data, **reading(options, program))
    if program.input.text:
        raise OptionError("bench times rows of numbers, and the model takes text; time its functions in C")
    rows = data.X[np.isfinite(data.X).all(axis=1)][: options.rows or options.batch]
    if not len(rows):
        raise ReadError(f"{options.data}: has no row of finite numbers")
    given = len(rows)
    if given < options.batch:
        rows = np.resize(rows, (options.batch, rows.shape[1]))
    rounded = rows if number == "f64" else rows.astype(np.float32)
    return np.ascontiguousarray(rounded, dtype=np.float64), given


def _threads(options: BenchOptions) -> int:
    return options.threads or os.cpu_count() or 1


def _about(result: dict[str, Any]) -> str:
    """What was timed, and how, on two lines."""
    classes = f", {result['n_classes']} classes" if result["n_classes"] else ""
    return (
        f"{result['n_support_vectors']:,} support vectors, {result['n_features']:,} features{classes}, "
        f"method {result['method']}, {result['precision']}, {result['profile']} profile\n"
        f"{result['rows']:,} rows, one thread, processor time; answers compared with {result['reference']}"
    )


if __name__ == "__main__":
    _child(Path(sys.argv[1]), Path(sys.argv[2]))
