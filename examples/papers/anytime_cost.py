"""What bounds save: kernel values, operations, and the cost of the emitted C beside the exact sum's.

    SVMCOMPILE_DATA=FOLDER python examples/papers/anytime_cost.py             all sets
    SVMCOMPILE_DATA=FOLDER python examples/papers/anytime_cost.py twonorm     some
    ... --no-c                                                               without the C

Rows are held out; forms are chosen by the compiler on sample rows. The prototype's figures
(brackets) were made with the best form on the same queries and with machines whose parameters are
not known: ours were searched for its number of support vectors. "Instructions" are those of the
portable profile (valgrind), "host" is time with vector instructions; both are forced, so that
figures below one show where the compiler would emit the exact sum instead ("emitted").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from c_cost import c_costs
from common import dense, read_words, split, table
from metric_tree import progress
from sets import load
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.program import Program

HELD = 400
Rows = tuple[Any, Any, Any]  # X, y and held-out rows


def ida(name: str) -> Rows:
    found = load(f"ida_{name}")
    X, train, test = dense(found["X"]), found["train_idx"][0], found["test_idx"][0]
    return standard(X[train], found["y"][train], X[test])


def standard(X: Any, y: Any, held: Any) -> Rows:
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(held[:HELD])


def whole(name: str, train: int = 0) -> Rows:
    found = split(name, train, HELD)
    return standard(found.X, found.y, found.X_test)


def digits() -> Rows:
    X, y = load_digits(return_X_y=True)
    X, y = X[y < 2] / 16.0, y[y < 2]
    X, held, y, _ = train_test_split(X, y, test_size=1 / 3, random_state=0)
    return X, y, held


def mnist() -> Rows:
    found = load("mnist")
    chosen = np.flatnonzero(np.isin(found["y"], (3, 8)))[: 1500 + HELD]
    X = dense(found["X"][chosen]) / 255.0
    return X[:1500], found["y"][chosen][:1500], X[1500:]


@dataclass(frozen=True)
class Case:
    """A set, the parameters of its machine, and the prototype's vectors, steps and saving."""

    name: str
    rows: Callable[[], Rows]
    C: float
    gamma: float
    vectors: int
    steps: str
    saving: float


CASES = (
    Case("svmguide1", lambda: whole("svmguide1"), 10.0, 0.05, 318, "9.8", 21.0),
    Case("digits 0-1", digits, 1.0, 0.01, 58, "4.4", 12.5),
    Case("twonorm", lambda: ida("twonorm"), 0.3, 0.0075, 180, "13.6", 9.2),
    Case("diabetis", lambda: ida("diabetis"), 10.0, 0.01, 258, "22.4", 6.0),
    Case("breast-cancer", lambda: ida("breast-cancer"), 1.0, 0.03, 119, "18.8", 3.7),
    Case("ijcnn1", lambda: whole("ijcnn1", 4000), 10.0, 0.01, 597, "111", 1.8),
    Case("mnist 3-8", mnist, 10.0, 0.005, 261, "172", 1.4),
    Case("ringnorm", lambda: ida("ringnorm"), 0.5, 0.05, 130, "-", 1.49),
    Case("german", lambda: ida("german"), 30.0, 0.02, 412, "-", 1.0),
    Case("waveform", lambda: ida("waveform"), 0.3, 0.1, 260, "-", 1.0),
)
HEAD = (
    "set", "features", "SVs", "kernel values", "kernel saving", "operations", "fewer instructions",
    "portable, faster", "host, faster", "emitted for host", "labels changed",
)  # fmt: skip


def line(case: Case, with_c: bool) -> list[str]:
    X, y, held = case.rows()
    held = held.astype(np.float32).astype(np.float64)
    model = SVC(C=case.C, gamma=case.gamma).fit(X, y)
    m = len(model.support_)

    def compiled(tune: str, force: bool = True) -> Program:
        return sc.compile(model, method="anytime", X=X, tune=tune, force=force)

    program = compiled("flops")
    cost = program.cost(held)
    exact = sc.compile(model)
    c_cells = _in_c(exact, compiled("portable"), compiled("host"), held) if with_c else ["-"] * 3
    return [
        case.name,
        f"{X.shape[1]}",
        f"{m} ({case.vectors})",
        f"{cost.mean_kernel_evaluations:.1f} ({case.steps})",
        f"{m / cost.mean_kernel_evaluations:.1f}x",
        f"{cost.exact_flops / cost.mean_flops:.2f}x ({case.saving:g}x)",
        *c_cells,
        compiled("host", False).origin.details["emitted"],
        f"{int((program.predict(held) != model.predict(held)).sum())}",
    ]


def _in_c(exact: Program, portable: Program, host: Program, rows: Any) -> list[str]:
    plain = c_costs((exact, portable), rows, "portable")
    fast = c_costs((exact, host), rows, "host", count=False)
    return [
        f"{plain[0].instructions / plain[1].instructions:.2f}x",
        f"{plain[0].nanoseconds / plain[1].nanoseconds:.2f}x",
        f"{fast[0].nanoseconds / fast[1].nanoseconds:.2f}x",
    ]


def lines(words: list[str]) -> Iterator[list[str]]:
    names = [word for word in words if not word.startswith("--")]
    for case in CASES:
        if not names or case.name.split()[0] in names:
            yield line(case, "--no-c" not in words)


if __name__ == "__main__":
    words = read_words(__doc__, ["--no-c", *(case.name.split()[0] for case in CASES)])
    print(table("Cost beside the exact sum", HEAD, progress(lines(words), lambda done: done)))
