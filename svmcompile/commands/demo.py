"""demo: the whole way on scikit-learn's digits, ending in one table and the page of `explore`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile import api
from svmcompile.commands.options import DemoOptions
from svmcompile.flow.precision import PRECISIONS
from svmcompile.progress import steps
from svmcompile.verification.differential import Backend, compare

ROWS = 10_000
TIMED_ROWS = 2_000
EXPLORED = 3_000
REPEATS = 5
COLUMNS = (
    "method", "target", "precision", "agreement", "max_decision_error", "us_per_row", "times_faster",
    "size",
)  # fmt: skip
TARGETS = ("c", "onnx")
ALL_BUILDS = tuple((precision, target) for precision in PRECISIONS for target in TARGETS)
BUILDS = tuple(("f32", target) for target in TARGETS)
METHODS: tuple[tuple[str, dict[str, Any], Any], ...] = (
    ("exact", {}, ALL_BUILDS),
    ("reduced-set", {"budget": 0.2}, BUILDS),
    ("metric-tree", {}, BUILDS),
    ("sv-tree", {}, BUILDS),
    ("h1-tree", {}, BUILDS),
)


def run(options: DemoOptions) -> dict[str, Any]:
    """Train, compile, verify and time; every figure of the table, and whether all agree."""
    output = options.output
    with steps("demo", 1 + sum(1 + len(builds) for _, _, builds in METHODS)) as advance:
        model, X, rows, labels = train_digits()
        advance(1)
        base = _seconds(model.predict, rows)
        table: list[tuple[Any, ...]] = [("sklearn", "python", "f64", 1.0, 0.0, base * 1e6, 1.0, 0)]
        ok = True
        for method, chosen, builds in METHODS:
            program = api.compile(model, method=method, X=X, **chosen)
            built = []
            for precision, target in builds:
                built.append(_build(program, output, precision, target))
                advance(1)
            original = api.open_model(model).reference()
            report = compare("digits", program, original, [backend for backend, _ in built], rows, labels)
            for one, (backend, size) in zip(report.comparisons, built, strict=True):
                seconds = _seconds(backend.runner.predict, rows)
                figures = one.agreement, one.max_decision_error, seconds * 1e6, base / seconds, size
                table.append((method, one.backend, one.precision, *figures))
            ok &= report.ok
            advance(1)
    files = api.explore(model, rows[:EXPLORED], labels[:EXPLORED], agreement=0.99, budget=options.budget)
    api.write(files, output / "explore")
    return {
        "output": str(output),
        "rows": len(rows),
        "support_vectors": program.origin.n_support_vectors,
        "table": [dict(zip(COLUMNS, row, strict=True)) for row in table],
        "sentence": json.loads(files["explore.json"])["sentence"],
        "page": str(output / "explore" / "explore.html"),
        "ok": ok,
    }


def train_digits() -> tuple[Any, NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    """A digits SVM, its rows, and rows it has not seen: held-out ones and jittered copies."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.svm import SVC

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X / 16, y, test_size=0.5, random_state=0, stratify=y
    )
    model = SVC(C=10, gamma=0.5).fit(X_train, y_train)
    generator = np.random.default_rng(0)
    picks = generator.integers(len(X_test), size=ROWS - len(X_test))
    jittered = X_test[picks] + generator.normal(scale=0.05, size=(len(picks), X.shape[1]))
    return model, X_train, np.concatenate([X_test, jittered]), np.concatenate([y_test, y_test[picks]])


def _build(program: Any, output: Path, precision: str, target: str) -> tuple[Backend, int]:
    """One build, written and loaded back, and its size: of the tables in C, of the file in ONNX."""
    folder = output / f"{program.origin.method}-{precision}-{target}"
    files = api.emit(program, target, "digits", precision)
    api.write(files, folder)
    tables = json.loads(files["digits.json"])["cost"]["table_bytes"]
    size = len(files["digits.onnx"]) if target == "onnx" else tables
    return Backend(target, api.checked_precision(precision), api.load(folder)), size


def _seconds(predict: Callable[[Any], Any], rows: NDArray[Any]) -> float:
    """Processor seconds per row, the least of several runs."""
    few = rows[:TIMED_ROWS]
    predict(few[:10])
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        predict(few)
        times.append(time.process_time() - start)
    return min(times) / len(few)
