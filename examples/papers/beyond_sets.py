"""Sets and SVMs of the comparison with what users pick today; each SVM is tuned on its training rows.

C and gamma are the best of a grid by threefold cross-validation on at most TUNED training rows; models are
kept under out/papers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import joblib
import numpy as np
from common import OUTPUT, Split, dense, split
from numpy.typing import NDArray
from sets import load
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

TEST_ROWS, TUNED, SEED = 4000, 2000, 0
COSTS, WIDTHS = (1.0, 10.0, 100.0), (0.25, 1.0, 4.0, 16.0)  # gammas times one over features and variance


@dataclass(frozen=True)
class Task:
    """A set, and how its rows are made."""

    source: str
    train: int = 0  # rows; 0: all
    scale: bool = False  # every feature to -1..1
    divisor: float = 1.0
    classes: tuple[int, ...] = ()  # these alone
    label: Callable[[NDArray[Any]], NDArray[Any]] | None = None


def upper_half(digits: NDArray[Any]) -> NDArray[Any]:
    """0 to 4 against 5 to 9, the task that Bonsai and ProtoNN call USPS-2 and MNIST-2."""
    return (digits > 4).astype(np.int64)


TASKS = {
    "svmguide1": Task("svmguide1", scale=True),
    "ijcnn1": Task("ijcnn1", 4000),
    "a9a": Task("a9a", 2500),
    "pendigits": Task("pendigits", 2000, scale=True),
    "letter": Task("letter", 3000, scale=True),
    "usps-2": Task("usps", 3000, label=upper_half),
    "mnist 3-8": Task("mnist", 2000, divisor=255.0, classes=(3, 8)),
    "digits 3-8": Task("", 180, divisor=16.0, classes=(3, 8)),  # what scikit-learn brings
    "mnist-2": Task("mnist", 6000, divisor=255.0, label=upper_half),  # for the published figures alone
}


def bundled() -> dict[str, Any]:
    """The digits of scikit-learn, their first half to train on."""
    X, y = load_digits(return_X_y=True)
    return {"X": X[:900], "y": y[:900], "X_test": X[900:], "y_test": y[900:]}


@cache
def rows_of(name: str) -> Split:
    """Training and test rows of a set."""
    task = TASKS[name]
    if not task.classes:
        data = split(task.source, task.train, TEST_ROWS, SEED, task.scale)
        X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
    else:
        found = load(task.source) if task.source else bundled()
        own, other = (np.isin(found[y], task.classes) for y in ("y", "y_test"))
        X, y = dense(found["X"][own][: task.train]), found["y"][own][: task.train]
        X_test, y_test = dense(found["X_test"][other][:TEST_ROWS]), found["y_test"][other][:TEST_ROWS]
    if task.label is not None:
        y, y_test = task.label(y), task.label(y_test)
    y, y_test = y.astype(np.int64), y_test.astype(np.int64)
    # What every program sees: rows that float32 holds exactly.
    X, X_test = (np.float32(rows / task.divisor).astype(np.float64) for rows in (X, X_test))
    return Split(X, y, X_test, y_test)


@cache
def svm_of(name: str) -> Any:
    """The SVM of a set, tuned and trained once."""
    data = rows_of(name)
    path = OUTPUT / "models" / f"beyond-{name.replace(' ', '-')}-{len(data.y)}.joblib"
    if path.exists():
        return joblib.load(path)
    unit = 1 / (data.X.shape[1] * data.X.var())
    grid = {"C": COSTS, "gamma": [unit * width for width in WIDTHS]}
    some = np.random.default_rng(SEED).permutation(len(data.y))[:TUNED]
    search = GridSearchCV(SVC(cache_size=500), grid, cv=3).fit(data.X[some], data.y[some])
    model = SVC(cache_size=500, **search.best_params_).fit(data.X, data.y)
    path.parent.mkdir(parents=True, exist_ok=True)
    joblib.dump(model, path)
    return model
