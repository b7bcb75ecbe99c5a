"""What "Anytime query-tuned kernel machines via Cholesky factorization" leaves for the future (section 6).

    SVMCOMPILE_DATA=FOLDER python examples/papers/anytime_future.py             all tasks
    SVMCOMPILE_DATA=FOLDER python examples/papers/anytime_future.py sonar       some

Vectors anywhere in space that minimise cost (26): option `free` of anytime. A sequence of vectors for
each cell of a tree over the queries: one program per cell, made with the training rows of its cell
alone. Kernel values until the label is certain, with the margins of float32 code, on rows that the
machine has not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from anytime import EVERY, TASKS, Task, trained
from common import read_words, table
from metric_tree import progress
from sklearn.cluster import KMeans

import svmcompile as sc

ROWS = 500  # to train orderings on, at most
HELD = 300
FREE = (0, 4, 8, 16)
LEAVES = (2, 4, 8)
ORDERINGS = {"free": ("min-wz", "hybrid"), "cells": ("mean-lhn", "hybrid")}  # min-wz looks at no queries


def rows_of(task: Task) -> tuple[Any, Any, Any]:
    model, X, held = trained(task)
    return model, X[:: -(-len(X) // ROWS)], held[:HELD]


def measure_free(task: Task, ordering: str) -> dict[str, float]:
    """So many free points, then vectors in their order: kernel values, and flops of the chosen form."""
    model, X, held = rows_of(task)
    options = {"method": "anytime", "X": X, "ordering": ordering, "force": True, "tune": "flops"}
    found, changed = {"m": float(len(model.support_))}, 0
    for count in FREE:
        every = sc.compile(model, block=1, r_coords="all", k_max=EVERY, free=count, **options)
        chosen = sc.compile(model, free=count, **options)
        cost = chosen.cost(held)
        found[f"values_{count}"] = every.cost(held).mean_kernel_evaluations
        found[f"flops_{count}"] = cost.exact_flops / cost.mean_flops
        changed += sum(int((one.predict(held) != model.predict(held)).sum()) for one in (every, chosen))
    return found | {"changed": float(changed)}


def cells_of(X: Any, others: Any, leaves: int) -> Iterator[tuple[Any, Any]]:
    """Which rows, and which others, are in each cell of a tree of 2-means splits."""
    if leaves == 1:
        yield np.arange(len(X)), np.arange(len(others))
        return
    halves = KMeans(2, random_state=0, n_init=3).fit(X)
    sides = halves.labels_, halves.predict(others) if len(others) else np.zeros(0)
    for side in (0, 1):
        own, far = (np.flatnonzero(one == side) for one in sides)
        for rows, rest in cells_of(X[own], others[far], leaves // 2):
            yield own[rows], far[rest]


def measure_cells(task: Task, ordering: str) -> dict[str, float]:
    """Kernel values with a sequence per cell; which cell a row is in is not counted."""
    model, X, held = rows_of(task)
    found, changed = {"m": float(len(model.support_))}, 0
    for leaves in (1, *LEAVES):
        total = 0.0
        for rows, rest in cells_of(X, held, leaves):
            if len(rest):
                program = sc.compile(
                    model, method="anytime", X=X[rows], ordering=ordering, force=True, tune="flops",
                    block=1, r_coords="all", k_max=EVERY,
                )  # fmt: skip
                total += len(rest) * program.cost(held[rest]).mean_kernel_evaluations
                changed += int((program.predict(held[rest]) != model.predict(held[rest])).sum())
        found[f"cells_{leaves}"] = total / len(held)
    return found | {"changed": float(changed)}


FREE_HEAD = (
    "task, ordering", "SVs", *(f"free={count}" for count in FREE),
    *(f"flops, free={count}" for count in FREE), "labels changed",
)  # fmt: skip
FREE_COLUMNS = {
    "m": "{:.0f}", **{f"values_{count}": "{:.1f}" for count in FREE},
    **{f"flops_{count}": "{:.2f}x" for count in FREE}, "changed": "{:.0f}",
}  # fmt: skip
CELLS_HEAD = (
    "task, ordering",
    "SVs",
    "one cell",
    *(f"{count} cells" for count in LEAVES),
    "labels changed",
)
CELLS_COLUMNS = {
    "m": "{:.0f}", **{f"cells_{count}": "{:.1f}" for count in (1, *LEAVES)}, "changed": "{:.0f}"
}  # fmt: skip


def future_tasks() -> list[Task]:
    """Those with rows that were held out."""
    return [task for task in TASKS if task.name in ("sonar, 2/3", "haberman, 2/3", "mnist 3-8")]


def lines(key: str, measure: Any, columns: dict[str, str], words: list[str]) -> Iterator[list[str]]:
    for task in future_tasks():
        for ordering in ORDERINGS[key]:
            if not words or any(word in task.name for word in words):
                found = measure(task, ordering)
                yield [
                    f"{task.name}, {ordering}",
                    *(form.format(found[name]) for name, form in columns.items()),
                ]


if __name__ == "__main__":
    given = read_words(__doc__, [task.name for task in future_tasks()])
    free = progress(lines("free", measure_free, FREE_COLUMNS, given), lambda done: done)
    print(table("Vectors anywhere in space, then support vectors", FREE_HEAD, free))
    cells = progress(lines("cells", measure_cells, CELLS_COLUMNS, given), lambda done: done)
    print(table("A sequence per cell of a tree over the queries", CELLS_HEAD, cells))
