"""DTSVM in front of a given SVM: agreement, vectors met and time beside the SVM itself.

    SVMCOMPILE_DATA=FOLDER python examples/papers/dtsvm_reuse.py [--no-speed] [SET ...]

Four sixths of the rows train SVM and tree, the rest test them. Agreement is with the SVM's own labels,
"vectors" counts kernel evaluations per row, "exact / tree" is the time of our exact C over that of the
tree, one row per call, each timed beside LIBSVM. The last line of a set is what the holdout chooses.
Features to -1..1, C = 10, gamma = 1; adult (one feature per category, its test file): 0..1, 1, 0.05.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import OUTPUT, Rows, Split, dense, scaled, table, trained
from metric_tree import speed_gain
from numpy.typing import NDArray
from sets import load

import svmcompile as sc
from svmcompile.ir.program import Program


@dataclass(frozen=True)
class Task:
    """Two classes made of a set, the SVM's parameters, and what is tried."""

    source: str
    positive: Callable[[NDArray[Any]], NDArray[Any]]  # of class numbers
    target: float
    part: str = ""  # of a set with a split of its own, this part alone
    C: float = 10.0
    gamma: float = 1.0
    scale: bool = True
    labels: tuple[str, ...] = ("model",)
    deltas: tuple[float, ...] = (0.0, 0.2, 0.5)


CEILINGS = (1500, 400, 100)
TASKS = {
    "letter halves": Task("letter", lambda number: number >= 13, 0.97),
    "pendigits even/odd": Task("pendigits", lambda number: number % 2 == 1, 0.99, part="X"),
    "satimage 3v3": Task("satimage", lambda number: number >= 3, 0.98),
    # Features of 0 and 1 lie a standard deviation or more from every threshold: nothing overlaps.
    "adult": Task(
        "a9a", lambda number: number == 1, 0.965, "X_test", C=1.0, gamma=0.05, scale=False,
        labels=("given", "model"), deltas=(0.0,),
    ),
}  # fmt: skip
HEAD = ("set (SVs)", "labels", "ceiling", "delta", "leaves", "pure %", "same label %", "SVM % / tree %",
        "vectors", "exact / tree")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--no-speed", action="store_true", help="leave out the times")
    chosen = parser.parse_args()
    unknown = sorted(set(chosen.sets) - set(TASKS))
    if unknown:
        parser.error(f"unknown set {unknown[0]!r}")
    found = [
        line for name in chosen.sets or TASKS for line in lines(name, TASKS[name], not chosen.no_speed)
    ]
    print(table("DTSVM in front of a given SVM", HEAD, found))


def lines(name: str, task: Task, speed: bool) -> Iterator[list[str]]:
    """The lines of one set; none where the folder lacks it."""
    try:
        data = divided(task)
    except FileNotFoundError:
        print(f"{name}: the folder of data has no {task.source}", file=sys.stderr)
        return
    model = trained(f"reuse-{task.source}", data, task.C, task.gamma)
    exact = gain(model, sc.compile(model), data) if speed else float("nan")
    for options in tried(task):
        print(f"{name}: {options}", file=sys.stderr)
        program = sc.compile(model, method="dtsvm", X=data.X, y=data.y, **options)
        faster = gain(model, program, data) / exact if speed else float("nan")
        yield line(f"{name} ({len(model.support_)})", model, program, options, data, faster)


def tried(task: Task) -> Iterator[dict[str, Any]]:
    for labels in task.labels:
        for ceiling in CEILINGS:
            for delta in task.deltas:
                yield {"labels": labels, "ceiling": ceiling, "delta": delta}
    yield {"target": task.target}


def divided(task: Task) -> Split:
    """Four sixths and the rest, at random."""
    found = load(task.source)
    parts = ("", "_test") if "X_test" in found and not task.part else (task.part.removeprefix("X"),)
    X: Rows = np.concatenate([dense(found[f"X{part}"]) for part in parts])
    labels = np.concatenate([np.asarray(found[f"y{part}"]) for part in parts])
    y = task.positive(np.unique(labels, return_inverse=True)[1]).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    kept, rest = np.split(order, [len(y) * 4 // 6])
    own, test = (X[kept], X[rest])
    if task.scale:
        own, test = scaled(own, test)
    return Split(own, y[kept], test, y[rest])


def gain(model: Any, program: Program, data: Split) -> float:
    return speed_gain(model, program, data.X_test, OUTPUT / "speed")


def line(
    name: str, model: Any, program: Program, options: dict[str, Any], data: Split, faster: float
) -> list[str]:
    details, meant, found = program.origin.details, model.predict(data.X_test), program.predict(data.X_test)
    ceiling = f"{details['ceiling']}" if "ceiling" in details else "all"
    aim = f", for {options['target']:.1%}" if "target" in options else ""
    return [
        name,
        options.get("labels", "model"),
        ceiling + aim,
        f"{details.get('delta', 0):g}",
        f"{details['leaves']}",
        f"{100 * details.get('pure_share', 0):.1f}",
        f"{100 * (found == meant).mean():.2f}",
        f"{100 * (meant == data.y_test).mean():.2f} / {100 * (found == data.y_test).mean():.2f}",
        f"{program.cost(data.X_test).mean_kernel_evaluations:.1f}",
        "-" if np.isnan(faster) else f"{faster:.1f}",
    ]


if __name__ == "__main__":
    main()
