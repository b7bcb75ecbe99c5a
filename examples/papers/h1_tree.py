"""The tables of the report on H1-SVM trees, and its pictures of fourclass.

    python examples/papers/h1_tree.py                   all parts, for the sets at hand
    python examples/papers/h1_tree.py tables fourclass  of: tables, end, large, figure; of the sets

Some of the report's sets (faces, cell nuclei) cannot be had. As there, DNA is trained on 665 rows and
fourclass on 287, drawn at random (six times, means are shown), USPS on its smaller file. Kernel parameters
are not stated; here C is 1 and gamma one over the number of features. Support vectors are counted once
per pair of classes. Times are those of the emitted C on the test rows as one batch: the SVM's over
the tree's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import OUTPUT, Rows, Split, dense, table, trained
from metric_tree import progress
from sets import load

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At
from svmcompile.ir.program import Program
from svmcompile.ir.walks import walk_lists
from svmcompile.progress import Advance, showing

RUNS = 6
REPEATS = 7
BLOCK = 1024
LARGE = 500_000
TIMED_ROWS = 20_000  # test rows are repeated, so that calls from Python do not matter


@dataclass(frozen=True)
class Row:
    """A table of the report: for greedy levels 0 and 1, planes, accuracy and times as fast."""

    table: str
    name: str
    norm: str
    vectors: int
    svm: float
    planes: tuple[int, int]
    tree: tuple[float, float]
    gain: tuple[float, float]
    runs: int = 1


TABLES = (
    Row("5.1", "dna", "minmax", 798, 93.64, (3, 3), (90.25, 90.25), (3.6, 3.7), RUNS),
    Row("5.2", "dna", "std", 881, 93.43, (3, 3), (90.94, 90.94), (3.66, 3.96), RUNS),
    Row("5.5", "fourclass", "std", 135, 87.06, (7, 5), (97.09, 95.95), (3.6, 2.57), RUNS),
    Row("5.6", "fourclass", "minmax", 150, 80.58, (16, 8), (92.72, 96.44), (1.6, 1.6), RUNS),
    Row("5.7", "isolet", "std", 35340, 96.15, (344, 344), (94.42, 94.42), (5.54, 5.0)),
    Row("5.8", "isolet", "minmax", 22932, 95.77, (325, 325), (95.96, 95.96), (4.92, 8.07)),
    Row("5.9", "usps", "std", 4522, 96.42, (102, 99), (93.24, 93.49), (4.28, 7.39)),
    Row("5.10", "usps", "minmax", 3597, 95.82, (49, 49), (93.76, 93.76), (5.93, 5.91)),
)
DRAWN = {"fourclass": (287, 575), "dna": (665, 1446)}  # rows to train on and to test with


def data_of(row: Row, seed: int) -> Split:
    """The rows of a table, normalised by those to train on."""
    found = load(row.name)
    X, y = dense(found["X"]), np.asarray(found["y"])
    if row.name in DRAWN:
        if "X_test" in found:
            X, y = np.concatenate([X, dense(found["X_test"])]), np.append(y, found["y_test"])
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[: DRAWN[row.name][0]], order[DRAWN[row.name][0] : sum(DRAWN[row.name])]
        parts = X[train], y[train], X[test], y[test]
    else:
        parts = X, y, dense(found["X_test"]), np.asarray(found["y_test"])
        parts = parts if row.name != "usps" else (*parts[2:], *parts[:2])  # trained on the smaller file
    rows, tests = normalised(parts[0], parts[2], row.norm)
    return Split(rows, parts[1], tests, parts[3])


def normalised(X: Rows, tests: Rows, norm: str) -> tuple[Rows, Rows]:
    """Mean 0 and deviation 1, or -1 to 1, over the first rows."""
    middle = X.mean(axis=0) if norm == "std" else (X.max(axis=0) + X.min(axis=0)) / 2
    width = X.std(axis=0) if norm == "std" else np.ptp(X, axis=0) / 2
    width = np.where(width > 0, width, 1.0)
    return (X - middle) / width, (tests - middle) / width


def lists_of(program: Program) -> ir.PlaneLists:
    return next(node for node in program.body if isinstance(node, ir.PlaneLists))


def planes_of(program: Program) -> int:
    return len(program.tables[lists_of(program).answers])


def mean_depth(program: Program, rows: Rows) -> float:
    """Planes a row is held against."""
    node, starts = lists_of(program), range(0, len(rows), BLOCK)
    centre = program.tables[node.centre]
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


@dataclass(frozen=True)
class Measured:
    """One level of one table, means over its runs; lists are looked at all, or in a graph of pairs."""

    vectors: float
    svm: float
    planes: float
    tree: float
    depth: float
    gain: float
    graph_tree: float
    graph_depth: float
    graph_gain: float


def measure(row: Row, level: int) -> Measured:
    found = []
    for seed in range(row.runs):
        data = data_of(row, seed)
        model = trained(f"h1-{row.name}-{row.norm}-{seed}", data, 1.0, 1 / data.X.shape[1])
        lists, graph = (
            sc.train(data.X, data.y, method="h1-tree", scale="none", level=level, multiclass=multiclass)
            for multiclass in ("vote", "dag")
        )
        times = seconds([sc.compile(model), lists, graph], data.X_test)
        line = [int(np.count_nonzero(model.dual_coef_)), accuracy(model, data), planes_of(lists)]
        for program, spent in zip((lists, graph), times[1:], strict=True):
            line += [accuracy(program, data), mean_depth(program, data.X_test), times[0] / spent]
        found.append(line)
    return Measured(*np.mean(found, axis=0).tolist())


def accuracy(model: Any, data: Split) -> float:
    return 100 * float((model.predict(data.X_test) == data.y_test).mean())


HEAD = (
    "table", "set", "level", "SVs paper / ours", "SVM % paper / ours", "planes paper / ours",
    "tree % paper / ours", "depth", "times as fast paper / ours", "graph of pairs: %, depth, times as fast",
)  # fmt: skip


def tables(names: list[str]) -> None:
    rows = [(row, level) for row in TABLES for level in (0, 1) if not names or row.name in names]
    print(table("Tables 5.1 to 5.10", HEAD, progress(rows, lambda one: line(*one))))


def line(row: Row, level: int) -> list[str]:
    one = measure(row, level)
    return [
        row.table,
        f"{row.name}, {row.norm}",
        str(level),
        f"{row.vectors} / {one.vectors:.0f}",
        f"{row.svm:.1f} / {one.svm:.1f}",
        f"{row.planes[level]} / {one.planes:.3g}",
        f"{row.tree[level]:.1f} / {one.tree:.1f}",
        f"{one.depth:.1f}",
        f"{row.gain[level]:g} / {one.gain:.1f}",
        f"{one.graph_tree:.1f}, {one.graph_depth:.1f}, {one.graph_gain:.1f}",
    ]


def end(names: list[str]) -> None:
    """Table 5.13 on other sets: lists for given labels, alone, in a graph of pairs, and before the SVM."""
    head = (
        "set",
        "form",
        "planes",
        "accuracy %",
        "same labels as the SVM %",
        "depth",
        "exit %",
        "times as fast",
    )
    chosen = [row for row in TABLES if row.norm == "minmax" and (not names or row.name in names)]
    lines = (done for row in chosen for done in _ends(row))
    print(table("Table 5.13, the SVM at the end", head, progress(lines, lambda done: done)))


FORMS: dict[str, dict[str, Any]] = {
    "lists for given labels": {"labels": "given", "end": "label"},
    "lists for the SVM's labels": {"end": "label"},
    "lists for the SVM's labels, graph": {"end": "label", "multiclass": "dag"},
    "lists before the SVM": {"target": 0.99},
}


def _ends(row: Row) -> Iterator[list[str]]:
    data = data_of(row, 0)
    model = trained(f"h1-{row.name}-{row.norm}-0", data, 1.0, 1 / data.X.shape[1])
    meant, exact = model.predict(data.X_test), sc.compile(model)
    vectors = int(model.n_support_.sum())
    yield [row.name, f"SVM, {vectors} vectors", "-", f"{accuracy(model, data):.1f}", "100", "-", "0", "1"]
    for form, options in FORMS.items():
        if row.name == "fourclass" and options.get("multiclass"):
            continue
        program = sc.compile(model, method="h1-tree", X=data.X, y=data.y, **options)
        times = seconds([exact, program], data.X_test)
        reach = program.cost(data.X_test).mean_kernel_evaluations / vectors
        yield [
            row.name,
            form,
            str(planes_of(program)),
            f"{accuracy(program, data):.1f}",
            f"{100 * float((program.predict(data.X_test) == meant).mean()):.2f}",
            f"{mean_depth(program, data.X_test):.1f}",
            f"{100 * (1 - reach):.1f}",
            f"{times[0] / times[1]:.1f}",
        ]


def figure(names: list[str]) -> None:
    """The report's pictures 3.9 to 3.13: planes one after the other, and the regions they label."""
    from h1_figure import draw

    data = data_of(TABLES[2], 0)
    programs = {
        "as published": sc.train(data.X, data.y, method="h1-tree", scale="none", paper=True),
        "default": sc.train(data.X, data.y, method="h1-tree", scale="none"),
    }
    print(f"\nfigure: {draw(programs, data, OUTPUT / 'h1_fourclass.png')}")


