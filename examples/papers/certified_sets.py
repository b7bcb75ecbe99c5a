"""Sets and machines of the measurements of `certified`: each gives training rows, labels and held-out rows.

Features have mean 0 and deviation 1, but for images. The parameters were searched for the number of support
vectors of the prototype whose figures are compared with; those of its machines are not known. Sets of 30 to
60 dense features have C and gamma as cross-validation chooses them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from common import dense, split
from sets import load
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

HELD = 4000
GRID_C, GRID_GAMMA = (1.0, 10.0, 100.0), (0.1, 0.3, 1.0, 3.0)  # gamma times the number of features
Rows = tuple[Any, Any, Any]  # X, y and held-out rows


@dataclass(frozen=True)
class Case:
    """A set, the parameters of its machine, and the prototype's number of vectors, if it had the set.

    Without parameters, cross-validation chooses them.
    """

    name: str
    rows: Callable[[], Rows]
    C: float = 0.0
    gamma: float = 0.0
    vectors: int = 0

    def machine(self, X: Any, y: Any) -> SVC:
        """Not fitted yet."""
        if self.C:
            return SVC(C=self.C, gamma=self.gamma)
        grid = {"C": GRID_C, "gamma": [gamma / X.shape[1] for gamma in GRID_GAMMA]}
        return SVC(**GridSearchCV(SVC(), grid, cv=3).fit(X, y).best_params_)


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


def halves(X: Any, y: Any, train: int) -> Rows:
    """So many rows to train on, the others held out."""
    order = np.random.default_rng(0).permutation(len(y))
    return standard(X[order[:train]], y[order[:train]], X[order[train:]])


def generated(features: int, informative: int, train: int, apart: float) -> Rows:
    X, y = make_classification(
        train + HELD, features, n_informative=informative, n_redundant=features // 4, class_sep=apart,
        random_state=0,
    )  # fmt: skip
    return halves(X, y, train)


def forest_cover() -> Rows:
    """Cover types 1 and 2 of covtype."""
    found = load("covtype")
    chosen = np.flatnonzero(np.isin(found["y"], (1, 2)))
    chosen = np.random.default_rng(0).permutation(chosen)[: 1500 + HELD]
    return halves(dense(found["X"][chosen]), found["y"][chosen], 1500)


def wdbc() -> Rows:
    X, y = load_breast_cancer(return_X_y=True)
    return halves(X, y, 400)


def small(name: str, train: int) -> Rows:
    found = load(name)
    return halves(dense(found["X"]), np.asarray(found["y"]), train)


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
    Case("wdbc", wdbc),
    Case("ionosphere", lambda: small("ionosphere", 250)),
    Case("sonar", lambda: small("sonar", 150)),
    Case("covtype 1-2", forest_cover),
    Case("generated, 30", lambda: generated(30, 10, 1500, 1.0)),
    Case("generated, 40", lambda: generated(40, 20, 1500, 0.7)),
    Case("generated, 50", lambda: generated(50, 6, 1500, 1.0)),
    Case("generated, 60", lambda: generated(60, 30, 1000, 0.5)),
)
