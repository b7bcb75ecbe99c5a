"""The eleven IDA benchmark sets with their splits, and an SVM tuned for each.

A set such as `ida_banana` holds X, y and the official splits as train_idx and test_idx. Where fewer
splits are at hand than asked for, random ones of the same sizes make up the number. C and gamma are found
by cross-validation on the first split and kept under out/papers; among settings that do equally well, the
one is taken whose number of support vectors is nearest to that in Table 1 of "The support vector tree".
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sets import load
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

SETS = (
    "heart", "thyroid", "breast-cancer", "waveform", "german", "image",
    "diabetis", "ringnorm", "splice", "twonorm", "banana",
)  # fmt: skip
VECTORS = dict(zip(SETS, (60, 13, 120, 229, 373, 213, 249, 152, 588, 263, 151), strict=True))
TEST_ROWS = 3000  # at most so many test rows per split
COSTS = tuple(10.0**e for e in np.arange(-1, 3.1, 0.5))
LINEAR_COSTS = tuple(10.0**e for e in np.arange(-2, 0.6, 0.5))
WIDTHS = tuple(10.0**e for e in np.arange(-3, 1.1, 0.5))  # gamma, for standardised features
FOLDS = 5
TIE = 0.01  # of accuracy: settings so close to the best count as equally good


@dataclass(frozen=True, eq=False)
class Split:
    """One training and test part, and how it came about."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any
    official: bool


def splits(name: str, count: int) -> Iterator[Split]:
    """The official splits of a set, then random ones of the same sizes."""
    data = load(f"ida_{name}")
    official, size = min(count, len(data["train_idx"])), data["train_idx"].shape[1]
    orders = np.argsort(np.random.RandomState(1).rand(count - official, len(data["y"])), axis=1)
    more_train, more_test = orders[:, :size], orders[:, size:]
    train = [*data["train_idx"][:official], *more_train]
    test = [*data["test_idx"][:official], *more_test]
    for at in range(count):
        yield Split(
            data["X"][train[at]].astype(np.float64),
            data["y"][train[at]],
            data["X"][test[at][:TEST_ROWS]].astype(np.float64),
            data["y"][test[at][:TEST_ROWS]],
            at < official,
        )


def machine(name: str, kernel: str = "rbf") -> Pipeline:
    """An SVM behind a scaler, not yet trained, with the parameters tuned for this set."""
    return make_pipeline(StandardScaler(), SVC(kernel=kernel, **_tuned(name, kernel)))


def _tuned(name: str, kernel: str) -> dict[str, float]:
    """C (and gamma), found once and then read from a file."""
    path = Path("out") / "papers" / f"{name}_{kernel}.json"
    if not path.exists():
        print(f"tuning {name} ({kernel})", file=sys.stderr)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_search(name, kernel)))
    found: dict[str, float] = json.loads(path.read_text())
    return found


def _search(name: str, kernel: str) -> dict[str, float]:
    split = next(splits(name, 1))
    grid = {"svc__C": COSTS, "svc__gamma": WIDTHS} if kernel == "rbf" else {"svc__C": LINEAR_COSTS}
    model = make_pipeline(StandardScaler(), SVC(kernel=kernel))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    found = GridSearchCV(model, grid, cv=folds, refit=False).fit(split.X, split.y).cv_results_
    close = np.flatnonzero(found["mean_test_score"] >= found["mean_test_score"].max() - TIE)
    if kernel == "rbf":
        sizes = [_vectors(model.set_params(**found["params"][at]), split) for at in close]
        close = close[[int(np.argmin(np.abs(np.log(sizes) - np.log(VECTORS[name]))))]]
    best = found["params"][close[0]]
    return {key.removeprefix("svc__"): float(value) for key, value in best.items()}


def _vectors(model: Pipeline, split: Split) -> int:
    """How many support vectors a machine has."""
    return len(model.fit(split.X, split.y)[-1].support_)
