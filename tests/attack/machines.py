"""Random SVMs to attack: easy and odd ones, by number, the same for the same number."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

Generator = np.random.Generator
KINDS = ("two", "two", "several", "rest", "one", "poly")
MOST_NUMBERS = 30_000  # rows times features: how long a case takes
MOST_STEPS = 20_000  # of training: a machine that has not converged is a machine too


@dataclass(frozen=True, eq=False)
class Machine:
    """A fitted model, rows it was fitted to, and what was drawn."""

    model: Any
    X: Any
    kind: str
    drawn: dict[str, Any]


def draw_machine(random: Generator) -> Machine:
    """The next machine that can be trained: LIBSVM overflows on some."""
    while True:
        try:
            return _draw(random)
        except ValueError:
            continue


def _draw(random: Generator) -> Machine:
    """Two to seven classes or one, 1 to 500 features, C to 1e6, gamma 1e-11 to 1e6, scaled or not."""
    kind = str(random.choice(KINDS))
    features = round(10 ** random.uniform(0, 2.7))
    rows = int(np.clip(MOST_NUMBERS // features, 40, round(10 ** random.uniform(1.6, 2.5))))
    classes = int(random.integers(3, 8)) if kind in ("several", "rest") else 2
    drawn: dict[str, Any] = {"features": features, "rows": rows, "classes": classes}
    X, y = _points(random, rows, features, classes, drawn)
    X = _repeated(random, X, drawn) if random.random() < 0.3 else X
    X = _unscaled(random, X, drawn) if random.random() < 0.4 else X
    scaled = bool(random.random() < 0.3)
    C = float(10 ** random.uniform(-1, 6))
    gamma = _gamma(random, StandardScaler().fit_transform(X) if scaled else X)
    drawn |= {"scaled": scaled, "C": C, "gamma": gamma}
    machine = _machine(random, kind, C, gamma, drawn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of machines that have not converged
        model = (make_pipeline(StandardScaler(), machine) if scaled else machine).fit(X, y)
    return Machine(model, X, kind, drawn)


def _points(
    random: Generator, rows: int, features: int, classes: int, drawn: dict[str, Any]
) -> tuple[Any, Any]:
    """Clouds that overlap, unbalanced or not, dense or mostly zeros; float32 numbers."""
    share = random.dirichlet(np.full(classes, 10 ** random.uniform(-0.3, 1)))
    y = np.concatenate([np.arange(classes).repeat(2), random.choice(classes, rows, p=share)])[:rows]
    apart = random.uniform(0.3, 3) / np.sqrt(features)
    X = random.normal(size=(rows, features)) + apart * 2 * random.normal(size=(classes, features))[y]
    drawn["sparse"] = features > 8 and random.random() < 0.25
    if drawn["sparse"]:
        X = np.where(random.random(X.shape) < random.uniform(0.02, 0.25), np.abs(X), 0.0)
    return X.astype(np.float32).astype(np.float64), y


def _repeated(random: Generator, X: Any, drawn: dict[str, Any]) -> Any:
    """Rows that occur twice, or nearly: of two classes, they make opposite pairs."""
    drawn["apart"] = float(random.choice([0.0, 1e-9, 1e-6, 1e-3]))
    half = len(X) // 2
    X = X.copy()
    X[half : 2 * half] = X[:half] + drawn["apart"] * random.normal(size=X[:half].shape)
    return X


def _unscaled(random: Generator, X: Any, drawn: dict[str, Any]) -> Any:
    """Features as measured: of sizes 1e-3 to 1e6, some far from zero beside their spread."""
    drawn["unscaled"] = spread = float(random.uniform(0, 4.5))
    sizes = 10 ** random.uniform(-3, 1, size=X.shape[1]) * 10**spread
    means = np.where(random.random(X.shape[1]) < 0.5, 10 ** random.uniform(0, 4, size=X.shape[1]), 0.0)
    return ((X + means) * sizes).astype(np.float32).astype(np.float64)


def _gamma(random: Generator, X: Any) -> float:
    """As libraries choose it, narrower, or anything."""
    usual = 1.0 / (X.shape[1] * X.var() or 1.0)
    if random.random() < 0.3:
        return float(10 ** random.uniform(-11, 6))
    return float(np.clip(usual * 10 ** random.uniform(-2, 4), 1e-11, 1e6))


def _machine(random: Generator, kind: str, C: float, gamma: float, drawn: dict[str, Any]) -> Any:
    if kind == "one":
        return OneClassSVM(nu=float(random.uniform(0.02, 0.7)), gamma=gamma, max_iter=MOST_STEPS)
    shape: dict[str, Any] = {}
    if kind == "poly":
        shape = {
            "kernel": "poly",
            "degree": int(random.integers(2, 5)),
            "coef0": float(random.choice([0, 1, 10])),
        }
        drawn |= shape
    machine = SVC(C=C, gamma=gamma, max_iter=MOST_STEPS, **shape)
    return OneVsRestClassifier(machine) if kind == "rest" else machine
