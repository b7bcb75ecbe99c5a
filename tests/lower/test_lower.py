"""Lowering: same meaning, no math node left, and a clear refusal of what a number type cannot hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from programs.strategies import machine_programs, origin, programs
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Number
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.nodes import Level, index_tables
from svmcompile.ir.program import Input, Labels, Output, Program
from svmcompile.lower import lower
from svmcompile.optimise import optimise

NUMBERS: tuple[Number, ...] = ("f32", "f64")
numbers = st.sampled_from(NUMBERS)
profiles = st.sampled_from(["portable", "host"])


@settings(max_examples=100, deadline=None)
@given(machine_programs())
def test_no_math_node_remains_and_tables_are_of_the_number_type(program: Program) -> None:
    assert all(node.level is not Level.MATH for node in program.body)
    dtype = {"f32": np.float32, "f64": np.float64}[program.number or ""]
    whole = {name for node in program.body for name in index_tables(node)}
    assert all(table.dtype == dtype for name, table in program.tables.items() if name not in whole)
    assert check(program) is program


@settings(max_examples=150, deadline=None)
@given(programs(), numbers, profiles)
def test_machine_and_math_agree_within_the_bounds(program: Program, number: Number, profile: Any) -> None:
    program = optimise(program)
    try:
        machine = lower(program, number, profile)
    except EmitError:
        assume(False)
    rows = program.probes
    exact, held, bounds = (
        interpret(program, rows),
        interpret(machine, rows),
        error_bounds(program, rows, number),
    )
    own = error_bounds(program, rows, "f64")
    steady = ~bounds.unstable
    name = "scores" if "scores" in exact else "value"
    assert (np.abs(exact[name] - held[name]) <= bounds.scores + own.scores)[steady].all()
    if "label" in exact:
        assert (exact["label"] == held["label"])[steady].all()


@settings(max_examples=150, deadline=None)
@given(programs(), numbers, profiles, st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 3))
def test_rows_that_are_not_finite(
    program: Program, number: Number, profile: Any, value: float, at: int
) -> None:
    program = optimise(program)
    rows = program.probes.copy()
    rows[:, at % rows.shape[1]] = value
    try:
        exact, held = interpret(program, rows), interpret(lower(program, number, profile), rows)
    except EmitError:
        assume(False)
    for name in exact:
        np.testing.assert_array_equal(np.isnan(exact[name]), np.isnan(held[name]))
    if np.isnan(exact.get("scores", [0.0])).all():
        np.testing.assert_array_equal(exact["label"], held["label"])


def regressor(kernel: Kernel, vectors: Any, weights: Any, bias: float = 0.0) -> Program:
    tables = {"v": np.array(vectors, float), "w": np.array([weights], float), "b": np.array([bias])}
    body = (ir.KernelSum("k", "x", "v", "w", "b", kernel),)
    program = Program(Input(tables["v"].shape[1]), body, (Output("value", "k"),), tables, None, origin())
    return check(program)


@pytest.mark.parametrize(
    "program",
    [
        regressor(Kernel("sigmoid", 0.1), [[1.0, 2.0]], [1e39]),
        regressor(Kernel("sigmoid", 1e20), [[1e20, 2.0]], [1.0]),
        regressor(Kernel("linear"), [[1e30, 2.0]] * 2, [1e30, 1.0]),
        regressor(Kernel("rbf", 0.1), [[1.0, 2.0]], [1.0], bias=-1e39),
    ],
)
def test_tables_beyond_float32_are_refused_with_advice(program: Program) -> None:
    with pytest.raises(EmitError, match=r"beyond float32.*f64"):
        lower(optimise(program), "f32")
    assert lower(optimise(program), "f64").number == "f64"


def test_vectors_too_far_apart_are_refused_with_advice() -> None:
    program = optimise(regressor(Kernel("rbf", 1.0), [[0.0], [1e16]], [1.0, 1.0]))
    with pytest.raises(EmitError, match=r"too far apart for f32.*f64"):
        lower(program, "f32")
    lower(program, "f64")


def test_an_rbf_sum_that_is_not_centred_is_refused() -> None:
    with pytest.raises(EmitError, match="optimise"):
        lower(regressor(Kernel("rbf", 1.0), [[0.0], [1.0]], [1.0, 1.0]), "f32")


def test_negative_gamma_is_refused() -> None:
    with pytest.raises(EmitError, match="negative gamma"):
        lower(optimise(regressor(Kernel("rbf", -1.0), [[0.0], [1.0]], [1.0, 1.0])), "f32")


@pytest.mark.parametrize("number", NUMBERS)
def test_huge_rows_are_far_from_every_vector(number: Number) -> None:
    program = lower(
        optimise(regressor(Kernel("rbf", 0.5), [[1.0, 2.0], [3.0, 5.0]], [1.0, 2.0], 0.25)), number
    )
    rows = np.array([[1e30, 0.0], [-1e30, 1e30], [1e38, 2.0], [3e38, -3e38]])
    np.testing.assert_array_equal(program.predict(rows), [0.25] * 4)


def test_huge_rows_of_a_real_model() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    rows = np.full((1, 4), 1e30)
    machine = lower(sc.compile(model), "f32")
    np.testing.assert_allclose(
        machine.decision_function(rows), model.decision_function(rows.astype(np.float32)), rtol=1e-5
    )


def test_a_vector_meets_itself_with_kernel_value_one() -> None:
    vectors = np.random.default_rng(0).normal(1000, 1, (40, 5)).astype(np.float32).astype(np.float64)
    program = regressor(Kernel("rbf", 0.7), vectors, np.eye(40)[7])
    assert lower(optimise(program), "f32").predict(vectors)[7] == pytest.approx(1.0, abs=1e-5)


def test_minus_zero_is_written_as_zero() -> None:
    tables = {"w": np.array([[-0.0, 1.0]]), "b": np.array([-0.0]), "c": np.array([-0.0, 0.0])}
    body = (ir.Affine("a", "x", "w", "b", "c"),)
    program = check(Program(Input(2), body, (Output("value", "a"),), tables, None, origin()))
    for number in NUMBERS:
        assert not any(np.signbit(table).any() for table in lower(program, number).tables.values())


def test_a_scaling_read_by_two_sums_is_kept_for_the_other() -> None:
    """The RBF sum takes the scaling in; the linear one must still see the plain scaling."""
    tables = {
        "k_shift": np.ones(1), "k_factor": np.array([2.0]), "o": np.zeros(1),
        "v": np.array([[1.0], [2.0]]), "w": np.ones((1, 2)), "b": np.zeros(1),
        "v2": np.array([[1.0]]), "w2": np.ones((1, 1)), "b2": -np.ones(1),
    }  # fmt: skip
    body = (
        ir.Scale("z", "x", "k_shift", "k_factor", "o"),
        ir.KernelSum("k", "z", "v", "w", "b", Kernel("rbf", 0.5)),
        ir.KernelSum("l", "z", "v2", "w2", "b2", Kernel("linear")),
        ir.Threshold("label", "l", True, 1, 0),
    )
    outputs = (Output("scores", "k"), Output("label", "label"))
    program = check(Program(Input(1), body, outputs, tables, Labels((0, 1), "<i8"), origin()))
    rows = np.linspace(-1, 3, 9)[:, None]
    machine = lower(program, "f64")
    np.testing.assert_allclose(machine.decision_function(rows), program.decision_function(rows), rtol=1e-14)
    np.testing.assert_array_equal(machine.predict(rows), program.predict(rows))


def test_double_sums_by_differences_go_in_tiles_on_hosts() -> None:
    """Many rows may need them where there are many vectors; one by one they take five times as long."""
    X, y = load_iris(return_X_y=True)
    program = optimise(sc.compile(SVC(gamma=30.0, C=1e4).fit(X + 100.0, y), labels="certain"))
    sums = {}
    for profile in ("host", "portable"):
        machine = lower(program, "f32", profile)
        sums[profile] = next(node for node in machine.body if getattr(node, "shape", "") == "distance")
        held, whole = interpret(machine, X + 100.0), interpret(program, X + 100.0)
        assert (held["label"] == whole["label"]).all()
    assert isinstance(sums["host"], ir.TiledSum)
    assert isinstance(sums["portable"], ir.PackedSum)
