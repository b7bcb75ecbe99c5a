"""Rows made to change labels: 1.4 million queries over fourteen machines, a tenth of them on the border.

    python examples/papers/anytime_attack.py              100,000 rows per machine, the C and ONNX forms
    python examples/papers/anytime_attack.py 10000        so many rows per machine
    python examples/papers/anytime_attack.py iris wine    some machines

Rows are float32 numbers. Border rows are bisected between rows of different labels until two
neighbouring float32 rows are left; "near" counts those whose decision value (of the nearest pair)
is below 1e-6. The original is scikit-learn in double on the same rows; with a precomputed kernel, on
the same float32 kernel values. The last column is the exact method in float32, whose rounding may decide
such rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from common import read_words, table
from metric_tree import progress
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_circles, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, OneClassSVM

import svmcompile as sc

ROWS = 100_000  # per machine
BORDER = 0.12  # share of them that are bisected; not all get below `NEAR`
NEAR = 1e-6
CHUNK = 20_000


@dataclass(frozen=True)
class Case:
    """A trained machine and rows like those it was trained on."""

    name: str
    model: Any
    X: Any
    options: dict[str, Any] = field(default_factory=dict)
    kernel: Callable[[Any, Any], Any] | None = None  # of a model that takes its values

    def given(self, rows: Any) -> Any:
        """Float32 rows as the model takes them."""
        rows = np.asarray(rows, dtype=np.float64)
        return (
            rows if self.kernel is None else self.kernel(rows, self.X).astype(np.float32).astype(np.float64)
        )

    def predict(self, rows: Any) -> Any:
        return self.model.predict(self.given(rows))


def cases() -> Iterator[Case]:
    X, y = make_moons(400, noise=0.25, random_state=0)
    yield Case("moons", SVC(C=2.0, gamma=1.0).fit(X, y), X)
    far = X * 3 + np.array([500.0, -300.0])
    yield Case("moons, far off", SVC(C=10.0, gamma=0.2).fit(far, y), far)
    X, y = make_circles(400, noise=0.15, factor=0.5, random_state=0)
    yield Case("circles, large C", SVC(C=1000.0, gamma=2.0).fit(X, y), X)
    X, y = load_breast_cancer(return_X_y=True)
    yield Case("breast cancer", make_pipeline(StandardScaler(), SVC(C=3.0, gamma=0.02)).fit(X, y), X)
    poly = SVC(kernel="poly", degree=3, coef0=1.0, gamma=0.02)
    yield Case("breast cancer, cubic", make_pipeline(StandardScaler(), poly).fit(X, y), X)
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    for pair in ((3, 8), (0, 1)):
        chosen = np.isin(y, pair)
        model = SVC(C=5.0, gamma=0.03).fit(X[chosen], y[chosen])
        yield Case(f"digits {pair[0]}-{pair[1]}", model, X[chosen])
    yield Case("digits, one class", OneClassSVM(nu=0.2, gamma=0.05).fit(X[y == 3]), X[y == 3])
    X, y = load_wine(return_X_y=True)
    yield Case("wine, 3 classes", make_pipeline(StandardScaler(), SVC(gamma=0.05)).fit(X, y), X)
    X, y = load_iris(return_X_y=True)
    yield Case("iris, 3 classes", SVC(C=10.0).fit(X, y), X)
    yield from other_cases()


def other_cases() -> Iterator[Case]:
    """Points anywhere in space, and kernels that only a caller knows."""
    X, y = make_moons(400, noise=0.25, random_state=0)
    placed = {"ordering": "hybrid", "free": 8}
    yield Case("moons, free points", SVC(C=2.0, gamma=1.0).fit(X, y), X, placed)
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(C=3.0, gamma=0.02)).fit(X, y)
    yield Case("breast cancer, free points", model, X, placed)
    X, y = make_moons(200, noise=0.25, random_state=0)
    narrow, wide = (partial(rbf_kernel, gamma=gamma) for gamma in (1.0, 0.03))
    yield Case("moons, precomputed", SVC(kernel="precomputed").fit(narrow(X, X), y), X, {}, narrow)
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    yield Case("wine, precomputed", SVC(kernel="precomputed").fit(wide(X, X), y), X, {}, wide)


def values(model: Any, rows: Any) -> Any:
    """The decision value nearest to zero."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "decision_function_shape"):
        last.decision_function_shape = "ovo"
    found = model.decision_function(rows)
    return np.abs(found).reshape(len(rows), -1).min(axis=1)


