"""Half-spaces before an SVM: how many rows they answer, at which agreement, and what that saves.

    python examples/papers/h1_exits.py                  every set
    python examples/papers/h1_exits.py adult --speed    one of them, with times of the emitted C

Agreement, shares and flops are those of test rows, which built and chose nothing. Times are of the emitted
C, one row per call: that of the SVM as it is over that of the lists with the SVM behind them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import OUTPUT, Rows, Split, dense, read_words, scaled, table, trained
from metric_tree import progress, speed_gain
from sets import load

import svmcompile as sc
from svmcompile.ir.program import Program


@dataclass(frozen=True)
class Case:
    """A model, the rows lists are grown from, and what is asked of them."""

    make: Callable[[], tuple[Split, Rows]]  # what the SVM is trained and tested with, rows for lists
    C: float
    gamma: float
    target: float
    wanted: float  # times fewer flops


def adult() -> tuple[Split, Rows]:
    """4,000 rows train the SVM; lists need no labels and take 24,000 more."""
    found = load("a9a")
    X, y = dense(found["X"]), np.asarray(found["y"])
    order = np.random.default_rng(0).permutation(len(y))
    own = order[:4000]
    return Split(X[own], y[own], dense(found["X_test"]), np.asarray(found["y_test"])), X[order[:28_000]]


def pendigits() -> tuple[Split, Rows]:
    """The digit 8 against the others, rows of both files mixed."""
    data = _mixed("pendigits", lambda y: (y == 8).astype(int), 7494)
    return data, data.X


def svmguide1() -> tuple[Split, Rows]:
    data = _mixed("svmguide1", lambda y: y, 3500)
    return data, data.X


def ijcnn1() -> tuple[Split, Rows]:
    data = _mixed("ijcnn1", lambda y: y, 26_000)
    own = slice(6000)
    return Split(data.X[own], data.y[own], data.X_test[:20_000], data.y_test[:20_000]), data.X


def image() -> tuple[Split, Rows]:
    data = _mixed("ida_image", lambda y: y, 1300)
    return data, data.X


def banana() -> tuple[Split, Rows]:
    data = _mixed("ida_banana", lambda y: y, 3000)
    return data, data.X


def _mixed(name: str, label: Callable[[Any], Any], train: int) -> Split:
    """A random half or so of all rows to train on, the others to test with."""
    found = load(name)
    X, y = dense(found["X"]), label(np.asarray(found["y"]))
    if "X_test" in found:
        X = np.concatenate([X, dense(found["X_test"])])
        y = np.concatenate([y, label(np.asarray(found["y_test"]))])
    order = np.random.default_rng(0).permutation(len(y))
    X, y = scaled(X)[0][order], y[order]
    return Split(X[:train], y[:train], X[train:], y[train:])


CASES = {
    "adult": Case(adult, 1.0, 1 / 123, 0.999, 4.0),
    "pendigits, 8 or not": Case(pendigits, 1.0, 0.5, 0.995, 8.0),
    "svmguide1": Case(svmguide1, 8.0, 2.0, 0.997, 3.5),
    "ijcnn1": Case(ijcnn1, 10.0, 1.0, 0.99, 1.3),
    "image": Case(image, 10.0, 1.0, 0.99, 1.3),
    "banana": Case(banana, 1.0, 8.0, 0.99, 1.2),
}
HEAD = (
    "set", "SVs", "target %", "planes", "tau", "exit %", "depth", "agreement % (proven)",
    "flops: SVM / lists", "known", "C time: SVM / lists",
)  # fmt: skip


def line(name: str, speed: bool, **options: Any) -> list[str]:
    case = CASES[name]
    data, rows = case.make()
    model = trained(f"h1-{name.split(',')[0]}", data, case.C, case.gamma)
    program = sc.compile(model, method="h1-tree", X=rows, target=case.target, **options)
    return measured(name, case, model, program, data, speed)


def measured(name: str, case: Case, model: Any, program: Program, data: Split, speed: bool) -> list[str]:
    cost, details = program.cost(data.X_test), program.origin.details
    vectors = int(model.n_support_.sum())
    agreement = 100 * float((program.predict(data.X_test) == model.predict(data.X_test)).mean())
    best = min(details["tried"], key=lambda one: one["flops"])
    return [
        name,
        f"{vectors:,}",
        f"{100 * case.target:g}",
        f"{details['lists']['planes']}",
        f"{best['tau']:g}{' +' if best['recalibrated'] else ''}",
        f"{100 * (1 - cost.mean_kernel_evaluations / vectors):.1f}",
        f"{details['exits']['mean_depth']:.1f}",
        f"{agreement:.3f} ({100 * details['exits']['proven_agreement']:.2f})",
        f"{cost.exact_flops / cost.mean_flops:.1f}",
        f"{case.wanted:g}",
        f"{ratio(model, program, data.X_test):.1f}" if speed else "-",
    ]


def ratio(model: Any, program: Program, rows: Rows) -> float:
    """The time of the SVM's own C over that of a program's, each beside LIBSVM in its run."""
    folder = OUTPUT / "speed"
    return speed_gain(model, program, rows, folder) / speed_gain(model, sc.compile(model), rows, folder)


def main(words: list[str]) -> None:
    speed = "--speed" in words
    chosen = [name for name in CASES if not words or name.split(",")[0] in words or words == ["--speed"]]
    print(table("Half-spaces before an SVM", HEAD, progress(chosen, lambda name: line(name, speed))))


if __name__ == "__main__":
    main(read_words(__doc__, ["--speed", *CASES]))
