"""The checker of certificates: it confirms what holds, and refutes tables that were damaged."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.taylor import Sum, random_sum, taylor_program
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Program
from svmcompile.verification.balls import Rounded, many_bits
from svmcompile.verification.certificate import check_rows

pytest.importorskip("flint", reason="the extra `proof` is not installed")


@cache
def moons() -> Sum:
    X, y = make_moons(150, noise=0.2, random_state=0)
    return Sum.of(SVC(gamma=1.0).fit(X, y), X)


@cache
def program(leaves: int = 2, order: int = 3, rank: int = 0) -> Program:
    return taylor_program(moons(), leaves, order, rank)


def rows() -> Any:
    return np.vstack([moons().rows[::5], moons().on_the_boundary(10)])


@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("order, rank", [(1, 0), (2, 0), (3, 0), (2, 1), (3, 1)])
def test_every_certificate_is_confirmed_about_every_centre(number: Any, order: int, rank: int) -> None:
    report = check_rows(program(2, order, rank), rows(), number, every_leaf=True)
    assert report.ok and report.confirmed == len(rows()) == report.rows
    assert 0.5 < report.real <= report.rounded <= 1  # near enough to say something


def sparse_sum() -> Sum:
    """Rows and vectors with few features that are not zero, far from the origin's side of the centre."""
    generator = np.random.default_rng(4)
    sizes = ((30, 90), (60, 90))
    vectors, some = (generator.random(size) * (generator.random(size) < 0.2) for size in sizes)
    return Sum(vectors, generator.normal(size=30), 0.05, 0.1, some)


@pytest.mark.parametrize("order, rank", [(1, 0), (2, 6), (3, 6)])
def test_certificates_of_sparse_rows_are_confirmed(order: int, rank: int) -> None:
    given = sparse_sum()
    found = taylor_program(given, 1, order, rank, sparse=True)
    assert certified_node(found).sparse
    asked = np.vstack([given.rows[:15], given.on_the_boundary(5)])
    report = check_rows(found, asked, "f32")
    assert report.ok and report.confirmed == len(asked)


def test_errors_come_nearer_to_bounds_with_smaller_margins_for_sparse_rows() -> None:
    given = sparse_sum()
    found, dense = (taylor_program(given, 1, 2, 6, sparse=sparse) for sparse in (True, False))
    name = certified_node(found).margins
    assert (found.tables[name] > dense.tables[name]).all()
    short = found.replace(tables={**found.tables, name: 0.01 * found.tables[name]})
    less, enough = (check_rows(one, given.rows[:15], "f32").rounded for one in (short, found))
    assert less > enough


def certified_node(program: Program) -> ir.TaylorSum:
    return next(node for node in program.body if isinstance(node, ir.TaylorSum))


def damaged(table: str, change: Any) -> Program:
    """The program with one of its node's tables changed."""
    found = program()
    name = getattr(certified_node(found), table)
    return found.replace(tables={**found.tables, name: change(np.array(found.tables[name]))})


DAMAGE: dict[str, Any] = {
    "gaps": lambda table: table / 4,
    "slopes": lambda table: table * 1.5,
    "bias": lambda table: -table - 1,
    "constants": lambda table: table + 0.5,
    "squares": lambda table: -table,
    "cubes": lambda table: -table,
    "centres": lambda table: table + 0.25,
    "steps": lambda table: table / 4,
}


@pytest.mark.parametrize("table", DAMAGE)
def test_damaged_tables_are_refuted(table: str) -> None:
    assert check_rows(damaged(table, DAMAGE[table]), rows(), every_leaf=True).refuted > 0


def test_margins_that_are_missing_leave_rows_open() -> None:
    """Where the polynomial is all of the sum, rounding is all that margins are for."""
    one = Sum(np.zeros((1, 2)), np.array([3.0]), -1.5, 0.7, np.array([[0.5, 0.5], [-0.5, -0.5]]))
    whole = taylor_program(one, order=1)
    node = certified_node(whole)
    assert check_rows(whole, one.rows).ok
    bare = whole.replace(
        tables={**whole.tables, node.margins: np.zeros((1, 1)), node.gaps: np.zeros((1, 1, 16, 2))}
    )
    assert not check_rows(bare, one.rows).ok


def test_rows_without_a_certificate_are_told_apart() -> None:
    odd = np.array([[50.0, 50.0], [np.nan, 0.0], [np.inf, 0.0]])
    report = check_rows(program(), odd)
    assert report.none == 3 and report.confirmed == 0 and report.ok


