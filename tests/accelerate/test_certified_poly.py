"""Polynomial kernels by `certified`: the order of the degree is the sum, lower ones are within bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.taylor import Sum, random_sum, taylor_program
from sklearn.datasets import load_breast_cancer, make_circles
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.taylor.spectra import window
from svmcompile.accelerate.taylor.sums import PolyLocal, PolySum
from svmcompile.errors import UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_scores
from svmcompile.ir.program import Claim, Program
from tests.targets.bounded_cases import boundary, odd_rows

DEGREES = (2, 3, 4)


def made_up(degree: int, d: int = 4, m: int = 25) -> Sum:
    return replace(random_sum(d, m, 0.3, mean=0.5, seed=degree), degree=degree, coef0=0.7)


def node_of(program: Program) -> ir.TaylorSum:
    return next(node for node in program.body if isinstance(node, ir.TaylorSum))


def rows_within(program: Program, count: int = 400) -> Any:
    """Rows in all directions, out to the last cell."""
    node, random = node_of(program), np.random.default_rng(1)
    centre = program.tables[node.centres][0]
    h = random.normal(size=(count, len(centre)))
    cells = program.tables[node.gaps].shape[2]
    reach = np.sqrt(cells / program.tables[node.steps][0] / node.gamma)
    return centre + h / np.linalg.norm(h, axis=1)[:, None] * random.uniform(0, reach, size=(count, 1))


@pytest.mark.parametrize("degree", [2, 3])
def test_the_order_of_the_degree_is_the_sum(degree: int) -> None:
    given = made_up(degree)
    program = taylor_program(given, order=degree)
    rows, node = rows_within(program), node_of(program)
    found = taylor_scores(At(node, program.tables), 0, rows)
    wanted = given.values(rows)
    np.testing.assert_allclose(found.scores[:, degree - 1], wanted, rtol=1e-10, atol=1e-9)
    assert not program.tables[node.gaps][degree - 1].any()


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("degree", DEGREES)
def test_what_lower_orders_leave_out_is_within_the_gaps(degree: int, rank: int) -> None:
    given = made_up(degree)
    program = taylor_program(given, order=3, rank=rank)
    rows, node = rows_within(program), node_of(program)
    found = taylor_scores(At(node, program.tables), 0, rows)
    assert found.inside.all()
    error = found.scores - given.values(rows)[:, None]
    for side, off in enumerate((error, -error)):
        assert (off <= found.gaps[:, :, side] + found.loose).all()
    share = np.abs(error) / (found.gaps.max(axis=2) + found.loose)
    assert share[:, 0].max() > 0.3  # and they are not beside the point


@pytest.mark.parametrize("sharpen", [0, 400])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_windows_hold_the_form(n: int, sharpen: int) -> None:
    random = np.random.default_rng(n)
    points, weights = random.normal(size=(30, 3)), random.normal(size=30)
    low, high = window(points, weights, n, sharpen)
    h = random.normal(size=(5000, 3))
    h /= np.linalg.norm(h, axis=1)[:, None]
    values = (h @ points.T) ** n @ weights / np.prod(np.arange(1, n + 1))
    assert low <= values.min() and values.max() <= high
    assert high - low < 4 * (values.max() - values.min())


def test_the_gradient_bounds_what_a_moved_row_does() -> None:
    """Margins grow by at least what the sum moves by."""
    given = made_up(4)
    still, off = given.whole, 1e-3
    assert isinstance(still, PolySum)
    moved = replace(still, input_error=(off, 0.0))
    margins = [PolyLocal(one, given.rows).expansion(1).margins[0] for one in (still, moved)]
    rows = rows_within(taylor_program(given, order=1))
    steps = np.random.default_rng(0).normal(size=rows.shape)
    steps *= off / np.linalg.norm(steps, axis=1)[:, None]
    change = np.abs(given.values(rows + steps) - given.values(rows))
    assert change.max() <= margins[1] - margins[0] <= 20 * change.max()


@cache
def machine(degree: int) -> tuple[Any, Any]:
    if degree == 2:
        X, y = make_circles(300, noise=0.15, factor=0.5, random_state=0)
        return SVC(kernel="poly", degree=2, coef0=1.0, gamma=1.0).fit(X, y), X
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :10]
    model = SVC(kernel="poly", degree=degree, coef0=1.0, gamma=0.05)
    return make_pipeline(StandardScaler(), model).fit(X, y), X


@cache
def program_of(degree: int, **options: Any) -> Program:
    model, X = machine(degree)
    return sc.compile(model, method="certified", X=X, tune="flops", force=True, **options)


@cache
def hard_rows(degree: int, count: int = 8000) -> tuple[Any, Any]:
    """Rows near and far, and rows bisected onto the boundary; float32, with the labels of the original."""
    model, X = machine(degree)
    random = np.random.default_rng(0)
    first, second = (X[random.integers(len(X), size=count)] for _ in range(2))
    near = first + random.uniform(-0.5, 1.5, size=(count, 1)) * (second - first)
    rows = np.concatenate([X, near, *boundary(model, near[: count // 2]), 30 * X[:50]])
    rows = rows.astype(np.float32).astype(np.float64)
    return rows, model.predict(rows)


@pytest.mark.parametrize("degree", DEGREES)
def test_labels_are_the_originals(degree: int) -> None:
    program, (rows, labels) = program_of(degree), hard_rows(degree)
    assert program.claim is Claim.SAME_LABEL and not node_of(program).fades
    assert (program.predict(rows) == labels).all()
    X = machine(degree)[1]
    exact = sc.compile(machine(degree)[0])
    if degree > 2:
        assert program.cost(X).mean_flops < 0.2 * exact.cost(X).mean_flops
    else:  # one quadratic function, with two features as cheap as it gets
        assert program.cost(X).table_bytes < 800 and program.cost(X).mean_flops < 40


@pytest.mark.compile
@pytest.mark.parametrize("degree", DEGREES)
def test_code_keeps_every_label(degree: int, tmp_path: Path) -> None:
    rows, labels = hard_rows(degree)
    for rank in (-1, 3) if degree == 4 else (-1,):
        program = program_of(degree, rank=rank)
        for target, profile in (("c", "host"), ("c", "portable"), ("onnx", "host")):
            folder = tmp_path / f"{target}_{profile}_{rank}"
            sc.write(sc.emit(program, target, "model", profile=profile), folder)
            model = sc.load(folder, target=target)
            assert (model.predict(rows.astype(np.float32)) == labels).all()
            some = rows[:3].astype(np.float32)  # one by one as well as in a batch
            assert [model.predict(one[None])[0] for one in some] == labels[:3].tolist()


@pytest.mark.parametrize("degree", DEGREES)
def test_rows_that_are_not_finite_have_the_label_of_the_exact_program(degree: int) -> None:
    model, X = machine(degree)
    rows = odd_rows(X.shape[1]).astype(np.float64)[:3]
    assert (program_of(degree).predict(rows) == sc.compile(model).predict(rows)).all()


@pytest.mark.parametrize("degree", DEGREES)
def test_certificates_are_confirmed(degree: int) -> None:
    pytest.importorskip("flint", reason="the extra `proof` is not installed")
    model, X = machine(degree)
    rows = np.concatenate([X[:8], hard_rows(degree)[0][-70:-50]])
    report = sc.check_certificate(program_of(degree), rows, model)
    assert report.ok and report.confirmed > len(rows) / 2 and report.rounded > 0.05
    program = program_of(degree)
    name = node_of(program).constants
    wrong = program.replace(tables={**program.tables, name: program.tables[name] + 1.0})
    assert not sc.check_certificate(wrong, rows, model).ok


def test_a_stored_program_is_the_same(tmp_path: Path) -> None:
    program, rows = program_of(3), machine(3)[1]
    program.save(tmp_path / "model.svmc")
    again = sc.Program.load(tmp_path / "model.svmc")
    assert not node_of(again).fades and (again.predict(rows) == program.predict(rows)).all()


def test_other_degrees_and_classes_have_the_bounds_of_anytime() -> None:
    model, X = machine(2)
    y = model.predict(X)
    for other in (SVC(kernel="poly", degree=5, coef0=1.0), SVC(kernel="poly", degree=3, coef0=1.0)):
        labels = y if other.degree == 5 else y + (X[:, 0] > 0.3)
        program = sc.compile(other.fit(X, labels), method="certified", X=X, force=True)
        assert program.origin.method == "certified" and not any(
            isinstance(node, ir.TaylorSum) for node in program.body
        )
        assert any("anytime" in note for note in program.origin.notes)
        assert (program.predict(X) == other.predict(X)).all()


def test_where_polynomials_do_not_pay_a_note_says_so() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 40))
    for degree in DEGREES:
        model = SVC(kernel="poly", degree=degree, coef0=1.0, C=100.0).fit(X, random.integers(0, 2, size=60))
        program = sc.compile(model, method="certified", X=X, order=1)
        assert program.claim is Claim.SAME_LABEL and len(program.origin.notes) == 1
        assert "certified emits the exact sum: polynomials" in program.origin.notes[0]
        np.testing.assert_allclose(program.decision_function(X), model.decision_function(X), atol=1e-8)


def test_behind_preprocessing_whose_rounding_has_no_bound_it_is_the_exact_sum() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    for degree in (2, 3):
        model = make_pipeline(PCA(4), SVC(kernel="poly", degree=degree, coef0=1.0, gamma=1e-6)).fit(X, y)
        program = sc.compile(model, method="certified", X=X, force=True)
        assert program.claim is Claim.SAME_LABEL and "rounding" in program.origin.notes[-1]


def test_kernels_that_are_not_definite_and_huge_rows_are_refused() -> None:
    model, X = machine(2)
    with pytest.raises(UnsupportedError, match="positive definite"):
        indefinite = SVC(kernel="poly", degree=3, coef0=-1.0).fit(X, model.predict(X))
        sc.compile(indefinite, method="certified", X=X)
    given = made_up(3)
    with pytest.raises(UnsupportedError, match="scale the features"):
        PolyLocal(replace(given.whole, gamma=1e-20), given.rows * 1e9)
