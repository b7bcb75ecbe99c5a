"""anytime: from an SVM to a program, and what it promises."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from accelerate_cases import digits, svm_of, wave
from anytime_cases import KINDS, bounded, compiled, hard_rows, machine
from sklearn.datasets import load_iris
from sklearn.svm import SVC, LinearSVC, NuSVR, OneClassSVM

import svmcompile as sc
from svmcompile.accelerate.builder import exact_flops
from svmcompile.accelerate.registry import accelerate
from svmcompile.commands.compile import tuned
from svmcompile.errors import OptionError, UnsupportedError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.program import Claim

FORMS: list[dict[str, Any]] = [
    {},
    {"ordering": "sgma"},
    {"ordering": "original"},
    {"ordering": "min-wzn"},
    {"ordering": "mean-lhn", "k_max": 40},
    {"ordering": "hybrid", "k_max": 40},
    {"block": 1, "k_max": 1},
    {"block": 4, "k_max": 12, "r_coords": "0"},
    {"tune": "portable", "pivot_tol": 1e-2},
]


@pytest.mark.parametrize("options", FORMS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_every_label_is_kept(kind: str, options: dict[str, Any]) -> None:
    X, model = machine(kind)
    rows = hard_rows(model, X, count=80)
    program = compiled(kind, **options)
    assert program.claim is Claim.SAME_LABEL
    assert [output.name for output in program.outputs] == ["label"]
    assert (program.predict(rows) == model.predict(rows)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_meets_more_than_all_vectors(kind: str) -> None:
    X, model = machine(kind)
    for options in ({"k_max": 1, "block": 1}, {}, {"ordering": "mean-lhn", "k_max": 40}):
        program = compiled(kind, **options)
        node, vectors = bounded(program), svm_of(model).n_vectors
        extra = int((program.tables[node.weights] == 0).sum())
        assert len(program.tables[node.vectors]) <= vectors + extra
        assert extra == 0 or options.get("ordering") == "mean-lhn"
        assert program.cost(X).mean_kernel_evaluations <= vectors + extra


def test_the_fallback_is_reached() -> None:
    X, model = machine("wide")
    program = compiled("wide", k_max=1, block=1)
    trace = program.trace(hard_rows(model, X))
    assert (trace.stop == 1).any() and (trace.stop == -1).any()
    assert trace.ends.tolist() == [1, svm_of(model).n_vectors]


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_contain_the_value_at_every_stage(kind: str) -> None:
    X, model = machine(kind)
    rows = hard_rows(model, X, count=80)
    trace = compiled(kind).trace(rows)
    f = model.decision_function(rows)[:, None]
    assert (trace.low <= f).all() and (f <= trace.high).all()


def test_values_within_a_tolerance() -> None:
    X, _, model = wave()
    rows = np.linspace(-5, 5, 400).astype(np.float32)[:, None].astype(np.float64)
    found = []
    for tolerance in (1e-1, 1e-2, 1e-3):
        program = sc.compile(model, method="anytime", X=X, tolerance=tolerance, force=True, tune="flops")
        assert program.claim is Claim.EXACT
        error = np.abs(program.predict(rows) - model.predict(rows))
        bounds = error_bounds(program, rows, "f64").scores[:, 0]
        assert (error <= np.minimum(tolerance + 1e-6, bounds)).all()
        found.append(program.cost(rows).mean_kernel_evaluations)
    assert found[0] < found[2]


def test_decision_values_within_a_tolerance() -> None:
    X, model = machine("rbf")
    program = compiled("rbf", tolerance=0.05)
    rows = hard_rows(model, X)
    assert np.abs(program.decision_function(rows) - model.decision_function(rows)).max() <= 0.05
    assert program.cost(X).mean_kernel_evaluations < svm_of(model).n_vectors


def test_one_class() -> None:
    X, _ = machine("rbf")
    model = OneClassSVM(nu=0.2, gamma=0.3).fit(X)
    program = sc.compile(model, method="anytime", X=X, force=True)
    rows = hard_rows(model, X)
    assert (program.predict(rows) == model.predict(rows)).all()


def test_rows_that_are_not_finite() -> None:
    _, model = machine("rbf")
    rows = np.array([[np.nan, 0.0], [np.inf, 0.0], [1e300, -1e300]])
    exact = sc.compile(model)
    assert (compiled("rbf").predict(rows) == exact.predict(rows)).all()


def test_without_data_rows_are_made_up() -> None:
    X, model = machine("wide")
    program = sc.compile(model, method="anytime", tune="flops")
    assert program.origin.details["emitted"] == "bounded"
    assert program.cost(X).mean_flops < exact_flops(svm_of(model))


def test_same_input_same_bytes() -> None:
    for ordering in ("min-wz", "min-wzn", "hybrid"):
        assert compiled("rbf", ordering=ordering) == compiled("rbf", ordering=ordering)
    assert compiled("rbf", ordering="min-wzn") != compiled("rbf", ordering="min-wzn", seed=1)


def narrow_machine() -> tuple[Any, Any]:
    """So narrow that every vector counts for itself."""
    X = np.random.default_rng(0).normal(size=(150, 12))
    y = X[:, 0] * X[:, 1] > 0
    return X, SVC(C=100.0, gamma=1.0).fit(X, y)


@pytest.mark.parametrize("tune", ["flops", "host", "portable"])
def test_where_it_does_not_pay_the_exact_sum_is_emitted(tune: str) -> None:
    X, model = narrow_machine()
    program = sc.compile(model, method="anytime", X=X, tune=tune)
    assert program.claim is Claim.SAME_LABEL
    assert program.origin.details["emitted"] == "exact"
    assert any("predicted to cost" in note and "force" in note for note in program.origin.notes)
    assert not any(isinstance(node, ir.BoundedSum) for node in program.body)
    forced = sc.compile(model, method="anytime", X=X, tune=tune, force=True)
    assert forced.claim is Claim.SAME_LABEL
    assert (forced.predict(X) == model.predict(X)).all()


def test_the_prediction_is_what_the_program_costs() -> None:
    X, _ = machine("wide")
    for options in ({}, {"block": 8, "r_coords": "8"}, {"k_max": 16}):
        program = compiled("wide", sample=10_000, **options)
        choice = program.origin.details["choice"]
        fresh = X[200:]  # rows that the machine was not trained on
        cost = program.cost(fresh)
        assert choice["steps"] == pytest.approx(cost.mean_kernel_evaluations, rel=0.3)
        assert choice["cost"] == pytest.approx(cost.mean_flops, rel=0.3)


def test_what_needs_no_bounds_is_exact() -> None:
    X, y = load_iris(return_X_y=True)
    program = sc.compile(LinearSVC().fit(X, y), method="anytime", force=True)
    assert any("linear kernel" in note for note in program.origin.notes)
    assert program.claim is Claim.SAME_LABEL
    model = SVC(kernel="linear").fit(X, y)
    assert (sc.compile(model, method="anytime").predict(X) == model.predict(X)).all()


def test_a_constant_machine_is_constant() -> None:
    from dataclasses import replace

    svm = svm_of(machine("rbf")[1])
    none = replace(svm, vectors=svm.vectors[:1], coefficients=np.zeros((1, 1)))
    program = accelerate(none, None, "anytime", {})
    assert any("constant" in note for note in program.origin.notes)


@pytest.mark.parametrize(
    "model, reason",
    [
        (SVC(kernel="sigmoid", gamma=0.1), "sigmoid"),
        (SVC(kernel="poly", degree=3, coef0=-1.0), "coef0"),
        (SVC(break_ties=True), "break_ties"),
    ],
)
def test_models_without_a_bound_are_refused(model: Any, reason: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(UnsupportedError, match=reason):
        sc.compile(model.fit(X, y), method="anytime")


def test_options_that_make_no_sense_are_refused() -> None:
    X, model = machine("rbf")
    for options in (
        {"ordering": "best"}, {"tune": "gpu"}, {"block": -1}, {"k_max": -1}, {"r_coords": "-2"},
        {"sample": 0}, {"pivot_tol": 0.0}, {"pivot_tol": 1.0}, {"tolerance": 0.0},
        {"tolerance": float("nan")},
    ):  # fmt: skip
        with pytest.raises(OptionError, match=next(iter(options))):
            sc.compile(model, method="anytime", X=X, **options)
    with pytest.raises(OptionError, match="needs data"):
        sc.compile(model, method="anytime", ordering="hybrid")
    with pytest.raises(OptionError, match="tolerance"):
        sc.compile(NuSVR().fit(X, X[:, 0]), method="anytime")
    with pytest.raises(OptionError, match="finite"):
        sc.compile(model, method="anytime", X=X * np.nan)
    with pytest.raises(OptionError, match="tolerance"):
        sc.compile(digits()[2], method="anytime", tolerance=0.1)
    with pytest.raises(OptionError, match="classes"):
        sc.compile(digits()[2], method="anytime", X=digits()[0], ordering="hybrid")


@pytest.mark.parametrize("given, meant", [({}, "portable"), ({"tune": "flops"}, "flops")])
def test_commands_tune_for_the_profile(given: dict[str, Any], meant: str) -> None:
    assert tuned("anytime", given, "portable")["tune"] == meant
    assert tuned("exact", given, "portable") == given
