"""anytime for kernels that only the caller knows: labels, what is asked for, matrices that are refused."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine, make_moons
from sklearn.svm import SVC, SVR, OneClassSVM

import svmcompile as sc
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.kernel import Kernel
from svmcompile.runtime.toolchain import find_compiler

MOONS = make_moons(160, noise=0.25, random_state=0)
WINE = load_wine(return_X_y=True)
WINE = ((WINE[0] - WINE[0].mean(axis=0)) / WINE[0].std(axis=0), WINE[1])
SMOOTH = Kernel("rbf", gamma=0.3)
POLY = Kernel("poly", gamma=0.3, coef0=1.0, degree=3)
CASES: dict[str, tuple[Any, Kernel, Any]] = {
    "two classes": (MOONS, SMOOTH, SVC(kernel="precomputed", C=5.0)),
    "own asked for": (MOONS, POLY, SVC(kernel="precomputed", C=0.5)),
    "three classes": (WINE, Kernel("rbf", gamma=0.03), SVC(kernel="precomputed", C=5.0)),
    "one class": ((MOONS[0], None), SMOOTH, OneClassSVM(kernel="precomputed", nu=0.3)),
}


def fitted(case: str) -> tuple[Any, Any, Kernel, Any]:
    """Model, its training points, the kernel and the matrix."""
    (X, y), kernel, estimator = CASES[case]
    gram = kernel.values(X, X)
    return estimator.fit(gram, y), X, kernel, gram


def near_border(model: Any, kernel: Kernel, X: Any, count: int) -> Any:
    """Points bisected between two labels, to the last bits of a double."""
    random = np.random.default_rng(1)
    pool = random.normal(size=(40 * count, X.shape[1])) * X.std(axis=0) * 1.5 + X.mean(axis=0)
    labels = model.predict(kernel.values(pool, X))
    start, end = pool[: len(pool) // 2], pool[len(pool) // 2 :]
    differ = np.flatnonzero(labels[: len(start)] != labels[len(start) :])[:count]
    low, high, own = start[differ], end[differ], labels[differ]
    for _ in range(55):
        middle = (low + high) / 2
        same = (model.predict(kernel.values(middle, X)) == own)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.concatenate([low, pool[:200]])


MAIN = r"""
#include <stdio.h>
#include "own.h"
#define WIDTH (OWN_N_FEATURES + 1)

static int asked;

/* The query is a row of values; what it is to itself stands at its end. */
static REAL look_up(const void *query, int vector_index)
{
    asked++;
    return ((const REAL *)query)[vector_index < 0 ? WIDTH - 1 : vector_index];
}

