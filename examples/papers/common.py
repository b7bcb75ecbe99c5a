"""Sets and models for the papers' tables: real data, split and scaled as the papers had it.

sets.py reads them from the folder that SVMCOMPILE_DATA names. Trained models are kept under out/papers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sets import load
from sklearn.svm import SVC

OUTPUT = Path("out/papers")
Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on and rows to test with."""

    X: Rows
    y: NDArray[Any]
    X_test: Rows
    y_test: NDArray[Any]


def dense(rows: Any) -> Rows:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def scaled(X: Rows, *others: Rows) -> list[Rows]:
    """Every feature to -1..1 over the first rows, the others by the same rule."""
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return [np.where(high > low, 2 * (rows - low) / width - 1, 0.0) for rows in (X, *others)]


def split(name: str, train: int = 0, test: int = 0, seed: int = 0, scale: bool = False) -> Split:
    """The set's own split, or a random one: `train` rows (0: half) and at most `test` others (0: all)."""
    found = load(name)
    X, y, generator = dense(found["X"]), np.asarray(found["y"]), np.random.default_rng(seed)
    order = generator.permutation(len(y))
    if "X_test" in found:
        X_test, y_test = dense(found["X_test"]), np.asarray(found["y_test"])
        chosen = np.sort(order[:train]) if train else np.arange(len(y))
    else:
        chosen = order[: train or len(y) // 2]
        rest = order[len(chosen) :]
        X_test, y_test = X[rest], y[rest]
    X, y = X[chosen], y[chosen]
    if test and test < len(y_test):
        some = np.sort(generator.permutation(len(y_test))[:test])
        X_test, y_test = X_test[some], y_test[some]
    if scale:
        X, X_test = scaled(X, X_test)
    return Split(X, y, X_test, y_test)


def trained(key: str, data: Split, C: float, gamma: float) -> Any:
    """An SVC with an rbf kernel, trained once."""
    path = OUTPUT / "models" / f"{key}-{len(data.y)}-{C:g}-{gamma:g}.joblib"
    if path.exists():
        return joblib.load(path)
    print(f"training {key} on {len(data.y):,} rows", file=sys.stderr)
    model = SVC(C=C, gamma=gamma, cache_size=500).fit(data.X, data.y)
    path.parent.mkdir(parents=True, exist_ok=True)
    joblib.dump(model, path)
    return model


def read_words(about: str | None, known: Iterable[str], numbers: bool = False) -> list[str]:
    """The words of the command line: parts of known names, and numbers where they mean something.

    `--help` prints what the script is for; a word that is part of no name ends it.
    """
    words, names = sys.argv[1:], [*known]
    if {"-h", "--help"} & {*words}:
        print(about)
        raise SystemExit
    for word in words:
        if not any(word in name for name in names) and not (numbers and word.isdecimal()):
            raise SystemExit(f"unknown {word!r}; known: {', '.join(names) or 'no words at all'}")
    return words


def table(title: str, head: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Markdown, with numbers as they come."""
    rows = [" | ".join(map(str, line)) for line in (head, ["---"] * len(head), *lines)]
    return f"\n{title}\n\n" + "\n".join(f"| {row} |" for row in rows)
