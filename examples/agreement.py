"""Over thirty models, 20,000 rows each: does every emitted form agree with the original library?

    python examples/agreement.py            the whole table
    python examples/agreement.py svc poly   models whose name contains one of the words

Each model is compiled to C and ONNX in both precisions and compared with the
library that trained it, on real rows, jittered copies and rows pushed onto the
decision boundary.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

import svmcompile as sc
from svmcompile.api import open_model
from svmcompile.verification.differential import Backend, Comparison, Report, compare

Array = NDArray[Any]
ROWS = 20_000
BOUNDARY_ROWS = 2_000
FORMS = (("host c", "c", "host"), ("portable c", "c", "portable"), ("onnx", "onnx", "host"))


@dataclass(frozen=True)
class Case:
    """A trained model (an estimator, or the path of a LIBSVM file) and the rows it was trained on."""

    model: Any
    X: Array


@cache
def data(name: str) -> tuple[Array, Array]:
    """A bundled set, features scaled to about unit size."""
    if name == "diabetes":
        X, y = datasets.load_diabetes(return_X_y=True)
        return X * 20, y / 100
    load = {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    }[name]
    X, y = load(return_X_y=True)
    return (X / 16 if name == "digits" else StandardScaler().fit_transform(X)), y


def trained(name: str, estimator: Any, labels: Any = None, sparse: bool = False) -> Callable[[], Case]:
    """A case that is fitted when it is asked for; `labels` renames the classes."""

    def fit() -> Case:
        from scipy.sparse import csr_matrix

        X, y = data(name)
        if name == "digits":
            X, y = X[:400], y[:400]
        y = y if labels is None else np.asarray(labels)[y]
        return Case(estimator.fit(csr_matrix(X) if sparse else X, y), X)

    return fit


def by_libsvm(name: str, options: str, labels: Any = None) -> Callable[[], Case]:
    """A case that LIBSVM itself trains and writes."""

    def fit() -> Case:
        from libsvm.svmutil import svm_save_model, svm_train

        X, y = data(name)
        y = y if labels is None else np.asarray(labels)[y]
        path = Path(tempfile.mkdtemp(prefix="svmcompile-")) / "libsvm.model"
        svm_save_model(str(path), svm_train(y, X, f"-q {options}"))
        return Case(path, X)

    return fit


WORDS = ["zero", "one", "two"]
MODELS: dict[str, Callable[[], Case]] = {
    "svc-rbf-2": trained("cancer", SVC()),
    "svc-rbf-2-negative-labels": trained("cancer", SVC(C=10, gamma=0.2), [-1, 1]),
    "svc-rbf-2-float-labels": trained("cancer", SVC(gamma=0.3), [-1.0, 2.0]),
    "svc-rbf-3-ovr-string-labels": trained("iris", SVC(C=10), WORDS),
    "svc-rbf-3-break-ties": trained("wine", SVC(break_ties=True)),
    "svc-rbf-3-ovo": trained("wine", SVC(decision_function_shape="ovo")),
    "svc-rbf-10-ovr": trained("digits", SVC()),
    "svc-rbf-10-ovo": trained("digits", SVC(decision_function_shape="ovo", gamma=0.5)),
    "svc-rbf-10-break-ties": trained("digits", SVC(break_ties=True, C=0.05)),
    "svc-rbf-3-sparse": trained("iris", SVC(gamma=2.0), sparse=True),
    "svc-linear-2": trained("cancer", SVC(kernel="linear")),
    "svc-linear-10": trained("digits", SVC(kernel="linear")),
    "svc-poly2-3": trained("wine", SVC(kernel="poly", degree=2, coef0=1)),
    "svc-poly3-2": trained("cancer", SVC(kernel="poly", coef0=0.5)),
    "svc-poly4-10": trained("digits", SVC(kernel="poly", degree=4, gamma=0.05, coef0=1)),
    "svc-sigmoid-2": trained("cancer", SVC(kernel="sigmoid", gamma=0.01)),
    "svc-sigmoid-3": trained("iris", SVC(kernel="sigmoid", gamma=0.1, coef0=0.2), WORDS),
    "nusvc-rbf-3": trained("iris", NuSVC(nu=0.3)),
    "nusvc-linear-10": trained("digits", NuSVC(nu=0.05, kernel="linear", decision_function_shape="ovo")),
    "linearsvc-2-string-labels": trained("cancer", LinearSVC(), ["benign", "malign"]),
    "linearsvc-10": trained("digits", LinearSVC(fit_intercept=False)),
    "svr-rbf": trained("diabetes", SVR(C=10)),
    "svr-poly2": trained("diabetes", SVR(kernel="poly", degree=2, coef0=1)),
    "nusvr-sigmoid": trained("diabetes", NuSVR(kernel="sigmoid", gamma=0.05)),
    "linearsvr": trained("diabetes", LinearSVR(C=10)),
    "oneclass-rbf": trained("wine", OneClassSVM(nu=0.2)),
    "oneclass-poly3": trained("iris", OneClassSVM(kernel="poly", nu=0.3, coef0=1)),
    "pipeline-standard-svc-3": trained("wine", make_pipeline(StandardScaler(), SVC())),
    "pipeline-minmax-clip-svc-2-bool": trained(
        "cancer", make_pipeline(MinMaxScaler(clip=True), SVC(C=10)), [False, True]
    ),
    "pipeline-scalers-linear-3": trained(
        "iris", make_pipeline(MinMaxScaler(), StandardScaler(), SVC(kernel="linear"))
    ),
    "libsvm-csvc-rbf-2": by_libsvm("cancer", "-s 0 -t 2 -c 2", [7, -3]),
    "libsvm-csvc-rbf-3": by_libsvm("wine", "-s 0 -t 2 -b 1"),
    "libsvm-csvc-linear-10": by_libsvm("digits", "-s 0 -t 0 -c 0.1"),
    "libsvm-nusvc-poly-3": by_libsvm("iris", "-s 1 -t 1 -n 0.2 -r 1"),
    "libsvm-oneclass-rbf": by_libsvm("iris", "-s 2 -t 2 -n 0.2"),
    "libsvm-epssvr-rbf": by_libsvm("diabetes", "-s 3 -t 2"),
    "libsvm-nusvr-sigmoid": by_libsvm("diabetes", "-s 4 -t 3 -g 0.01"),
}


def rows_for(case: Case, program: sc.Program, count: int = ROWS) -> Array:
    """Real rows, jittered copies, and rows on the boundary between two labels; float32 numbers."""
    generator = np.random.default_rng(0)
    spread = np.nanstd(case.X, axis=0)
    picks = generator.integers(len(case.X), size=count - len(case.X))
    jittered = case.X[picks] + generator.normal(size=(len(picks), case.X.shape[1])) * spread * 0.3
    rows = np.concatenate([case.X, jittered])
    if program.labels is not None:
        near = on_boundary(program, rows, generator)
        rows[-len(near) :] = near
    return np.asarray(rows.astype(np.float32).astype(np.float64))


def on_boundary(program: sc.Program, rows: Array, generator: np.random.Generator) -> Array:
    """Points where the label changes on the way from one row to another, to a millionth of the way."""
    labels = program.predict(rows)
    start = generator.permutation(len(rows))
    end = np.roll(start, 1)
    apart = np.flatnonzero(labels[start] != labels[end])[:BOUNDARY_ROWS]
    a, b, own = rows[start[apart]], rows[end[apart]], labels[start[apart]]
    low: Array = np.zeros(len(apart))
    high: Array = np.ones(len(apart))
    for _ in range(20):
        middle = (low + high) / 2
        same = program.predict(a + middle[:, None] * (b - a)) == own
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.asarray(a + low[:, None] * (b - a))


def compare_case(case: Case, folder: Path, count: int = ROWS) -> Report:
    """The interpreter, C in both profiles and ONNX, in both precisions, all on the same rows."""
    program = sc.compile(case.model)
    backends = [Backend("interpreter", "f64", program)]
    for precision in ("f64", "f32"):
        for form, target, profile in FORMS:
            place = folder / f"{form}-{precision}"
            sc.write(sc.emit(program, target, "model", precision, profile), place)
            runner = sc.load(place)
            backends.append(Backend(form, runner.precision, runner))
    original = open_model(case.model).reference()
    rows = rows_for(case, program, count)
    return compare("model", program, original, backends, rows)


class Totals:
    """All models together, form by form."""

    def __init__(self) -> None:
        self._of: dict[str, list[Comparison]] = {}

    def add(self, one: Comparison) -> None:
        self._of.setdefault(f"{one.backend} {one.precision}", []).append(one)

    def lines(self) -> list[str]:
        """A table for documents."""
        found = [
            "| form | models | rows | labels differ | beyond rounding | worst error of its bound |",
            "|---|---|---|---|---|---|",
        ]
        for form, ones in self._of.items():
            rows, differ = (
                sum(getattr(one, name) for one in ones) for name in ("rows", "labels_differing")
            )
            beyond = sum(one.labels_differing_beyond_rounding for one in ones)
            worst = max(one.max_error_over_bound or 0.0 for one in ones)
            found.append(f"| {form} | {len(ones)} | {rows:,} | {differ:,} | {beyond} | {worst:.2f} |")
        return found


def print_table(models: dict[str, Callable[[], Case]], words: list[str], rows: int) -> int:
    """Print one line per model and form; returns how many claims are broken."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{rows} rows per model; 'near ties': rows whose label rounding may change")
    for column in ("model", "form", "labels differ", "near ties", "worst error", "of its bound"):
        table.add_column(column, justify="left" if column in ("model", "form") else "right")
    broken, totals = 0, Totals()
    for name, make in models.items():
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            report = compare_case(make(), Path(folder), rows)
        broken += not report.ok
        for one in report.comparisons:
            totals.add(one)
            table.add_row(
                name,
                f"{one.backend} {one.precision}",
                str(one.labels_differing),
                str(one.rows_within_rounding),
                f"{one.max_decision_error:.2g}",
                f"{one.max_error_over_bound:.2g}",
            )
        print(f"{name}: done", file=sys.stderr)
    Console(width=110).print(table)
    print("\n".join(totals.lines()))
    print(f"broken claims: {broken}")
    return broken


def main(words: list[str]) -> int:
    return print_table(MODELS, words, ROWS)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
