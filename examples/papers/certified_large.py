"""How long certified takes to compile, how much memory, and what it saves.

    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_large.py            all machines
    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_large.py a9a        one of them

Held-out rows; everything is chosen by the compiler from training rows. Seconds are those of the compiler
alone, of the processor and by the clock, in a process of its own, whose memory is the most it had; times
in C are of the profile host, one row per call and 2000. Generated sets are those of scikit-learn's
make_classification.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from c_cost import c_costs
from certified import compiled, form, is_front, stages
from certified_sets import Case, Rows, halves, two_digits, wdbc, whole
from certified_votes import mnist
from common import dense, read_words, split, table
from metric_tree import progress
from sets import load
from sklearn.datasets import make_classification
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Program

HELD = 2000
HEAD = (
    "set", "features", "SVs", "seconds", "by the clock", "MB", "centres, order", "bytes (SVs)",
    "order 1 / 2 / 3 / jets / sum %", "operations", "host, one row", "host, batch", "labels changed",
)  # fmt: skip


def a9a() -> Rows:
    """Features are zeros and ones, as they come."""
    found = split("a9a")
    return dense(found.X), found.y, dense(found.X_test)


def blobs(train: int, features: int, classes: int, apart: float) -> Rows:
    X, y = make_classification(
        train + HELD, features, n_informative=6 if features < 10 else 10, n_redundant=features // 5,
        n_classes=classes, class_sep=apart, flip_y=0.02, random_state=0,
    )  # fmt: skip
    return halves(X, y, train)


def odd_digits() -> Rows:
    """Odd digits of MNIST from even ones."""
    found = load("mnist")
    order = np.random.default_rng(0).permutation(len(found["y"]))[: 12_000 + HELD]
    X, y = dense(found["X"][order]) / 255.0, found["y"][order] % 2
    return X[:12_000], y[:12_000], X[12_000:]


CASES = (
    Case("wdbc", wdbc, 1.0, 1 / 30),
    Case("generated, 1,000", lambda: blobs(1950, 20, 2, 0.5), 1.0, 0.05),
    Case("generated, 1,000, wide", lambda: blobs(1950, 20, 2, 0.5), 1.0, 0.01),
    Case("generated, three classes", lambda: blobs(3950, 8, 3, 0.6), 1.0, 0.2),
    Case("generated, 10,000", lambda: blobs(26_000, 20, 2, 0.45), 1.0, 0.05),
    Case("mnist 3-8", lambda: two_digits(3, 8, 6000), 10.0, 0.005),
    Case("mnist, ten classes", mnist, 10.0, 0.005),
    Case("mnist, odd", odd_digits, 1.0, 0.1),
    Case("ijcnn1, all rows", lambda: whole("ijcnn1"), 10.0, 0.01),
    Case("a9a", a9a, 1.0, 0.008),
)


def compile_alone(model: SVC, X: Any) -> tuple[Program, float, float, float]:
    """The program; seconds of the processor and by the clock; the most megabytes of this process."""
    spent, clock = time.process_time(), time.perf_counter()
    program = compiled(model, X, "host", 0)
    return program, time.process_time() - spent, time.perf_counter() - clock, peak()


def peak() -> float:
    """The most megabytes that this process had. `getrusage` would start from those of its parent."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return float(found[1]) / 1024 if found else math.nan


def chosen(program: Program) -> str:
    if is_front(program):
        return form(program)
    choice = program.origin.details.get("choice", {})
    if any(isinstance(node, ir.TaylorVote) for node in program.body):
        return f"{choice['centres']} of a class, {choice['order']} along {choice['rank']}"
    return str(program.origin.details["emitted"])


def line(case: Case) -> list[str]:
    X, y, held = case.rows()
    held = np.asarray(held)[:HELD].astype(np.float32).astype(np.float64)
    model = SVC(C=case.C, gamma=case.gamma, cache_size=1000).fit(X, y)
    m, d = model.support_vectors_.shape
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        program, *figures = alone.submit(compile_alone, model, X).result()
    exact, cost = sc.compile(model), program.cost(held)
    plain, fast = c_costs((exact, program), held, "host", count=False)
    shown = chosen(program)
    return [
        case.name, str(d), str(m), *(f"{one:.0f}" for one in figures), shown,
        f"{program.origin.details['choice']['bytes'] if shown != 'exact' else '-'} ({4 * m * (d + 1)})",
        stages(program, held) if is_front(program) else "-",
        f"{cost.exact_flops / cost.mean_flops:.1f}",
        f"{plain.nanoseconds / fast.nanoseconds:.1f}",
        f"{plain.batch_nanoseconds / fast.batch_nanoseconds:.1f}",
        str(int((program.predict(held) != model.predict(held)).sum())),
    ]  # fmt: skip


def lines(words: list[str]) -> Iterator[list[str]]:
    for case in CASES:
        if not words or any(case.name.startswith(word) for word in words):
            yield line(case)


if __name__ == "__main__":
    found = progress(lines(read_words(__doc__, [case.name for case in CASES])), lambda done: done)
    print(table("Large machines", HEAD, found))
