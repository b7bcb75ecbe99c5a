"""Families on a set: accuracy, agreement with the SVM, bytes, and time beside our exact C in the same run.

SVMCOMPILE_DATA=FOLDER python examples/papers/beyond_measure.py letter network boosting
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from beyond_models import BUDGETS, FAMILIES, VECTORS_AT_MOST, Contender, emitted, outputs_of
from beyond_peers import Files, onnx_nanoseconds
from beyond_sets import TASKS, rows_of, svm_of
from c_cost import emitted_costs
from cells import Figures
from common import read_words

import svmcompile as sc
from svmcompile.ir.cost import table_bytes

FLAGS = ("-O3", "-march=native")
TURNS = 3
Key = tuple[str, str]  # family and size
SHARES = {"1/4": 0.25, "1/16": 0.0625}  # of the time of our exact C


@cache
def exact_of(task: str) -> Contender:
    return emitted(svm_of(task), rows_of(task))


def measure(task: str, *families: str, timed: bool = True) -> Figures:
    """All sizes of some families; for each share of time the accuracy of the largest that keeps to it."""
    found = {(family, size): made for family in families for size, made in FAMILIES[family](task)}
    times = times_of(task, found) if timed else {}
    data = rows_of(task)
    figures: Figures = {}
    meant = svm_of(task).predict(data.X_test)
    for (family, size), made in found.items():
        figures |= {
            f"{family} accuracy {size}": 100 * float(np.mean(made.labels == data.y_test)),
            f"{family} agreement {size}": 100 * float(np.mean(made.labels == meant)),
            f"{family} kB {size}": made.size / 1000,
        }
        if (family, size) in times:
            figures[f"{family} time {size}"] = times[family, size]
        for name, share in SHARES.items():  # sizes grow, so the largest comes last
            if times.get((family, size), share) < share:
                figures[f"{family} accuracy {name}"] = figures[f"{family} accuracy {size}"]
    return carried(figures, families)


def carried(figures: Figures, families: Sequence[str]) -> Figures:
    """Where a family is not larger with more bytes, the figures of its largest size count there too."""
    for family in families:
        for small, large in pairwise(map(str, BUDGETS)):
            for what in ("accuracy", "agreement", "kB", "time"):
                if f"{family} {what} {small}" in figures:
                    figures.setdefault(f"{family} {what} {large}", figures[f"{family} {what} {small}"])
    return figures


def fixed_point(task: str) -> Figures:
    """reduced-set in q7: as many vectors as fit into the sizes that others publish."""
    data, svm = rows_of(task), svm_of(task)
    figures: Figures = {}
    _, pairs = outputs_of(task)
    columns = data.X.shape[1]
    for budget in BUDGETS[:2]:
        vectors = (1000 * budget - 6 * columns - 600) // (columns + 2 * pairs + 4)
        if vectors < 2:
            continue
        program = sc.compile(
            svm, method="reduced-set", X=data.X, budget=float(min(vectors, VECTORS_AT_MOST))
        )
        whole = sc.quantise(program, "q7", data.X)
        figures[f"q7 accuracy {budget}"] = 100 * float(np.mean(whole.predict(data.X_test) == data.y_test))
        figures[f"q7 kB {budget}"] = table_bytes(whole) / 1000
    return figures


def times_of(task: str, found: Mapping[Key, Contender]) -> dict[Key, float]:
    """Time per row in batches beside our exact C; the faster of C and ONNX Runtime where there are both."""
    rows = rows_of(task).X_test
    coded = [key for key, made in found.items() if made.files]
    files: list[Files] = [exact_of(task).files, *(found[key].files for key in coded)]
    exact, *costs = (cost.batch_nanoseconds for cost in emitted_costs(files, rows, 0, TURNS, FLAGS))
    times = {key: cost / exact for key, cost in zip(coded, costs, strict=True)}
    for key, made in found.items():
        if made.onnx:
            runtime = onnx_nanoseconds(made.onnx, rows) / exact
            times[key] = min(runtime, times.get(key, runtime))
    return times


if __name__ == "__main__":
    words = read_words(__doc__, (*TASKS, *FAMILIES))
    if not words:
        raise SystemExit(f"name a set, of {', '.join(TASKS)}")
    for name, value in measure(*words).items():
        print(f"{name}: {value:.4g}")
