"""Votes of Taylor polynomials: every label is the vote's, and few pairs meet their vectors."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from accelerate_cases import digits
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from svmcompile.accelerate.bounds.choose import Instead
from svmcompile.accelerate.bounds.margins import RowError
from svmcompile.accelerate.bounds.program import fit_guess
from svmcompile.accelerate.certified.votes import choose
from svmcompile.accelerate.certified.votes.guess import likely_champion
from svmcompile.accelerate.certified.votes.pairs import Form, Pairs, Place, directions, shared_axes
from svmcompile.accelerate.registry import accelerate
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.program import Claim, Program
from svmcompile.ir.vote_walk import Votes
from svmcompile.read import read
from tests.programs.taylor_votes import cyclic, made, node_of, vote_of
from tests.targets.bounded_cases import boundary, odd_rows

LAYOUTS = [(1, 1, 0), (1, 2, 8), (2, 2, 16), (3, 2, 0)]  # centres, order, axes


@cache
def ten_classes(leaves: int, order: int, rank: int) -> Program:
    X, _, model = digits()
    return vote_of(model, X[:600], leaves=leaves, order=order, rank=rank)


@cache
def hard_rows() -> tuple[Any, Any]:
    """Rows, rows between them and rows on the boundary of two classes; labels of the machine."""
    X, _, model = digits()
    random = np.random.default_rng(0)
    first, second = (X[random.integers(len(X), size=400)] for _ in range(2))
    between = first + random.uniform(-0.5, 1.5, size=(400, 1)) * (second - first)
    rows = np.concatenate([X, between, *boundary(model, first), 40 * X[:20]])
    return rows, model.predict(rows)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_ten_classes(layout: tuple[int, int, int]) -> None:
    X, _, _ = digits()
    program = ten_classes(*layout)
    rows, labels = hard_rows()
    assert program.claim is Claim.SAME_LABEL
    assert (program.predict(rows) == labels).all()
    cost = program.cost(X[600:])
    assert cost.mean_kernel_evaluations < (0.5 if layout[1] == 1 else 0.25) * cost.max_kernel_evaluations
    assert not error_bounds(program, X[600:], "f32").unstable.any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_polynomials_are_sure_of_is_so(layout: tuple[int, int, int]) -> None:
    """Signs of every champion's pairs, not only of the likely one."""
    program = ten_classes(*layout)
    node, rows = node_of(program), hard_rows()[0][::3]
    x = interpret_values(program, rows, {node.x})[node.x]
    sums = interpret_values(program, rows, {"exact_sums"})["exact_sums"]
    votes = Votes(At(node, program.tables), x)
    sure = 0
    for own in range(10):
        others = np.delete(np.arange(10), own)
        _, state = votes._taylor(np.arange(len(rows)), own)
        true = np.where(own < others, 1, -1) * np.sign(sums[:, votes.pair[own, others]])
        assert (state * true >= 0).all()
        sure += int((state != 0).sum())
    assert sure > 0.03 * 90 * len(rows)


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("scaler", [StandardScaler, MinMaxScaler])
@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_three_classes_behind_a_scaler(load: Any, scaler: Any, shape: str) -> None:
    X, y = load(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = make_pipeline(scaler(), SVC(C=5.0, decision_function_shape=shape)).fit(X, names)
    program = vote_of(model, X, leaves=2)
    rows = np.concatenate([X, *boundary(model, np.concatenate([X, X[::-1]]))])
    assert (program.predict(rows) == model.predict(rows)).all()


def test_without_data_support_vectors_make_the_centres() -> None:
    X, _, model = digits()
    program = vote_of(model, None, leaves=1, rank=8)
    assert (program.predict(X) == model.predict(X)).all()
    assert program.cost(X).mean_kernel_evaluations < 0.6 * program.cost(X).max_kernel_evaluations


@pytest.mark.parametrize("size", [0.05, 0.5])
def test_a_cycle_of_pairs_goes_to_the_vote(size: float) -> None:
    svm = cyclic(size)
    rows = np.random.default_rng(1).normal(size=(300, 2)) * 3
    exact, program = accelerate(svm, None, "exact", {}), vote_of(svm, rows[:100])
    signs = exact.decision_function(rows) > 0
    assert (signs == [True, False, True]).all(axis=1).any()
    assert (program.predict(rows) == exact.predict(rows)).all()


def test_pairs_that_stay_unsure_are_exact() -> None:
    svm = cyclic()
    flat = replace(svm, coefficients=svm.coefficients * 1e-9, intercepts=np.zeros(3))
    rows = np.random.default_rng(1).normal(size=(200, 2)) * 8
    program = vote_of(flat, rows[:100])
    assert (program.predict(rows) == accelerate(flat, None, "exact", {}).predict(rows)).all()


def test_few_rows_and_a_class_of_one_vector() -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(60, 3)) + np.repeat(4 * np.eye(3), 20, axis=0)
    X, y = np.concatenate([X, [[9.0, 9.0, 9.0]]]), np.append(np.repeat([0, 1, 2], 20), 3)
    model = SVC(C=10.0, gamma=0.2).fit(X, y)
    assert model.n_support_[3] == 1
    program = vote_of(model, X[[0, 1, 25, 26, 60]], leaves=4)
    rows = np.concatenate(
        [X, random.normal(size=(500, 3)) * 6, *boundary(model, X[random.permutation(60)])]
    )
    assert (program.predict(rows) == model.predict(rows)).all()


