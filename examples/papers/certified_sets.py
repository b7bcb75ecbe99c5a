"""Sets and machines of the measurements of `certified`: each gives training rows, labels and held-out rows.

Features have mean 0 and deviation 1, but for images. The parameters were searched for the number of support
vectors of the prototype whose figures are compared with; those of its machines are not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import dense, split
from sets import load
from sklearn.preprocessing import StandardScaler

HELD = 4000
Rows = tuple[Any, Any, Any]  # X, y and held-out rows


@dataclass(frozen=True)
class Case:
    """A set, the parameters of its machine, and the prototype's number of vectors."""

    name: str
    rows: Callable[[], Rows]
    C: float
    gamma: float
    vectors: int


def standard(X: Any, y: Any, held: Any) -> Rows:
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), y, scaler.transform(held[:HELD])


def ida(name: str) -> Rows:
    found = load(f"ida_{name}")
    X, train, test = dense(found["X"]), found["train_idx"][0], found["test_idx"][0]
    return standard(X[train], found["y"][train], X[test])


def whole(name: str, train: int = 0) -> Rows:
    found = split(name, train, HELD)
    return standard(found.X, found.y, found.X_test)


def two_letters() -> Rows:
    found = split("letter")
    own, held = (np.isin(labels, (2, 18)) for labels in (found.y, found.y_test))
    return standard(found.X[own], found.y[own], found.X_test[held])


def two_digits(one: int, other: int, train: int = 1500) -> Rows:
    found = load("mnist")
    chosen = np.flatnonzero(np.isin(found["y"], (one, other)))[: train + HELD]
    X = dense(found["X"][chosen]) / 255.0
    return X[:train], found["y"][chosen][:train], X[train:]


CASES = (
    Case("ijcnn1", lambda: whole("ijcnn1", 4000), 10.0, 0.01, 597),
    Case("mnist 0-1", lambda: two_digits(0, 1), 10.0, 0.005, 43),
    Case("mnist 3-8", lambda: two_digits(3, 8), 10.0, 0.005, 261),
    Case("heart", lambda: ida("heart"), 1.0, 0.0231, 86),
    Case("diabetis", lambda: ida("diabetis"), 10.0, 0.01, 258),
    Case("svmguide1", lambda: whole("svmguide1"), 10.0, 0.05, 318),
    Case("banana", lambda: ida("banana"), 3.0, 0.3, 164),
    Case("twonorm", lambda: ida("twonorm"), 10.0, 0.015, 61),
    Case("german", lambda: ida("german"), 3.162, 0.01818, 412),
    Case("ringnorm", lambda: ida("ringnorm"), 0.5, 0.05, 130),
    Case("image", lambda: ida("image"), 10.0, 0.1, 306),
    Case("letter B-R", two_letters, 10.0, 0.055, 148),
    Case("waveform", lambda: ida("waveform"), 0.1, 0.06, 260),
    Case("splice", lambda: ida("splice"), 1.0, 0.0125, 685),
    Case("breast-cancer", lambda: ida("breast-cancer"), 1.0, 0.03, 119),
    Case("thyroid", lambda: ida("thyroid"), 10.0, 0.3, 13),
)
