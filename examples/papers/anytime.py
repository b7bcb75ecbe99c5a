"""Steps of "Anytime query-tuned kernel machines via Cholesky factorization", beside ours.

    SVMCOMPILE_DATA=FOLDER python examples/papers/anytime.py             all tasks
    SVMCOMPILE_DATA=FOLDER python examples/papers/anytime.py sonar       some
    ... --c                                                              and times of the emitted C

For every ordering the mean number of kernel values until the label is certain: in real numbers
as the paper counts (no margins), then with the margins that float32 code needs; queries are the
training rows, as in the paper, and rows the machine has not seen. The paper's SVM settings are not
known; ours were chosen to give its number of support vectors (Sonar) or are plain (MNIST, pixels
from 0 to 1). Undecided rows count all vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from common import dense, read_words, table
from metric_tree import progress
from sets import load
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.nodes import BoundedSum
from svmcompile.ir.program import Program

ORDERINGS = ("original", "sgma", "min-wz", "min-wzn", "mean-lhn", "hybrid")
QUERIES = 1000  # of each kind, at most
EVERY = 100_000  # no limit on the basis but the method's own


@dataclass(frozen=True, eq=False)
class Task:
    """Rows to train on, rows not seen, the machine's parameters and the paper's mean steps."""

    name: str
    rows: Callable[[], tuple[Any, Any, Any]]
    C: float
    gamma: float
    paper: dict[str, float] = field(default_factory=dict)
    note: str = "-"


def whole(name: str) -> tuple[Any, Any, Any]:
    found = load(name)
    X = dense(found["X"])
    return X, found["y"], X[:0]


def two_thirds(name: str) -> tuple[Any, Any, Any]:
    X, y, _ = whole(name)
    order = np.random.default_rng(0).permutation(len(y))
    cut = 2 * len(y) // 3
    return X[order[:cut]], y[order[:cut]], X[order[cut:]]


def digits(first: int, second: int) -> tuple[Any, Any, Any]:
    """The set of 10,000 to train on, and as many rows of the other as are asked for."""
    small, large = load("mnist_t10k"), load("mnist")
    chosen, others = (np.isin(one["y"], (first, second)) for one in (small, large))
    held = dense(large["X"])[others][:QUERIES] / 255.0
    return dense(small["X"])[chosen] / 255.0, small["y"][chosen], held


TASKS = (
    Task(
        "sonar",
        lambda: whole("sonar"),
        2.0,
        0.04,
        {"original": 47.7, "sgma": 26.2, "min-wz": 21.3},
        "m = 165",
    ),
    Task("sonar, 2/3", lambda: two_thirds("sonar"), 2.0, 0.04),
    Task("haberman", lambda: whole("haberman"), 10.0, 0.0005, {"sgma": 4.5, "min-wz": 7.0}),
    Task("haberman, 2/3", lambda: two_thirds("haberman"), 10.0, 0.0005),
    Task("mnist 0-1", lambda: digits(0, 1), 10.0, 0.01, note="speed-up «significant»"),
    Task("mnist 3-8", lambda: digits(3, 8), 10.0, 0.01, note="speed-up 1.7 (hybrid)"),
    Task("mnist 3-8, wide", lambda: digits(3, 8), 1.0, 0.005, note="speed-up 1.7 (hybrid)"),
)
HEAD = (
    "task", "ordering", "SVs", "paper", "steps, training", "of m", "with margins", "steps, held out",
    "of m", "with margins", "flops, held out", "labels changed",
)  # fmt: skip
COLUMNS = {
    "m": "{:.0f}", "steps": "{:.1f}", "ratio": "{:.2f}x", "margins": "{:.1f}", "held_steps": "{:.1f}",
    "held_ratio": "{:.2f}x", "held_margins": "{:.1f}", "flops": "{:.2f}x", "changed": "{:.0f}",
}  # fmt: skip


def without_margins(program: Program) -> Program:
    """The bounds in real numbers, for counting."""
    node = next(node for node in program.body if isinstance(node, BoundedSum))
    names = (node.slacks, node.margins, node.rounding)
    return program.replace(
        tables={
            name: np.zeros_like(table) if name in names else table for name, table in program.tables.items()
        }
    )


def steps(program: Program, rows: Any) -> tuple[float, float]:
    """Kernel values per row, in real numbers and with margins."""
    plain, own = (one.cost(rows).mean_kernel_evaluations for one in (without_margins(program), program))
    return plain, own


def lines(words: list[str]) -> Iterator[list[str]]:
    for task in TASKS:
        if words and not any(word in task.name for word in words):
            continue
        for ordering in ORDERINGS:
            yield line(task, ordering, measure(task, ordering))


@cache
def trained(task: Task) -> tuple[Any, Any, Any]:
    """Model, its training rows and rows not seen."""
    X, y, held = task.rows()
    return SVC(C=task.C, gamma=task.gamma).fit(X, y), X, held


def measure(task: Task, ordering: str) -> dict[str, float]:
    """One ordering: a test after every value, all coordinates, then the form the cost model picks."""
    model, X, held = trained(task)
    options = {"method": "anytime", "X": X, "ordering": ordering, "force": True, "tune": "flops"}
    every = sc.compile(model, block=1, r_coords="all", k_max=EVERY, **options)
    chosen = sc.compile(model, **options)
    rows, m = X[:: -(-len(X) // QUERIES)], len(model.support_)
    found, kinds = {"m": float(m)}, {"": rows, "held_": held}
    for kind, queries in kinds.items():
        if len(queries):
            plain, own = steps(every, queries)
            found |= {f"{kind}steps": plain, f"{kind}ratio": m / plain, f"{kind}margins": own}
    if len(held):
        cost = chosen.cost(held)
        found["flops"] = cost.exact_flops / cost.mean_flops
    wrong = [p.predict(q) != model.predict(q) for p in (every, chosen) for q in kinds.values() if len(q)]
    return found | {"changed": float(sum(part.sum() for part in wrong))}


def line(task: Task, ordering: str, found: dict[str, float]) -> list[str]:
    paper = f"{task.paper[ordering]}" if ordering in task.paper else task.note
    texts = [form.format(found[name]) if name in found else "-" for name, form in COLUMNS.items()]
    return [task.name, ordering, texts[0], paper, *texts[1:]]


def c_lines(words: list[str]) -> Iterator[list[str]]:
    """Times of the default choice in C beside the exact sum's."""
    from c_cost import c_costs

    for task in TASKS:
        if words and not any(word in task.name for word in words):
            continue
        model, X, held = trained(task)
        if not len(held):
            continue
        exact = sc.compile(model)
        for profile in ("portable", "host"):
            program = sc.compile(model, method="anytime", X=X, force=True, tune=profile)
            ours, theirs = c_costs((program, exact), held, profile)
            form = program.origin.details["choice"]
            yield [
                task.name, profile, "{block}, {k_max}, {r_coords}".format(**form),
                f"{form['cost'] / form['exact']:.2f}",
                f"{theirs.nanoseconds:.0f}", f"{ours.nanoseconds:.0f}",
                f"{theirs.nanoseconds / ours.nanoseconds:.2f}x",
                f"{theirs.instructions / ours.instructions:.2f}x",
            ]  # fmt: skip


C_HEAD = (
    "task", "profile", "block, k_max, r_coords", "predicted cost", "exact, ns", "anytime, ns", "faster",
    "fewer instructions",
)  # fmt: skip


if __name__ == "__main__":
    words = read_words(__doc__, ["--c", *(task.name for task in TASKS)])
    given = [word for word in words if word != "--c"]
    if "--c" in words:
        print(table("Emitted C, held-out rows", C_HEAD, progress(c_lines(given), lambda done: done)))
    else:
        print(table("Steps until the label is certain", HEAD, progress(lines(given), lambda done: done)))
