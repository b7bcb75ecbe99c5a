"""Small SVMs and trees for the tests of the metric tree."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC, SVR, OneClassSVM

from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.metric_tree.build import PUBLISHED, Built, Form, Workbench
from svmcompile.accelerate.metric_tree.leaves import Judge, Sample
from svmcompile.read import read

KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.7},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.4, "coef0": 0.8},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.1, "coef0": 0.2},
}


def points(n: int, d: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=(n, d))


def machine(kernel: str = "rbf", classes: int = 2, n: int = 120, d: int = 3) -> tuple[Any, Any]:
    """An SVC and its rows: classes are rings about the origin, which no straight line parts."""
    X = points(n, d)
    ring = np.square(X).sum(axis=1)
    y = np.digitize(ring, np.quantile(ring, np.arange(1, classes) / classes))
    return SVC(**KERNELS[kernel], C=5).fit(X, y), X


def moons(n: int = 600, seed: int = 0) -> tuple[Any, Any, Any]:
    """An SVC on two moons, its rows, and rows to come."""
    X, y = make_moons(2 * n, noise=0.2, random_state=seed)
    return SVC(C=10, gamma=3).fit(X[:n], y[:n]), X[:n], X[n:]


def regressor() -> tuple[Any, Any]:
    X = points(400, 2)
    return SVR(C=10, gamma=0.5, epsilon=0.01).fit(X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2), X


def one_class() -> tuple[Any, Any]:
    X = points(1500, 2)
    return OneClassSVM(nu=0.2, gamma=0.5).fit(X), X


def bench(model: Any, **settings: Any) -> Workbench:
    given = {"ridge": 0.1, "max_depth": 0, "max_leaves": 0, "max_bytes": 0, "dtype": "f32"} | settings
    svm = read(model)
    return Workbench(Field(svm), Judge(svm, 0.0), **given)


def tree(model: Any, X: Any, form: Form = PUBLISHED, **settings: Any) -> tuple[Built, Sample]:
    shop = bench(model, **settings)
    sample = shop.sample(np.asarray(X, dtype=np.float64), form.split == "gradient-axis")
    return shop.build(form, sample), sample


def real_data(name: str) -> dict[str, Any]:
    """A set of the folder that SVMCOMPILE_DATA names."""
    folder = os.environ.get("SVMCOMPILE_DATA")
    if not folder or not (Path(folder) / f"{name}.npz").exists():
        pytest.skip(f"SVMCOMPILE_DATA names no folder with {name}.npz")
    sys.path.insert(0, folder)
    try:
        from load import load  # type: ignore[import-not-found]
    finally:
        sys.path.remove(folder)
    return dict(load(name))
