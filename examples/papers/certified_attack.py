"""Rows made to change labels of certified programs: ten million queries over many machines.

    SVMCOMPILE_DATA=FOLDER python examples/papers/certified_attack.py           10,000,000 rows
    python examples/papers/certified_attack.py --rows 20000                     so many per machine
    python examples/papers/certified_attack.py moons heart                      some machines
    ... --tune portable --fallback jets --memory 65536                          other options of the method

A tenth of the rows are bisected to where the label changes, to the last float32 bit; "near" counts rows
with a decision value below 1e-6. Labels are compared with those of the exact program in double, in C, which
is compared with scikit-learn on some rows of each kind in the same run (column "double"). "ties" are rows
whose value is within the rounding of the original's own sum in double, where the sign it gives is chance;
"other" counts those among them that scikit-learn labels otherwise.

Without SVMCOMPILE_DATA the sets that come with scikit-learn are used.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from anytime_attack import NEAR, Case, border, in_chunks, ordinary
from anytime_attack import cases as bundled
from common import table
from metric_tree import progress
from sklearn.datasets import load_breast_cancer, load_digits, make_circles
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc

ROWS = 520_000  # per machine
MOST_NUMBERS = 60_000_000  # of all rows of a machine: fewer rows where they are long
BORDER = 0.11  # share of them that are bisected
ONNX_SHARE = 10  # one row in so many
SOME = 4000  # rows that scikit-learn labels as well
HEAD = (
    "machine", "SVs", "emitted", "rows", "near", "ties", "other", "C host", "C portable", "ONNX", "double",
    "exact, C host",
)  # fmt: skip


def cases() -> Iterator[Case]:
    """Machines with one decision value."""
    for case in bundled():
        if "classes" not in case.name:
            yield case
    yield from polynomial()
    if "SVMCOMPILE_DATA" in os.environ:
        from certified_sets import CASES

        for one in CASES:
            X, y, _ = one.rows()
            yield Case(one.name, SVC(C=one.C, gamma=one.gamma).fit(X, y), X)


def polynomial() -> Iterator[Case]:
    """Polynomial kernels, beside the cubic one among the bundled machines."""
    X, y = make_circles(400, noise=0.15, factor=0.5, random_state=0)
    own = {"kernel": "poly", "coef0": 1.0}
    yield Case("circles, quadratic", SVC(degree=2, gamma=1.0, C=10.0, **own).fit(X, y), X)
    X, y = load_breast_cancer(return_X_y=True)
    quartic = make_pipeline(StandardScaler(), SVC(degree=4, gamma=0.02, **own))
    yield Case("breast cancer, quartic", quartic.fit(X, y), X)
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    X = X[chosen] / 16.0
    yield Case("digits 3-8, cubic", SVC(degree=3, gamma=0.03, **own).fit(X, y[chosen]), X)


@dataclass(frozen=True)
class Double:
    """The exact program in double, as a model that predicts."""

    loaded: Any
    model: Any

    def values(self, rows: Any) -> Any:
        return np.asarray(self.loaded.decision_function(rows.astype(np.float64)))

    def predict(self, rows: Any) -> Any:
        return self.loaded.predict(np.asarray(rows, dtype=np.float64))

    def rounding(self, rows: Any) -> Any:
        """What the original's sum may be off by in double."""
        machine, rows = self.model, rows.astype(np.float64)
        if hasattr(machine, "steps"):
            rows, machine = machine[:-1].transform(rows), machine[-1]
        terms, values = sum(machine.support_vectors_.shape) + 20, np.ones(len(rows))
        if machine.kernel == "poly":
            longest = np.linalg.norm(machine.support_vectors_, axis=1).max()
            values = machine._gamma * longest * np.linalg.norm(rows, axis=1) + abs(machine.coef0)
            terms, values = machine.degree * terms, values**machine.degree
        return np.abs(machine.dual_coef_).sum() * terms * 2.0**-53 * values


def built(folder: str, name: str, program: Any, target: str, profile: str, precision: str = "f32") -> Any:
    place = Path(folder) / name
    sc.write(sc.emit(program, target, "model", profile=profile, precision=precision), place)
    return sc.load(place, target=target)


def attacked(case: Case, count: int, options: dict[str, Any]) -> list[str]:
    """Labels that differ, by form."""
    count = min(count, MOST_NUMBERS // case.X.shape[1])
    program = sc.compile(case.model, method="certified", X=case.X, force=True, **options)
    exact, random = sc.compile(case.model), np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        double = Double(built(folder, "double", exact, "c", "host", "f64"), case.model)
        edge = border(double, case.X, int(BORDER * count), random)
        rows = np.concatenate([edge, ordinary(case.X, count - len(edge), random)])
        meant = in_chunks(double.predict, rows)
        sizes = np.abs(in_chunks(double.values, rows))
        near, ties = int((sizes < NEAR).sum()), sizes < in_chunks(double.rounding, rows)
        forms = [("host", program, "host"), ("portable", program, "portable"), ("exact", exact, "host")]
        wrong = [
            (in_chunks(built(folder, name, one, "c", profile).predict, rows) != meant) & ~ties
            for name, one, profile in forms
        ]
        graph = built(folder, "onnx", program, "onnx", "host")
        onnx = (in_chunks(graph.predict, rows[::ONNX_SHARE]) != meant[::ONNX_SHARE]) & ~ties[::ONNX_SHARE]
    some = np.r_[0 : min(SOME, len(edge)), len(edge) : min(len(edge) + SOME, len(rows))]
    original = case.model.predict(rows[some].astype(np.float64))
    of_ties = case.model.predict(rows[ties].astype(np.float64)) if ties.any() else meant[:0]
    found = [ties, of_ties != meant[ties], wrong[0], wrong[1], onnx]
    found += [(original != meant[some]) & ~ties[some], wrong[2]]
    told = (case.name, program.origin.n_support_vectors, program.origin.details["emitted"], len(rows), near)
    return [str(cell) for cell in (*told, *(int(one.sum()) for one in found))]


def lines(words: argparse.Namespace) -> Iterator[list[str]]:
    total = np.zeros(9, dtype=np.int64)
    options = {"tune": words.tune, "fallback": words.fallback, "max_bytes": words.memory}
    for case in cases():
        if words.machines and not any(word in case.name for word in words.machines):
            continue
        found = attacked(case, words.rows, options)
        total += np.array([int(cell) for cell in found[3:]])
        yield found
    yield ["all", "", "", *(str(number) for number in total)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("machines", nargs="*")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--tune", default="host")
    parser.add_argument("--fallback", default="auto")
    parser.add_argument("--memory", type=int, default=0)
    found = progress(lines(parser.parse_args()), lambda done: done)
    print(table("Labels changed", HEAD, found))


if __name__ == "__main__":
    main()