int main(void)
{
    REAL row[WIDTH];
    while (fread(row, sizeof *row, WIDTH, stdin) == WIDTH) {
        asked = 0;
        printf("%d ", own_predict_with(look_up, row));
        printf("%d\n", asked);
    }
    return 0;
}
"""


def ask(program: Any, rows: Any, own: Any, precision: str, profile: str, folder: Path) -> Any:
    """Indices of labels, and how often the kernel was asked, from C that calls back."""
    sc.write(sc.emit(program, "c", "own", precision=precision, profile=profile), folder)
    (folder / "main.c").write_text(MAIN)
    real, kind = ("float", np.float32) if precision == "f32" else ("double", np.float64)
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-Wdouble-promotion", f"-DREAL={real}"]
    command = [*find_compiler(), *flags, "main.c", "own.c", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    data = np.column_stack([rows, own]).astype(kind).tobytes()
    done = subprocess.run([str(folder / "main")], input=data, capture_output=True, check=True)
    return np.array([line.split() for line in done.stdout.splitlines()], dtype=int).T


@pytest.mark.compile
@pytest.mark.parametrize(
    ("case", "precision", "profile"),
    [
        ("two classes", "f32", "portable"),
        ("two classes", "f64", "host"),
        ("own asked for", "f32", "host"),
        ("three classes", "f32", "portable"),
        ("one class", "f64", "portable"),
    ],
)
def test_no_label_changes_at_the_border(case: str, precision: str, profile: str, tmp_path: Path) -> None:
    model, X, kernel, gram = fitted(case)
    program = sc.compile(model, method="anytime", X=gram, force=True)
    assert program.origin.claim is sc.Claim.SAME_LABEL
    points = near_border(model, kernel, X, 2500)
    rows = nearest_float32(kernel.values(points, X))
    own = np.array([kernel.values(one[None], one[None])[0, 0] for one in points])
    expected = np.searchsorted(np.sort(np.unique(model.predict(gram))), model.predict(rows))
    labels, asked = ask(program, rows, own, precision, profile, tmp_path)
    assert (labels == expected).all()
    assert asked[-200:].mean() < 0.8 * len(model.support_)
    assert (program.predict(rows) == model.predict(rows)).all()
    runner = sc.load(tmp_path)
    assert (runner.predict(rows) == model.predict(rows)).all()
    assert runner.self_test() == 0


def test_onnx_takes_whole_rows_and_gives_the_same_labels(tmp_path: Path) -> None:
    model, _, _, gram = fitted("two classes")
    program = sc.compile(model, method="anytime", X=gram, force=True)
    sc.write(sc.emit(program, "onnx", "own"), tmp_path)
    assert (sc.load(tmp_path, target="onnx").predict(gram) == model.predict(gram)).all()


def test_values_of_a_regressor_are_within_the_tolerance() -> None:
    X, _ = MOONS
    gram = SMOOTH.values(X, X)
    model = SVR(kernel="precomputed").fit(gram, X[:, 0])
    program = sc.compile(model, method="anytime", X=gram, tolerance=0.01, force=True)
    rows = SMOOTH.values(X + 0.05, X)
    assert np.abs(program.predict(rows) - model.predict(rows)).max() <= 0.0101
    assert program.cost(rows).mean_kernel_evaluations < len(model.support_)


def test_rows_that_no_kernel_gives_meet_every_vector() -> None:
    model, X, kernel, gram = fitted("two classes")
    program = sc.compile(model, method="anytime", X=gram, force=True)
    first = int(program.tables[next(node for node in program.body if node.has_stages).vectors][0, 0])
    rows = 5 * kernel.values(X + 0.1, X)
    rows = rows[rows[:, first] > 1]  # more than k(x, x) = 1 allows
    assert len(rows) > 20
    assert (program.predict(rows) == model.predict(rows)).all()
    assert program.cost(rows).mean_kernel_evaluations >= len(model.support_)


def test_only_values_that_are_asked_for_can_spoil_a_row(tmp_path: Path) -> None:
    model, _, _, gram = fitted("two classes")
    program = sc.compile(model, method="anytime", X=gram, force=True)
    stops = program.trace(gram)
    rows = gram.copy()
    rows[:, np.setdiff1d(np.arange(len(gram)), model.support_)] = np.nan
    sc.write(sc.emit(program, "c", "own", precision="f64"), tmp_path)
    answers = (program.predict, partial(sc.load(tmp_path).predict, allow_nan=True))
    for predict in answers:
        assert (predict(rows) == model.predict(gram)).all()
    order = program.tables[next(node for node in program.body if node.has_stages).vectors][:, 0].astype(int)
    last = rows.copy()
    last[:, order[-1]] = np.inf  # which is asked for last
    early = stops.stop < len(stops.ends) - 1
    assert early.any()
    for predict in answers:
        assert (predict(last)[early] == model.predict(gram)[early]).all()


def shuffled(gram: Any) -> Any:
    order = np.random.default_rng(0).permutation(len(gram))
    return gram[np.ix_(order, order)]


def indefinite(gram: Any) -> Any:
    return gram - 0.01 * np.eye(len(gram))


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (lambda gram: None, {}, "160 training points with each other.*there are 0 rows"),
        (lambda gram: gram[:80], {}, "there are 80 rows"),
        (lambda gram: gram + np.triu(gram) / 50, {}, "not symmetric"),
        (lambda gram: np.where(np.eye(160) > 0, np.nan, gram), {}, "row 0, column 0 .* finite"),
        (shuffled, {}, "decision value of"),
        (indefinite, {}, r"not positive semidefinite \(an eigenvalue .* shift=0.0"),
        (lambda gram: np.vstack([gram, 1.2 * gram]), {}, r"falls to .* on a row"),
        (lambda gram: gram, {"own": "0.5"}, "own=0.5 is below"),
        (lambda gram: gram, {"own": "much"}, "own 'much' is not a number"),
        (lambda gram: gram, {"shift": -1}, "shift must be at least 0"),
        (lambda gram: gram, {"ordering": "hybrid"}, "give queries after the matrix"),
    ],
)
def test_a_matrix_that_will_not_do(matrix: Any, options: Any, message: str) -> None:
    model, _, _, gram = fitted("two classes")
    with pytest.raises(OptionError, match=message):
        sc.compile(model, method="anytime", X=matrix(gram), **options)


def test_a_shift_bounds_an_indefinite_kernel() -> None:
    X, y = MOONS
    gram = indefinite(SMOOTH.values(X, X))
    model = SVC(kernel="precomputed", C=5.0).fit(gram, y)
    program = sc.compile(model, method="anytime", X=gram, shift=0.02, force=True)
    assert any("no eigenvalue below -0.02" in note for note in program.origin.notes)
    points = near_border(model, SMOOTH, X, 10_000)
    rows = nearest_float32(SMOOTH.values(points, X))
    assert (program.predict(rows) == model.predict(rows)).all()
    assert program.cost(rows[-200:]).mean_kernel_evaluations < len(model.support_)


@pytest.mark.parametrize("ordering", ["original", "sgma", "min-wzn", "mean-lhn", "hybrid"])
def test_every_ordering_keeps_the_labels(ordering: str) -> None:
    model, X, kernel, gram = fitted("two classes")
    queries = kernel.values(X[::2] + 0.1, X)
    given = np.vstack([gram, queries])
    program = sc.compile(model, method="anytime", X=given, ordering=ordering, force=True)
    rows = nearest_float32(kernel.values(near_border(model, kernel, X, 500), X))
    assert (program.predict(rows) == model.predict(rows)).all()


def test_own_and_shift_are_for_precomputed_kernels() -> None:
    X, y = MOONS
    with pytest.raises(OptionError, match="precomputed"):
        sc.compile(SVC().fit(X, y), method="anytime", shift=0.1)