def large(names: list[str]) -> None:
    """Training on half a million rows: time, memory, and what comes out."""
    head = (
        "noise",
        "rows",
        "seconds",
        "peak memory, GB",
        "planes",
        "depth",
        "accuracy %",
        "larger class %",
    )
    print(table("covtype, two classes", head, progress((0.0, 0.2), _large)))


def _large(noise: float) -> list[str]:
    import resource

    found = load("covtype.binary")
    X, y = found["X"], np.asarray(found["y"])
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:LARGE], order[LARGE:]
    started = time.process_time()
    with showing(_shown):
        program = sc.train(X[train], y[train], method="h1-tree", noise=noise)
    spent = time.process_time() - started
    right = 100 * float((program.predict(X[test]) == y[test]).mean())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return [
        f"{noise:g}",
        f"{LARGE:,} x {X.shape[1]}",
        f"{spent:.0f}",
        f"{memory:.2f}",
        str(planes_of(program)),
        f"{mean_depth(program, dense(X[test])):.1f}",
        f"{right:.1f}",
        f"{100 * float(np.bincount(y[test]).max() / len(test)):.1f}",
    ]


@contextmanager
def _shown(what: str, total: int) -> Iterator[Advance]:
    """Tells how many rows are answered, now and then."""
    done, told = 0, 0

    def advance(more: int, now: str = "", /) -> None:
        nonlocal done, told
        done += more
        if done - told > total / 50 or done == total:
            told = done
            print(f"{what}: {100 * done / total:.0f} %", file=sys.stderr, flush=True)

    yield advance


PARTS = {"tables": tables, "end": end, "large": large, "figure": figure}


def main(words: list[str]) -> None:
    for part in [word for word in words if word in PARTS] or list(PARTS):
        PARTS[part]([word for word in words if word not in PARTS])


if __name__ == "__main__":
    main(sys.argv[1:])
