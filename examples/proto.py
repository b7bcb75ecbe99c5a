"""Kilobytes: what `proto` reaches on standard sets, in f32, q15 and q7, with bytes and cycles.

    SVMCOMPILE_DATA=FOLDER python examples/proto.py [--sets usps-2 letter-26 ...] [--seeds 3] [--avr-rows 8]
        [--limits 512 1024 ...]

FOLDER holds usps.npz, letter.scale.npz and mnist.npz (X, y, X_test, y_test). usps-2 and mnist-2 are the
digits 0 to 4 against 5 to 9. The SVM is trained on the training file (of mnist on 20,000 rows), `proto` is
fitted and, with max_bytes, its sizes chosen with training rows alone; FAST was chosen by cycles and by rows
held out of the training file. Accuracy is that of the emitted C on the test file, for the first
seed, and for q7 also the mean and range over all seeds.
Seconds are those of the processor, for `sc.compile`. Without SVMCOMPILE_DATA: scikit-learn's digits.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.errors import SvmCompileError

PRECISIONS = ("f32", "q15", "q7")
MNIST_ROWS = 20_000
HEAD = (
    "| set | SVM, % | options | rank, prototypes, features | code | test, % | all seeds, % | tables, B "
    "| flash M4F, B | M4F instructions | ATmega328P cycles | compiled in, s |"
)


@dataclass(frozen=True)
class Task:
    """A set, its SVM and the sizes to try."""

    file: str
    two: bool
    svm: dict[str, float]
    tries: tuple[dict[str, Any], ...]


def within(*limits: int) -> tuple[dict[str, Any], ...]:
    return tuple({"max_bytes": limit, "precision": "q7"} for limit in limits)


USPS: dict[str, float] = {"C": 10, "gamma": 1 / 128}
LETTER: dict[str, float] = {"C": 10, "gamma": 1}
MNIST: dict[str, float] = {"C": 10, "gamma": 0.02}
FAST: dict[str, Any] = {
    "rank": 8,
    "vectors": 24,
    "density": 44 / 256,
}  # for an ATmega: features cost the most there
TASKS = {
    "usps-2": Task("usps", True, USPS, (FAST, *within(512, 1024, 2500, 4096))),
    "mnist-2": Task("mnist", True, MNIST, within(512, 1024, 8192)),
    "usps-10": Task("usps", False, USPS, within(16384, 49152)),
    "letter-26": Task("letter.scale", False, LETTER, within(32768, 64512)),
    "mnist-10": Task("mnist", False, MNIST, within(86016)),
}
Rows = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def load(task: Task) -> Rows:
    """Training rows and labels, test rows and labels."""
    with np.load(Path(os.environ["SVMCOMPILE_DATA"]) / f"{task.file}.npz") as file:
        divisor = float(file["x_div"]) if "x_div" in file.files else 1.0
        parts = [file[key] for key in ("X", "y", "X_test", "y_test")]
    scale = 255.0 if task.file == "mnist" else divisor
    X, X_test = (parts[at].astype(np.float64) / scale for at in (0, 2))
    y, y_test = ((parts[at] >= 5).astype(int) if task.two else parts[at] for at in (1, 3))
    return X, y, X_test, y_test


def own_digits() -> tuple[Task, Rows]:
    X, y = load_digits(return_X_y=True)
    held = np.arange(len(X)) % 3 == 0
    task = Task("digits", False, {"C": 10, "gamma": 0.001}, within(2048, 8192))
    return task, (X[~held], y[~held], X[held], y[held])


def emitted(program: sc.Program, precision: str, rows: Rows) -> tuple[dict[str, Any], float]:
    """The code, and its accuracy on the test rows in per cent."""
    X, _, X_test, y_test = rows
    files = sc.emit(program, "c", "m", precision, "device", X=X)
    with tempfile.TemporaryDirectory() as folder:
        sc.write(files, folder)
        return files, 100 * float((sc.load(folder).predict(X_test) == y_test).mean())


def figures(
    program: sc.Program, precision: str, rows: Rows, others: list[float], avr_rows: int
) -> list[str]:
    """Accuracy, bytes and cycles of the emitted code; others are accuracies with further seeds."""
    X_test = rows[2]
    files, accuracy = emitted(program, precision, rows)
    every = [accuracy, *others]
    over = f"{np.mean(every):.2f} ({min(every):.2f} to {max(every):.2f})" if others else ""
    found = [f"{accuracy:.2f}", over, f"{json.loads(files['m.json'])['cost']['table_bytes']:,}"]
    for cpu, keys, count in (
        ("cortex-m4f", ("flash_bytes", "mean"), 20),
        ("atmega328p", ("mean",), avr_rows),
    ):
        try:
            cost = sc.device_cost(files, "m", cpu, X_test[:count]) if count else {}
            found += [f"{cost[key]:,.0f}" if count and cost["measured"] else "" for key in keys]
        except SvmCompileError:
            found += [""] * len(keys)
    return found


def lines(name: str, task: Task, rows: Rows, seeds: int, avr_rows: int) -> Iterator[str]:
    X, y, X_test, y_test = rows
    some = np.random.default_rng(0).permutation(len(X))[: MNIST_ROWS if task.file == "mnist" else len(X)]
    model = SVC(**task.svm, cache_size=1000).fit(X[some], y[some])
    exact = 100 * float((model.predict(X_test) == y_test).mean())
    for options in task.tries:
        begin = time.process_time()
        program = sc.compile(model, method="proto", X=X, **options)
        seconds = time.process_time() - begin
        more = (sc.compile(model, method="proto", X=X, seed=seed, **options) for seed in range(1, seeds))
        others = {"q7": [emitted(one, "q7", rows)[1] for one in more]}
        details = program.origin.details
        sizes = ", ".join(str(details[key]) for key in ("rank", "vectors", "features_read"))
        asked = f"max_bytes={options['max_bytes']:,}" if "max_bytes" in options else "sizes given"
        for precision in PRECISIONS:
            cells = [name, f"{exact:.2f}", asked, sizes, precision]
            cells += [
                *figures(program, precision, rows, others.get(precision, []), avr_rows),
                f"{seconds:.0f}",
            ]
            yield "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3, help="how many compiles q7 is judged by")
    parser.add_argument("--avr-rows", type=int, default=8, help="rows counted on an ATmega328P, or 0")
    parser.add_argument("--limits", nargs="+", type=int, help="these max_bytes alone")
    parser.add_argument("--quick", action="store_true", help="scikit-learn's digits, trained in few steps")
    given = parser.parse_args()
    print(HEAD + "\n" + "|---" * HEAD.count(" | ") + "|---|")
    sets: Iterable[tuple[str, Task, Rows]] = [("digits", *own_digits())]
    if "SVMCOMPILE_DATA" in os.environ and not given.quick:
        sets = ((name, TASKS[name], load(TASKS[name])) for name in given.sets)
    for name, task, rows in sets:
        if given.limits:
            kept = (options for options in task.tries if options.get("max_bytes") in given.limits)
            task = replace(task, tries=tuple(kept))
        task = replace(task, tries=({**task.tries[0], "steps": 300},)) if given.quick else task
        for line in lines(name, task, rows, given.seeds, given.avr_rows):
            print(line, flush=True)


if __name__ == "__main__":
    main()
