"""Rows that the cases train on: few, so that every case is quick, and of every kind."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, make_moons

Rows = Any


@cache
def iris() -> tuple[Rows, Rows]:
    return load_iris(return_X_y=True)


@cache
def tagged() -> tuple[Rows, Rows]:
    """Irises with three tags each."""
    X, y = iris()
    return X, np.stack([y > 0, X[:, 0] > 6, X[:, 1] > 3], axis=1).astype(int)


@cache
def named() -> tuple[Rows, Rows]:
    """Irises with two names each, of classes of their own."""
    X, y = iris()
    return X, np.stack([np.array(["a", "b", "c"])[y], np.where(X[:, 1] > 3, "wide", "narrow")], axis=1)


@cache
def cancer() -> tuple[Rows, Rows]:
    return load_breast_cancer(return_X_y=True)


@cache
def moons() -> tuple[Rows, Rows]:
    return make_moons(500, noise=0.25, random_state=0)


@cache
def few_moons() -> tuple[Rows, Rows]:
    return make_moons(30, noise=0.25, random_state=0)


@cache
def digits() -> tuple[Rows, Rows]:
    X, y = load_digits(return_X_y=True)
    return X[:700] / 16.0, y[:700]


@cache
def three_digits() -> tuple[Rows, Rows]:
    X, y = digits()
    some = y < 3
    return X[some], y[some]


@cache
def texts() -> tuple[Rows, Rows]:
    words = ("red green blue", "Ένας δύο τρεις", "north and south")
    return [f"{words[at % 3]} {at}" for at in range(30)], [at % 3 for at in range(30)]


@cache
def diabetes() -> tuple[Rows, Rows]:
    X, y = load_diabetes(return_X_y=True)
    return X[:200] * 20, y[:200] / 100


@cache
def zeros() -> tuple[Rows, Rows]:
    """Rows of 200 features, nearly all of them zero; four classes."""
    generator = np.random.default_rng(3)
    X = generator.normal(size=(300, 200)) * (generator.random((300, 200)) < 0.04)
    return X, np.argmax(X @ generator.normal(size=(200, 4)), axis=1)


@cache
def two_zeros() -> tuple[Rows, Rows]:
    X, y = zeros()
    return X, (y > 1).astype(int)


@cache
def text() -> tuple[Rows, Rows]:
    """Compressed rows of 60,000 features, so wide that vectors stay sparse; three classes."""
    generator = np.random.default_rng(6)
    columns = np.sort(generator.choice(3000, size=(150, 12)) * 20 + np.arange(12), axis=1)
    values = generator.random(columns.shape)
    starts = np.arange(0, columns.size + 1, 12)
    X = csr_matrix((values.ravel(), columns.ravel(), starts), shape=(150, 60_000))
    return X, np.digitize(X @ generator.normal(size=60_000), [-0.5, 0.5])


@cache
def gaps() -> tuple[Rows, Rows]:
    """Iris with values missing."""
    X, y = iris()
    missing = np.random.default_rng(4).random(X.shape) < 0.1
    return np.where(missing, np.nan, X), y


@cache
def goods() -> tuple[Rows, Rows]:
    """Two columns of text, one with gaps, and two of numbers; three classes."""
    generator = np.random.default_rng(8)
    X = np.empty((150, 4), dtype=object)
    X[:, 0] = generator.choice(["red", 'q"uote', "*/ é", "??/"], 150)
    X[:, 1] = generator.choice(["s", "m", None], 150)
    X[:, 2:] = generator.normal(size=(150, 2))
    y = np.digitize(X[:, 2].astype(float) + (X[:, 0] == "red") - (X[:, 1] == "s"), [-0.5, 0.5])
    return X, y


@cache
def zeros_above() -> tuple[Rows, Rows]:
    """Rows of 300 features above zero, one in twenty of them, with two classes one can tell apart."""
    generator = np.random.default_rng(5)
    X = generator.random((600, 300)) * (generator.random((600, 300)) < 0.05)
    return X, (X @ generator.normal(size=300) > 0).astype(int)


@cache
def whole_digits() -> tuple[Rows, Rows]:
    return (digits()[0] * 16).round(), digits()[1]


@cache
def products() -> tuple[Rows, Rows]:
    return iris()[0] @ iris()[0].T, iris()[1]
