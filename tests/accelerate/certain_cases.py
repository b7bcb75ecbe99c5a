"""Machines whose labels float32 rounds to others, and float32 rows on and next to their boundary."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM

STEPS = 60  # halvings: more than float32 has digits
NEAR = (1e-7, 1e-6, 1e-5)  # of the way between two rows, on either side of the boundary
KERNELS = {
    "rbf": {},
    "poly": {"kernel": "poly", "degree": 3, "coef0": 1.0},
    "square": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01},
    "linear": {"kernel": "linear"},
}


def _rows(classes: int) -> tuple[Any, Any]:
    X, y = make_classification(
        250, 9, n_informative=6, n_redundant=0, n_classes=classes, n_clusters_per_class=1, random_state=0
    )
    return X.astype(np.float32).astype(np.float64), y


def _zeros() -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    X = np.zeros((250, 300))
    X[np.arange(250)[:, None], random.integers(300, size=(250, 20))] = random.random((250, 20))
    X = X.astype(np.float32).astype(np.float64)
    return X, (X[:, :150].sum(axis=1) > X[:, 150:].sum(axis=1)) + 0


@cache
def machine(kind: str, classes: int = 2) -> tuple[Any, Any]:
    """Rows and a machine of that kind."""
    X, y = _zeros() if kind.startswith("zeros") else _rows(max(classes, 2))
    if kind in KERNELS:
        return X, SVC(C=5.0, **KERNELS[kind]).fit(X, y)
    if kind == "scaled":
        return 50 * X + 1000, make_pipeline(StandardScaler(), SVC(C=5.0)).fit(50 * X + 1000, y)
    if kind == "scaled-poly":
        own = make_pipeline(StandardScaler(), SVC(C=5.0, kernel="poly", coef0=1.0))
        return 50 * X + 1000, own.fit(50 * X + 1000, y)
    models = {
        "normalised": make_pipeline(Normalizer(), SVC(C=5.0)),  # whose rounding has no bound
        "ties": SVC(C=5.0, break_ties=True),
        "rest": OneVsRestClassifier(SVC(C=5.0, gamma=0.1)),
        "linear-svc": LinearSVC(C=5.0),
        "nu": NuSVC(nu=0.2),
        "one-class": OneClassSVM(nu=0.2, gamma=0.1),
        "zeros": SVC(C=5.0, gamma=0.3),
        "zeros-poly": SVC(C=5.0, gamma=0.3, kernel="poly", coef0=1.0),
    }
    return X, models[kind].fit(X, y)


def boundary_rows(model: Any, X: Any, count: int = 150) -> Any:
    """Float32 rows that differ in a last digit and in their label, and others close to them."""
    random = np.random.default_rng(0)
    first, second = (X[random.integers(len(X), size=count)] for _ in range(2))
    labels = model.predict(first)
    differ = labels != model.predict(second)
    first, second, labels = first[differ], second[differ], labels[differ]
    low, high = np.zeros(len(first)), np.ones(len(first))

    def at(share: Any) -> Any:
        return (first + (second - first) * share[:, None]).astype(np.float32).astype(np.float64)

    for _ in range(STEPS):
        middle = (low + high) / 2
        same = model.predict(at(middle)) == labels
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.concatenate([at(low), at(high), *(at(low + step) for near in NEAR for step in (-near, near))])
