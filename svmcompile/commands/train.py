"""train: labelled data in, a stored program out."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import api
from svmcompile.accelerate.registry import training
from svmcompile.cluster import connected
from svmcompile.commands.data_options import reading
from svmcompile.commands.helping import settings
from svmcompile.commands.inspect import program_facts
from svmcompile.commands.options import TrainOptions
from svmcompile.data import Data, read_data, read_partitions
from svmcompile.data.reading import detect
from svmcompile.errors import OptionError
from svmcompile.files.atomic import check_output
from svmcompile.flow.program import some_rows
from svmcompile.ir.program import Program
from svmcompile.statistics import CONFIDENCE, interval


def run(options: TrainOptions) -> dict[str, Any]:
    """Train a program on a data file, or on the files of a folder, and store it; the report."""
    if options.output.suffix != ".svmc":
        raise OptionError(f"{options.output}: a trained program is a .svmc file; end its name in .svmc")
    check_output(options.output)
    chosen: dict[str, Any] = settings(options.set_)
    training(options.method, chosen)  # which refuses what makes no sense, before the data are read
    if options.test is not None:
        detect(options.test)
    begin = time.perf_counter()
    with connected(options.cluster) if options.cluster else nullcontext():
        reader = read_partitions if options.data.is_dir() else read_data
        rows = reader(options.data, **reading(options), sparse=True)
        program = api.train(rows, rows.y, method=options.method, **chosen)
    report = _report(program, rows) | {"seconds": time.perf_counter() - begin}
    if options.test is not None:
        shape: Any = {"n_features": program.n_features, "feature_names": program.feature_names}
        test = read_data(options.test, label=options.label, sparse=True, **shape)
        report |= _tested(program, test, report)
    program.save(options.output)
    return report | {"output": str(options.output)}


def _report(program: Program, rows: Data) -> dict[str, Any]:
    some = some_rows(rows)
    means = {key: value for key, value in program.cost(some.X).as_dict().items() if key.startswith("mean_")}
    return {
        **program_facts(program),
        "n_rows": len(rows.X),
        "cost": program.cost().as_dict() | means,
        "accuracy": float(_right(program, some).mean()),
        "accuracy_rows": len(some.X),
        "fitted_to_these_rows": True,
        "details": dict(program.origin.details),
    }


def _tested(program: Program, test: Data, report: dict[str, Any]) -> dict[str, Any]:
    """Accuracy on rows that trained nothing, and apart from it that on rows which did."""
    if test.y is None:
        raise OptionError("--test: the rows have no labels; name their column with --label")
    right = _right(program, test)
    return {
        "accuracy": float(right.mean()),
        "accuracy_rows": len(right),
        "accuracy_interval": list(interval(int(right.sum()), len(right))),
        "confidence": CONFIDENCE,
        "fitted_to_these_rows": False,
        "fitted": {key: report[key] for key in ("accuracy", "accuracy_rows")},
    }


def _right(program: Program, rows: Data) -> NDArray[np.bool_]:
    """Which labels the program gets right."""
    return np.asarray(program.predict(rows.X) == np.asarray(rows.y))
