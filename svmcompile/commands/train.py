"""train: labelled data in, a stored program out."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any

import numpy as np

from svmcompile import api
from svmcompile.cluster import connected
from svmcompile.commands.inspect import program_facts
from svmcompile.commands.options import TrainOptions, reading, settings
from svmcompile.data import Data, read_data, read_partitions
from svmcompile.errors import OptionError
from svmcompile.files.atomic import check_output
from svmcompile.flow.program import some_rows
from svmcompile.ir.program import Program


def run(options: TrainOptions) -> dict[str, Any]:
    """Train a program on a data file, or on the files of a folder, and store it; the report."""
    if options.output.suffix != ".svmc":
        raise OptionError(f"{options.output}: a trained program is stored as .svmc; name it so")
    check_output(options.output)
    chosen: dict[str, Any] = settings(options.set_)
    begin = time.perf_counter()
    with connected(options.cluster) if options.cluster else nullcontext():
        reader = read_partitions if options.data.is_dir() else read_data
        rows = reader(options.data, **reading(options))
        program = api.train(rows, rows.y, method=options.method, **chosen)
    report = _report(program, rows) | {"seconds": time.perf_counter() - begin}
    program.save(options.output)
    return report | {"output": str(options.output)}


def _report(program: Program, rows: Data) -> dict[str, Any]:
    some = some_rows(rows)
    means = {key: value for key, value in program.cost(some.X).as_dict().items() if key.startswith("mean_")}
    return {
        **program_facts(program),
        "n_rows": len(rows.X),
        "cost": program.cost().as_dict() | means,
        "accuracy": float((program.predict(some.X) == np.asarray(some.y)).mean()),
        "accuracy_rows": len(some.X),
        "fitted_to_these_rows": True,
        "details": dict(program.origin.details),
    }
