"""An SVM or rows in, an optimised program with its probe rows out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from svmcompile.accelerate.registry import accelerate
from svmcompile.data import Data
from svmcompile.ir.program import Program
from svmcompile.model.probes import probe_rows
from svmcompile.model.svm import SVM
from svmcompile.optimise import optimise
from svmcompile.targets.report import MEAN_COSTS

Watcher = Callable[[str, Program], None]
SOME_ROWS = 10_000  # of those trained on tell the mean cost


def compile_svm(
    svm: SVM, method: str, data: Data | None, options: Mapping[str, Any], watch: Watcher | None = None
) -> Program:
    """The program of an SVM that has been read."""
    return finish(accelerate(svm, data, method, options), svm, data, watch)


def finish(program: Program, svm: SVM | None, data: Data | None, watch: Watcher | None) -> Program:
    """What every program gets, whatever method made it."""
    if watch:
        watch(program.origin.method, program)
    program = optimise(program, watch)
    if data is not None and any(node.is_adaptive for node in program.body):
        program = _with_mean_cost(program, data)
    return program.replace(probes=probe_rows(program, svm, data))


def some_rows(data: Data) -> Data:
    """Rows from all over, few enough to run them all."""
    some = slice(None, None, -(-len(data.X) // SOME_ROWS) or 1)
    return Data(data.X[some], None if data.y is None else data.y[some])


def _with_mean_cost(program: Program, data: Data) -> Program:
    """The program with a note of what a row of the data costs on average."""
    mean = program.cost(data.X)
    figures = {key: getattr(mean, key) for key in MEAN_COSTS}
    details = {**program.origin.details, "mean_cost": {"rows": len(data.X), **figures}}
    return program.replace(origin=replace(program.origin, details=details))
