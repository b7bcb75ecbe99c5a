"""Bounded sums: the interval always holds the sum, and no label changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.svm import SVC, SVR, OneClassSVM

import svmcompile as sc
from svmcompile.ir.check import check, infer_types
from svmcompile.ir.pairs import UNSURE, champions, pair_indices
from svmcompile.ir.program import Output
from svmcompile.ir.store import from_bytes, to_bytes
from tests.programs.bounded import bounded_program, vote_program


def moons(rows: int = 300) -> tuple[Any, Any]:
    X, y = make_moons(rows, noise=0.2, random_state=0)
    return X.astype(np.float32).astype(np.float64), y


def queries(model: Any, X: Any, rows: int = 10_000) -> Any:
    """Near the data, far from it, vectors, midpoints, and points on the boundary."""
    generator = np.random.default_rng(1)
    near = X[generator.integers(0, len(X), rows)] + generator.normal(0, 0.5, (rows, X.shape[1]))
    far = 30 * generator.normal(size=(50, X.shape[1]))
    vectors = model.support_vectors_
    return np.vstack([near, far, vectors, (vectors[1:] + vectors[:-1]) / 2])


KERNELS = [{"kernel": "rbf", "gamma": 1.0}, {"kernel": "poly", "degree": 3, "coef0": 1.0, "gamma": 0.5}]


@pytest.mark.parametrize("kernel", KERNELS, ids=["rbf", "poly"])
@pytest.mark.parametrize("coordinates", [None, 0, 5])
def test_intervals_hold_the_sum_and_labels_stay(kernel: dict[str, Any], coordinates: int | None) -> None:
    X, y = moons()
    model = SVC(**kernel).fit(X, y)
    program = bounded_program(model, coordinates=coordinates)
    rows = queries(model, X)
    found, f = program.trace(rows), model.decision_function(rows)[:, None]
    assert (found.low <= f).all() and (f <= found.high).all()
    assert (program.predict(rows) == model.predict(rows)).all()
    assert (found.stop >= 0).mean() > 0.9
    assert program.cost(rows).mean_kernel_evaluations < program.cost().max_kernel_evaluations


def test_a_tolerance_gives_values() -> None:
    X, y = moons()
    model = SVR(gamma=1.0, C=0.1).fit(X, y.astype(float))
    program = bounded_program(model, tolerance=0.05)
    rows = queries(model, X)
    assert np.abs(program.predict(rows) - model.predict(rows)).max() <= 0.05


def test_a_sum_that_is_known_by_its_sign_gives_no_scores() -> None:
    program = bounded_program(SVC().fit(*moons()))
    with pytest.raises(sc.CheckError, match="sign alone"):
        check(program.replace(outputs=(*program.outputs, Output("scores", "sum"))))
    with pytest.raises(sc.UnsupportedError, match="no decision function"):
        program.decision_function(moons()[0])


def test_one_class_and_rows_that_are_not_finite() -> None:
    X, _ = moons()
    model = OneClassSVM(gamma=1.0, nu=0.1).fit(X)
    program = bounded_program(model)
    rows = queries(model, X)
    assert (program.predict(rows) == model.predict(rows)).all()
    odd = np.array([[np.nan, 0.0], [np.inf, 0.0], [0.0, -np.inf]])
    exact = sc.compile(model)
    assert (program.predict(odd) == exact.predict(odd)).all()


@pytest.mark.parametrize("data", ["iris", "many"])
def test_votes_are_those_of_the_library(data: str) -> None:
    if data == "iris":
        X, y = load_iris(return_X_y=True)
    else:
        X, y = make_classification(600, 6, n_informative=5, n_redundant=0, n_classes=6, random_state=2)
    model = SVC(gamma=0.2, C=2.0).fit(X, y)
    program = vote_program(model)
    rows = queries(model, X)
    assert (program.predict(rows) == model.predict(rows)).all()
    if data == "iris":  # where the first vectors of each pair say a lot
        assert program.cost(rows).mean_kernel_evaluations < 0.8 * len(model.support_vectors_)


def test_a_cycle_is_settled_by_all_pairs() -> None:
    signs = np.array([[1, -1, 1], [1, -1, 1], [0, -1, 1], [1, 1, 0]])  # 0 > 1, 1 > 2, 2 > 0
    found = champions(np.array([0, 1, 0, 0]), signs, 3)
    assert found.label.tolist() == [0, 0, UNSURE, 0]
    assert found.met.tolist() == [[True] * 3, [True] * 3, [True, False, False], [True, True, False]]


def test_champions_agree_with_a_full_vote() -> None:
    generator = np.random.default_rng(0)
    signs = generator.choice([-1, 1], (5000, 10))
    votes = np.zeros((5000, 5), dtype=int)
    for pair, (i, j) in enumerate(pair_indices(5)):
        votes[:, i] += signs[:, pair] > 0
        votes[:, j] += signs[:, pair] < 0
    found = champions(generator.integers(0, 5, 5000), signs, 5)
    assert (found.label == votes.argmax(axis=1)).all()


def test_what_is_computed_from_a_widened_row_is_wide() -> None:
    X, y = moons()
    program = bounded_program(SVC().fit(X, y))
    types = infer_types(program)
    assert types["wide_row"].wide and types["exact"].wide
    assert not types["sum"].wide and not types["label"].wide


def test_bounded_programs_can_be_stored_and_read() -> None:
    X, y = load_iris(return_X_y=True)
    for program in (vote_program(SVC().fit(X, y)), bounded_program(SVC().fit(X[:100], y[:100]))):
        assert from_bytes(to_bytes(program), "here") == program
        assert "bounded_" in program.text()


@pytest.mark.parametrize(
    ("table", "change"),
    [("picks", -1), ("picks", 10_000), ("starts", 1), ("margins", -1.0), ("residuals", -1.0)],
)
def test_tables_that_lie_are_refused(table: str, change: float) -> None:
    X, y = load_iris(return_X_y=True)
    program = vote_program(SVC().fit(X, y))
    broken = program.tables[table].copy()
    broken.flat[0] = change
    with pytest.raises(sc.CheckError):
        check(program.replace(tables={**program.tables, table: broken}))
