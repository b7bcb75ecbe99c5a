"""certified on machines of thousands of support vectors: how long they take to compile, and what they save.

    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_large.py            ijcnn1 with all rows, a9a
    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_large.py a9a        one of them

Held-out rows; everything is chosen by the compiler from training rows. Seconds are those of the compiler
alone, of the processor and by the clock; times in C are of the profile host, one row per call and 2000.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from c_cost import c_costs
from certified import compiled, form, is_front, stages
from certified_sets import Case, whole
from common import dense, read_words, split, table
from metric_tree import progress
from sklearn.svm import SVC

import svmcompile as sc

HELD = 2000
HEAD = (
    "set", "features", "SVs", "seconds", "by the clock", "centres, order", "bytes (SVs)",
    "order 1 / 2 / 3 / jets / sum %", "operations", "host, one row", "host, batch", "labels changed",
)  # fmt: skip


def a9a() -> tuple[object, object, object]:
    """Features are zeros and ones, as they come."""
    found = split("a9a")
    return dense(found.X), found.y, dense(found.X_test)


CASES = (
    Case("ijcnn1, all rows", lambda: whole("ijcnn1"), 10.0, 0.01, 0),
    Case("a9a", a9a, 1.0, 0.008, 0),
)


def line(case: Case) -> list[str]:
    X, y, held = case.rows()
    held = np.asarray(held)[:HELD].astype(np.float32).astype(np.float64)
    model = SVC(C=case.C, gamma=case.gamma, cache_size=1000).fit(X, y)
    m, d = model.support_vectors_.shape
    spent, clock = time.process_time(), time.perf_counter()
    program = compiled(model, X, "host", 0)
    seconds = [time.process_time() - spent, time.perf_counter() - clock]
    exact, cost = sc.compile(model), program.cost(held)
    plain, fast = c_costs((exact, program), held, "host", count=False)
    shown = is_front(program)
    return [
        case.name, str(d), str(m), *(f"{one:.0f}" for one in seconds),
        form(program) if shown else "exact",
        f"{program.origin.details['choice']['bytes'] if shown else '-'} ({4 * m * (d + 1)})",
        stages(program, held) if shown else "-",
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
