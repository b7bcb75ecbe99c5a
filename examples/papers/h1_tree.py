"""Measurements for the report on H1-SVM trees, and its Table 4.1.

    python examples/papers --paper h1-tree        the report's other tables, beside its own figures
    python examples/papers/h1_tree.py             how the planes of fourclass were found: Table 4.1

As in the report, DNA is trained on 665 rows and fourclass on 287, drawn at random, USPS on its smaller
file. Kernel parameters are not stated; here C is 1 and gamma one over the number of features. Support
vectors are counted once per pair of classes. Times are those of the emitted C on the test rows as one
batch: the SVM's over the tree's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from cells import Figures
from common import OUTPUT, Rows, Split, dense, read_words, table
from sets import load
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At
from svmcompile.ir.program import Program
from svmcompile.ir.walks import walk_lists

REPEATS = 5
BLOCK = 1024
LARGE = 500_000
SOME = 100_000  # of these train a linear SVM
TIMED_ROWS = 20_000  # test rows are repeated, so that calls from Python do not matter


@dataclass(frozen=True)
class Report:
    """A table of the report: for greedy levels 0 and 1, planes, accuracy, seconds, times as fast."""

    table: str
    name: str
    norm: str
    vectors: int
    svm: float
    svm_seconds: float
    planes: tuple[int, int]
    tree: tuple[float, float]
    seconds: tuple[float, float]
    gain: tuple[float, float]
    runs: int = 1


TABLES = (
    Report("5.1", "dna", "minmax", 798, 93.64, 2.35, (3, 3), (90.25, 90.25), (1.84, 3.74), (3.6, 3.7), 5),
    Report("5.2", "dna", "std", 881, 93.43, 2.62, (3, 3), (90.94, 90.94), (2.11, 3.82), (3.66, 3.96), 5),
    Report(
        "5.5", "fourclass", "std", 135, 87.06, 0.30, (7, 5), (97.09, 95.95), (0.09, 0.11), (3.6, 2.57), 5
    ),
    Report(
        "5.6", "fourclass", "minmax", 150, 80.58, 0.10, (16, 8), (92.72, 96.44), (0.18, 0.11), (1.6, 1.6), 5
    ),
    Report(
        "5.7",
        "isolet",
        "std",
        35340,
        96.15,
        433.75,
        (344, 344),
        (94.42, 94.42),
        (1131.98, 3851.3),
        (5.54, 5.0),
    ),
    Report(
        "5.8",
        "isolet",
        "minmax",
        22932,
        95.77,
        766.7,
        (325, 325),
        (95.96, 95.96),
        (374.4, 3167.43),
        (4.92, 8.07),
    ),
    Report(
        "5.9", "usps", "std", 4522, 96.42, 27.52, (102, 99), (93.24, 93.49), (35.26, 157.48), (4.28, 7.39)
    ),
    Report(
        "5.10", "usps", "minmax", 3597, 95.82, 44.74, (49, 49), (93.76, 93.76), (22.7, 129.58), (5.93, 5.91)
    ),
)
DRAWN = {  # rows to train on and to test with
    "fourclass": (287, 575),
    "dna": (665, 1446),
    "diabetes": (512, 256),
    "german.numer": (700, 300),
    "ida_banana": (800, 4500),
    "ida_waveform": (800, 4200),
    "svmguide1": (2000, 4000),
}


def data_of(name: str, norm: str, seed: int) -> Split:
    """The rows of a set, normalised by those to train on."""
    found = load(name)
    X, y = dense(found["X"]), np.asarray(found["y"])
    if name in DRAWN:
        if "X_test" in found:
            X, y = np.concatenate([X, dense(found["X_test"])]), np.append(y, found["y_test"])
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: DRAWN[name][0]], order[DRAWN[name][0] : sum(DRAWN[name])]
        parts = X[train], y[train], X[test], y[test]
    else:
        parts = X, y, dense(found["X_test"]), np.asarray(found["y_test"])
        parts = parts if name != "usps" else (*parts[2:], *parts[:2])  # trained on the smaller file
    rows, tests = normalised(parts[0], parts[2], norm)
    return Split(rows, parts[1], tests, parts[3])


def normalised(X: Rows, tests: Rows, norm: str) -> tuple[Rows, Rows]:
    """Mean 0 and deviation 1, or -1 to 1, over the first rows."""
    middle = X.mean(axis=0) if norm == "std" else (X.max(axis=0) + X.min(axis=0)) / 2
    width = X.std(axis=0) if norm == "std" else np.ptp(X, axis=0) / 2
    width = np.where(width > 0, width, 1.0)
    return (X - middle) / width, (tests - middle) / width


def lists_of(program: Program) -> ir.PlaneLists | None:
    return next((node for node in program.body if isinstance(node, ir.PlaneLists)), None)


def planes_of(program: Program) -> int:
    node = lists_of(program)
    return len(program.tables[node.answers]) if node else 0


def mean_depth(program: Program, rows: Rows) -> float:
    """Planes a row is held against."""
    node = lists_of(program)
    if node is None:
        return 0.0
    centre, starts = program.tables[node.centre], range(0, len(rows), BLOCK)
    walks = [walk_lists(At(node, program.tables), rows[at : at + BLOCK] - centre) for at in starts]
    return float(np.concatenate([walk.tests for walk in walks]).mean())


def seconds(programs: list[Program], rows: Rows) -> list[float]:
    """Processor time of each program's C for all rows, the best of several turns."""
    fast = []
    for number, program in enumerate(programs):
        folder = OUTPUT / "h1-speed" / str(number)
        sc.write(sc.emit(program, "c", "model"), folder)
        fast.append(sc.load(folder))
    rows = np.tile(np.asarray(rows, dtype=np.float32), (-(-TIMED_ROWS // len(rows)), 1))
    found = [[_timed(one, rows) for one in fast] for _ in range(REPEATS)]
    return [min(times) for times in zip(*found, strict=True)]


def _timed(fast: Any, rows: Rows) -> float:
    """As often as it takes for the clock."""
    count, spent = 0, 0.0
    started = time.process_time()
    while spent < 0.05:
        fast.predict(rows)
        count += 1
        spent = time.process_time() - started
    return spent / count


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """What is made, and the processor time it took."""
    started = time.process_time()
    made = make()
    return made, time.process_time() - started


def accuracy(model: Any, data: Split) -> float:
    return 100 * float((model.predict(data.X_test) == data.y_test).mean())


def lists(data: Split, **options: Any) -> tuple[Program, float]:
    """Lists trained on the rows as they are, and the seconds that took."""
    return timed(lambda: sc.train(data.X, data.y, method="h1-tree", scale="none", **options))


def rbf(data: Split) -> tuple[Any, float]:
    return timed(lambda: SVC(gamma=1 / data.X.shape[1], cache_size=500).fit(data.X, data.y))


def report_table(row: Report, seed: int) -> Figures:
    """One draw of a table: the SVM, the published tree of both levels, the default."""
    data = data_of(row.name, row.norm, seed)
    model, spent = rbf(data)
    made = {f"paper{level}": lists(data, paper=True, level=level) for level in (0, 1)}
    made["default"] = lists(data)
    times = seconds([sc.compile(model), *(program for program, _ in made.values())], data.X_test)
    found = {
        "vectors": float(np.count_nonzero(model.dual_coef_)),
        "svm": accuracy(model, data),
        "svm_seconds": spent,
    }
    for (form, (program, training)), own in zip(made.items(), times[1:], strict=True):
        found[f"{form}_planes"] = float(planes_of(program))
        found[f"{form}_tree"] = accuracy(program, data)
        found[f"{form}_seconds"] = training
        found[f"{form}_gain"] = times[0] / own
    return found


def ends(data: Split) -> Figures:
    """Lists alone, with both machines, and each machine alone: accuracy, work and training time."""
    model, spent = rbf(data)
    linear = LinearSVC(dual="auto", random_state=0).fit(data.X, data.y)
    made = {
        "list": lists(data, end="label", noise=0.0),
        "plane": lists(data, end="plane"),
        "published": lists(data, paper=True, end="svm"),
        "default": lists(data),
    }
    found = {
        "svm": accuracy(model, data),
        "svm_vectors": float(model.n_support_.sum()),
        "svm_seconds": spent,
        "linear": accuracy(linear, data),
    }
    for form, (program, training) in made.items():
        found[form] = accuracy(program, data)
        found[f"{form}_depth"] = mean_depth(program, data.X_test)
        found[f"{form}_vectors"] = program.cost(data.X_test).mean_kernel_evaluations
        found[f"{form}_seconds"] = training
    return found


def drawn_ends(name: str, norm: str, seed: int) -> Figures:
    return ends(data_of(name, norm, seed))


def bundled_ends(read: Callable[..., Any], seed: int = 0) -> Figures:
    """The same on half of a set of scikit-learn's own; without times, which differ from run to run."""
    X, y = read(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: len(y) // 2], order[len(y) // 2 :]
    rows, tests = normalised(X[train], X[test], "std")
    found = ends(Split(rows, y[train], tests, y[test]))
    return {name: figure for name, figure in found.items() if not name.endswith("seconds")}


def large(form: str) -> Figures:
    """Training on half a million rows of covtype: time, memory, and what comes out."""
    import resource

    data = large_data()
    program, spent = timed(lambda: sc.train(data.X, data.y, method="h1-tree", **LARGE_FORMS[form]))
    return {
        "accuracy": accuracy(program, data),
        "planes": float(planes_of(program)),
        "depth": mean_depth(program, data.X_test),
        "vectors": program.cost(data.X_test[:: len(data.X_test) // TIMED_ROWS]).mean_kernel_evaluations,
        "seconds": spent,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def large_data() -> Split:
    found = load("covtype.binary")
    X, y = dense(found["X"]), np.asarray(found["y"])
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:LARGE], order[LARGE:]
    return Split(X[train], y[train], X[test], y[test])


def large_linear() -> Figures:
    """What one plane gets there, and the larger class alone."""
    data = large_data()
    rows, tests = normalised(data.X[:SOME], data.X_test, "std")
    model, spent = timed(lambda: LinearSVC(dual="auto", random_state=0).fit(rows, data.y[:SOME]))
    scaled = Split(rows, data.y[:SOME], tests, data.y_test)
    most = float(np.unique(data.y_test, return_counts=True)[1].max())
    larger = 100 * most / len(data.y_test)
    return {
        "accuracy": accuracy(model, scaled),
        "seconds": spent,
        "planes": 1,
        "depth": 1,
        "larger": larger,
    }


LARGE_FORMS: dict[str, dict[str, Any]] = {
    "lists alone, labels as they are": {"end": "label", "noise": 0.0},
    "lists and a linear SVM": {"end": "plane"},
    "default": {},
}


def nodes() -> None:
    """Table 4.1: which program, hard class and sign gave each plane, and what its region holds."""
    data = data_of("fourclass", "std", 0)
    head = (
        "plane",
        "program",
        "hard class",
        "sign",
        "perpendicular",
        "turned",
        "region: class, rows, share",
    )
    for name, paper in (("as published", True), ("default", False)):
        program, _ = lists(
            data, paper=paper, end="label", validation=0.25, **({} if paper else {"noise": 0.0})
        )
        records = program.origin.details["nodes"]
        lines = [_node_line(number, one) for number, one in enumerate(records, 1)]
        print(table(f"fourclass, {name}; regions: {program.origin.details['regions_on']}", head, lines))


def _node_line(number: int, one: dict[str, Any]) -> list[str]:
    low, high = one["interval"]
    share = "-" if one["share"] is None else f"{one['share']:.2f}"
    region = f"{one['class']}, {one['rows']}, {share} ({low:.2f} to {high:.2f})"
    if "sign" not in one:
        return ["rest", "-", "-", "-", "-", "-", region]
    marks = ["yes" if one[mark] else "no" for mark in ("perpendicular", "turned")]
    return [str(number), one["program"], one["hard_class"], str(one["sign"]), *marks, region]


if __name__ == "__main__":
    read_words(__doc__, ())
    nodes()