def ordinary(X: Any, count: int, random: np.random.Generator) -> Any:
    """Rows given, between two of them and beyond, with noise, and far out."""
    first, second = (X[random.integers(len(X), size=count)] for _ in range(2))
    along = random.uniform(-0.5, 1.5, size=(count, 1))
    noise = random.normal(size=first.shape) * X.std(axis=0) * 10.0 ** random.uniform(-3, 1, size=(count, 1))
    return (first + along * (second - first) + noise).astype(np.float32)


def border(model: Any, X: Any, count: int, random: np.random.Generator) -> Any:
    """Rows where the label changes, to the last float32 bit."""
    low, high = (ordinary(X, 4 * count, random) for _ in range(2))
    own, other = model.predict(low), model.predict(high)
    differ = np.flatnonzero(own != other)[:count]
    low, high, own = low[differ], high[differ], own[differ]
    for _ in range(40):
        middle = ((low.astype(np.float64) + high) / 2).astype(np.float32)
        same = model.predict(middle.astype(np.float64)) == own
        low, high = np.where(same[:, None], middle, low), np.where(same[:, None], high, middle)
    return np.concatenate([low[::2], high[1::2]])


def rows_of(case: Case, count: int) -> Any:
    random = np.random.default_rng(0)
    edge = border(case, case.X, int(BORDER * count), random)
    return np.concatenate([edge, ordinary(case.X, count - len(edge), random)])


def in_chunks(predict: Callable[[Any], Any], rows: Any) -> Any:
    return np.concatenate([predict(rows[at : at + CHUNK]) for at in range(0, len(rows), CHUNK)])


def attacked(case: Case, count: int) -> list[str]:
    """Labels that differ from the original's, by form."""
    rows = rows_of(case, count)
    meant = in_chunks(case.predict, rows)
    near = in_chunks(lambda part: values(case.model, case.given(part)) < NEAR, rows)
    program = sc.compile(case.model, method="anytime", X=case.given(case.X), force=True, **case.options)
    exact = sc.compile(case.model)
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name, one, target, profile in (
            ("host", program, "c", "host"),
            ("portable", program, "c", "portable"),
            ("onnx", program, "onnx", "host"),
            ("exact", exact, "c", "host"),
        ):
            place = Path(folder) / name
            sc.write(sc.emit(one, target, "model", profile=profile), place)
            parts = (case.given(rows[at : at + CHUNK]) for at in range(0, len(rows), CHUNK))
            labels = np.concatenate([*map(sc.load(place, target=target).predict, parts)])
            found.append(f"{int((labels != meant).sum())}")
    return [case.name, f"{program.origin.n_support_vectors}", f"{len(rows)}", f"{int(near.sum())}", *found]


HEAD = ("machine", "SVs", "rows", "near", "C host", "C portable", "ONNX", "exact, C host")


def lines(count: int, words: list[str]) -> Iterator[list[str]]:
    total = np.zeros(6, dtype=np.int64)
    for case in cases():
        if words and not any(word in case.name for word in words):
            continue
        line = attacked(case, count)
        total += [int(cell) for cell in line[2:]]
        yield line
    yield ["all", "", *(f"{number}" for number in total)]


if __name__ == "__main__":
    words = read_words(__doc__, dict.fromkeys(case.name for case in cases()), numbers=True)
    numbers = [int(word) for word in words if word.isdecimal()]
    names = [word for word in words if not word.isdecimal()]
    found = progress(lines(numbers[0] if numbers else ROWS, names), lambda done: done)
    print(table("Labels changed in float32", HEAD, found))