def test_balls_hold_every_order_of_summation() -> None:
    generator = np.random.default_rng(0)
    single = Rounded("f32")
    with many_bits():
        for _ in range(200):
            a, b = generator.normal(size=(2, 9)).astype(np.float32)
            ball = single.dot(single.numbers(a), single.numbers(b))
            order = generator.permutation(9)
            total = np.float32(0)
            for product in (a * b)[order]:
                total += product
            assert float(ball.lower()) <= float(total) <= float(ball.upper())


@cache
def proven() -> tuple[Any, Any, Program]:
    """A pipeline, whose scaling float32 code does in float32."""
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(gamma=0.02)).fit(X, y)
    return X, model, sc.compile(model, method="h1-tree", X=X, y=y, proven=True)


def test_the_original_model_is_what_certificates_are_about() -> None:
    X, model, program = proven()
    assert sc.check_certificate(program, X[::20], model).ok
    other = make_pipeline(StandardScaler(), SVC(gamma=0.03)).fit(X[::2], model.predict(X)[::2])
    assert sc.check_certificate(program, X[::20], other).refuted > 0


def test_the_command_exits_by_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import skops.io

    from svmcompile import cli

    X, model, program = proven()
    skops.io.dump(model, tmp_path / "model.skops")
    np.savez(tmp_path / "rows.npz", X=X[:10])
    node = certified_node(program)
    broken = program.replace(tables={**program.tables, node.slopes: -program.tables[node.slopes]})
    for made, code in ((program, 0), (broken, 1)):
        sc.write(sc.emit(made, name="cancer", profile="portable"), tmp_path / "out")
        command = ["verify", tmp_path / "out", "--model", tmp_path / "model.skops"]
        command += ["--data", tmp_path / "rows.npz", "--certificate"]
        monkeypatch.setattr(sys, "argv", ["svmcompile", *map(str, command)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        assert int(stop.value.code or 0) == code


def test_what_cannot_be_checked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = sc.compile(proven()[1])
    assert not any(isinstance(node, ir.TaylorSum) for node in exact.body)
    with pytest.raises(sc.UnsupportedError, match="no Taylor certificates"):
        check_rows(exact, np.zeros((1, 30)))
    monkeypatch.setitem(sys.modules, "flint", None)
    with pytest.raises(sc.ToolchainError, match="proof"):
        check_rows(program(), rows())


@pytest.mark.parametrize("order, rank", [(1, 1), (2, 4), (2, 2)])
def test_pairs_of_votes_are_confirmed_and_damaged_ones_refuted(order: int, rank: int) -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC(C=10.0).fit(X, y)
    program = sc.compile(
        model, method="certified", X=X, order=order, rank=rank, max_bytes=1 << 20, force=True
    )
    node = next(item for item in program.body if isinstance(item, ir.TaylorVote))
    report = sc.check_certificate(program, X[::5], model, every_leaf=True)
    assert report.ok and report.confirmed > 20 and report.real > 0.5
    broken = program.replace(tables={**program.tables, node.slopes: -program.tables[node.slopes]})
    assert check_rows(broken, X[::5]).refuted > 0


def test_pairs_of_rows_that_are_mostly_zeros_are_confirmed() -> None:
    generator, y = np.random.default_rng(3), np.arange(90) % 3
    often = np.where(generator.random((3, 60)) < 0.3, 0.5, 0.1)[y]
    X = generator.random((90, 60)) * (generator.random((90, 60)) < often)
    model = SVC(gamma=0.03, C=2.0).fit(X, y)
    program = sc.compile(model, method="certified", X=X, order=2, rank=5, leaves=1, force=True)
    node = next(item for item in program.body if isinstance(item, ir.TaylorVote))
    assert program.tables[node.starts].ndim > 1  # code may pass over zeros
    asked = np.vstack([X[:10], (X[:5] + X[1:6]) / 2])
    report = sc.check_certificate(program, asked, model)
    assert report.ok and report.confirmed > 10
    short = program.replace(tables={**program.tables, node.margins: 0 * program.tables[node.margins]})
    assert check_rows(short, asked).rounded > report.rounded


def test_a_random_sum_with_few_axes_is_confirmed() -> None:
    given = random_sum(8, 30, 0.05)
    queries = np.vstack([given.rows[:20], given.vectors[:5], given.on_the_boundary(5)])
    assert check_rows(taylor_program(given, 2, 3, 3), queries, every_leaf=True).ok