def test_rows_that_are_not_finite_have_the_label_of_the_exact_program() -> None:
    _, _, model = digits()
    rows = odd_rows(64).astype(np.float64)
    exact = accelerate(read(model), None, "exact", {})
    assert (ten_classes(1, 2, 8).predict(rows) == exact.predict(rows)).all()


def test_double_settles_what_float32_leaves_open() -> None:
    program = ten_classes(1, 2, 8)
    node, rows = node_of(program), hard_rows()[0]
    rows = rows + np.random.default_rng(0).normal(size=rows.shape) * 3e-5
    rough = program.replace(
        tables={**program.tables, node.closer: np.full_like(program.tables[node.closer], 1e9)}
    )
    x = interpret_values(program, rows, {node.x})[node.x]
    unsure = [(Votes(At(node, one.tables), x).settled().label < 0).sum() for one in (program, rough)]
    assert unsure[0] < 0.5 * unsure[1]


def test_a_bad_guess_costs_but_changes_nothing() -> None:
    X, _, model = digits()
    program = ten_classes(1, 2, 8)
    name = node_of(program).guess_weights
    wrong = program.replace(tables={**program.tables, name: -program.tables[name]})
    assert (wrong.predict(X) == model.predict(X)).all()
    assert wrong.cost(X).mean_flops > program.cost(X).mean_flops


def test_the_bytes_bound_the_layout() -> None:
    X, _, model = digits()
    least, more = (
        made(model, X[:600], leaves=0, order=0, rank=-1, max_bytes=size) for size in (40_000, 200_000)
    )
    sizes = [one.origin.details["choice"]["bytes"] for one in (least, more)]
    assert sizes[0] <= 40_000 < sizes[1] <= 200_000
    costs = [one.origin.details["choice"]["cost"] for one in (least, more)]
    assert costs[1] < costs[0]
    none = made(model, X[:600], leaves=0, order=0, rank=-1, max_bytes=100)
    assert isinstance(none, Instead) and "max_bytes" in none.reason


def test_the_told_bytes_are_those_of_the_tables() -> None:
    X, _, model = digits()
    for leaves, order, rank in LAYOUTS[:3]:
        program = made(model, X[:300], leaves=leaves, order=order, rank=rank)
        node = node_of(program)
        names = (
            node.planes, node.thresholds, node.centres, node.steps, node.constants, node.slopes, node.axes,
            node.squares, node.middles, node.loose, node.gaps, node.margins,
        )  # fmt: skip
        tables = [program.tables[name] for name in names]
        held = sum(4 * table.size for table in tables if table.size > 1)
        assert program.origin.details["choice"]["bytes"] == held


def test_where_polynomials_do_not_pay_there_is_a_reason() -> None:
    X = np.random.default_rng(0).normal(size=(90, 10))
    model = SVC(C=100.0, gamma=2.0).fit(X, np.repeat([0, 1, 2], 30))
    found = made(model, X, force=False, leaves=0, order=0, rank=-1)
    assert isinstance(found, Instead) and "times as much" in found.reason
    assert found.details["choice"]["cost"] > 0


