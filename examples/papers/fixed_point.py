"""Fixed point beside the original: labels that differ, stated and largest error, bytes of tables.

    SVMCOMPILE_DATA=FOLDER python examples/papers/fixed_point.py [NAME ...]

Scales and ranges come of the rows trained on; labels and errors are those of other rows. A row beyond the
range of the others is compared as it counts: with its features held within their range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common import Split, read_words, split, table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc

TEST_ROWS = 4000


def digits_pair() -> tuple[Any, Split]:
    """The model of docs/fixed-point.md: 1 against 8, pixels from 0 to 1."""
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True)
    kept = (y == 1) | (y == 8)
    X, X_test, y, y_test = train_test_split(X[kept] / 16, y[kept], test_size=0.4, random_state=0)
    return SVC(C=1, gamma=0.03).fit(X, y), Split(X, y, X_test, y_test)


def digits() -> tuple[Any, Split]:
    X, y = load_digits(return_X_y=True)
    data = halves(X, y)
    return SVC(C=10, gamma=0.001).fit(data.X, data.y), data


def breast_cancer() -> tuple[Any, Split]:
    X, y = load_breast_cancer(return_X_y=True)
    data = halves(X, y)
    return make_pipeline(StandardScaler(), SVC(C=10, gamma=0.02)).fit(data.X, data.y), data


def halves(X: Any, y: Any) -> Split:
    order = np.random.default_rng(0).permutation(len(y))
    half = len(y) // 2
    return Split(X[order[:half]], y[order[:half]], X[order[half:]], y[order[half:]])


def stored(name: str, model: Any, train: int = 0, **options: Any) -> Callable[[], tuple[Any, Split]]:
    """A set of the folder, and a model trained on it."""

    def made() -> tuple[Any, Split]:
        data = split(name, train, TEST_ROWS, **options)
        return model.fit(data.X, data.y), data

    return made


def pair(name: str, first: Any, second: Any, model: Any, train: int, factor: float) -> Any:
    """Two classes of a set."""

    def made() -> tuple[Any, Split]:
        data = split(name)
        own, others = (np.isin(y, (first, second)) for y in (data.y, data.y_test))
        X, y = data.X[own][:train] * factor, data.y[own][:train]
        data = Split(X, y, data.X_test[others][:TEST_ROWS] * factor, data.y_test[others][:TEST_ROWS])
        return model.fit(data.X, data.y), data

    return made


MODELS: dict[str, Callable[[], tuple[Any, Split]]] = {
    "digits 1-8": digits_pair,
    "digits": digits,
    "breast cancer": breast_cancer,
    "pendigits": stored("pendigits", SVC(C=10, gamma=2.0), 3000, scale=True),
    "letter H-K": pair("letter", 8, 11, SVC(C=10, gamma=0.1), 2000, 0.2),
    "letter": stored("letter", SVC(C=10, gamma=1.0), 3000, scale=True),
    "sonar": stored("sonar", SVC(C=10, gamma=0.2), scale=True),
    "ionosphere": stored("ionosphere", SVC(C=10, gamma=0.1)),
    "mnist 3-8": pair("mnist", 3, 8, SVC(C=10, gamma=0.02), 2000, 1 / 255),
    "waveform": stored("ida_waveform", SVC(C=1, gamma=0.05), 1000),
    "waveform, poly": stored(
        "ida_waveform", SVC(kernel="poly", degree=3, C=1, gamma=0.05, coef0=1.0), 1000, scale=True
    ),
    "waveform, sigmoid": stored(
        "ida_waveform", SVC(kernel="sigmoid", C=1, gamma=0.01, coef0=-0.5), 1000, scale=True
    ),
    "waveform, linear": stored("ida_waveform", SVC(kernel="linear", C=1), 1000),
}


def line(name: str) -> list[Any]:
    """One model in both precisions."""
    model, data = MODELS[name]()
    program = sc.compile(model, X=data.X)
    cells: list[Any] = [name, program.origin.n_support_vectors, len(data.X_test)]
    for precision in ("q15", "q7"):
        cells += figures(program, sc.quantise(program, precision, data.X), data)
    return cells


def figures(program: sc.Program, fixed: sc.Program, data: Split) -> list[str]:
    """Share of other labels, stated error, largest error, kilobytes of tables."""
    stated = fixed.origin.details["fixed"]
    rows = data.X_test.astype(np.float32).astype(np.float64)
    counted = np.clip(rows, stated["low"], stated["high"])
    differ = float((fixed.predict(rows) != program.predict(rows)).mean())
    error = np.abs(sums(fixed, rows) - sums(program, counted)).max()
    return [
        f"{100 * differ:.2f} %", f"{stated['error']:.2g}", f"{error:.2g}",
        f"{fixed.cost().table_bytes / 1000:.1f}",
    ]  # fmt: skip


def sums(program: sc.Program, rows: Any) -> Any:
    """The sums behind the scores, which the stated error is about."""
    from svmcompile.ir.interpret import interpret_values
    from svmcompile.ir.nodes import OvrScores

    scores = program.output("scores")
    node = next(node for node in program.body if node.out == scores)
    value = node.pairs if isinstance(node, OvrScores) else scores
    return interpret_values(program, rows, {str(value)})[str(value)]


def main() -> None:
    head = ["model", "vectors", "rows"]
    for precision in ("q15", "q7"):
        head += [f"{precision} differ", "stated error", "largest", "KB"]
    chosen = read_words(__doc__, MODELS) or list(MODELS)
    print(table("Fixed point beside the original", head, (line(name) for name in chosen)))


if __name__ == "__main__":
    main()
