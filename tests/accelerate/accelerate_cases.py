"""Small trained SVMs and the data behind them, for the tests of methods."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from svmcompile.model.svm import SVM
from svmcompile.read import read


@cache
def moons() -> tuple[Any, Any, Any]:
    """Rows of two classes, their labels and an RBF machine behind a scaler."""
    X, y = make_moons(400, noise=0.25, random_state=0)
    X = X * [3.0, 0.5] + [10.0, -2.0]
    return X, y, make_pipeline(StandardScaler(), SVC(C=2.0, gamma=1.0)).fit(X, y)


@cache
def digits() -> tuple[Any, Any, Any]:
    """Rows of ten classes, their labels and an RBF machine."""
    X, y = load_digits(return_X_y=True)
    X = X[:900] / 16.0
    return X, y[:900], SVC(C=5.0, gamma=0.05).fit(X[:600], y[:600])


@cache
def wave() -> tuple[Any, Any, Any]:
    """A regression of one feature."""
    X = np.linspace(-3.0, 3.0, 200)[:, None]
    y = np.sin(2 * X[:, 0])
    return X, y, SVR(C=10.0, gamma=1.0, epsilon=0.01).fit(X, y)


def svm_of(model: Any) -> SVM:
    return read(model)