def test_where_anytime_is_cheaper_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, model = digits()
    monkeypatch.setattr(choose, "vote_costs", lambda met, *others: np.full((2, len(met.label)), 1e9))
    found = made(model, X[:600], force=False, order=1)
    assert isinstance(found, Program)
    assert (found.origin.method, found.origin.details["emitted"]) == ("certified", "anytime")
    assert any("vote of anytime" in note for note in found.origin.notes)
    assert (found.predict(X) == model.predict(X)).all()


def test_what_is_slower_in_batches_is_not_emitted(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, model = digits()
    assert isinstance(made(model, X[:600], force=False, order=2, rank=16, tune="host"), Program)
    monkeypatch.setattr(choose, "BATCH", 0.1)  # as if the exact vote gained ten times from a batch
    found = made(model, X[:600], force=False, order=2, rank=16, tune="host")
    assert isinstance(found, Instead) and found.details["choice"]["batch"] > 1


def test_the_guess_is_right_where_least_squares_hides_a_class() -> None:
    """Of classes in a row, least squares never names one in the middle."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 6, size=900)
    points = np.column_stack([labels + random.uniform(-0.4, 0.4, size=900), random.normal(size=900)])
    ridge, found = fit_guess(points, labels, 6), likely_champion(points, labels, 6)
    right = [
        (((points - one.centre) @ one.weights.T + one.bias).argmax(axis=1) == labels).mean()
        for one in (ridge, found)
    ]
    assert right[0] < 0.7 and right[1] > 0.95


def test_shared_axes_bound_what_they_leave() -> None:
    random = np.random.default_rng(0)
    forms = [form + form.T for form in random.normal(size=(3, 7, 7))]
    h = random.normal(size=(500, 7))
    basis = directions(forms, np.ones(3))
    for rank in (1, 3, 6):
        found = shared_axes([basis.T @ form @ basis for form in forms], basis, rank, h)
        for own, form in zip(found, forms, strict=True):
            y = h @ own.axes.T
            along = np.square(y).sum(axis=1)
            left = np.square(h).sum(axis=1) - along
            value = np.einsum("ij,jk,ik->i", y, own.form, y) + own.middle * left
            gap = np.stack([along, left], axis=1) @ own.loose[0, :2]
            assert (np.abs(value - np.einsum("ij,jk,ik->i", h, form, h)) <= gap + 1e-9).all()


def test_forms_that_nearly_vanish_give_directions() -> None:
    basis = directions([np.full((3, 3), 1e-160), np.diag([1.0, 2.0, 3.0])], np.ones(2))
    assert np.allclose(np.abs(basis), np.eye(3))


def test_margins_cover_float32() -> None:
    """Scores of order 2 in float32, one product after another, against double."""
    X, _, model = digits()
    svm = read(model)
    pairs = Pairs.of(svm, RowError(0.0, 0.0))
    rows = X[:600][pairs.labels(X[:600]) == 3]
    place = Place(pairs.against(3), rows, 4, 8, sharpen=False, sparse=False)
    x = rows.astype(np.float32)
    for form in (Form(2, 8), Form(2, 0)):
        found = place.expansions(form)
        h32, h = x - found[0].centre.astype(np.float32), x.astype(np.float64) - found[0].centre
        fields = ("squares", "slope", "constant", "margins")
        squares, slopes, constants, margins = (
            np.array([getattr(one, name) for one in found]) for name in fields
        )
        axes = np.eye(64) if found[0].axes is None else found[0].axes
        second, first = np.tril_indices(len(axes))
        values = []
        for way, kind in ((h32, np.float32), (h, np.float64)):
            y = way @ axes.T.astype(kind)
            sums = _dots(y[:, first] * y[:, second], squares.astype(kind))
            sums = sums + _dots(way, slopes.astype(kind)) + constants.astype(kind)
            fade = np.exp(-kind(svm.kernel.gamma) * np.square(way).sum(axis=1))
            values.append(sums * fade[:, None])
        assert (np.abs(values[0] - values[1]) <= margins[:, 1]).all()


def _dots(left: Any, right: Any) -> Any:
    """left right' with four sums of one addition after another."""
    parts = np.zeros((4, len(left), len(right)), dtype=left.dtype)
    for column in range(left.shape[1]):
        parts[column % 4] += left[:, column, None] * right[None, :, column]
    return (parts[0] + parts[1]) + (parts[2] + parts[3])
