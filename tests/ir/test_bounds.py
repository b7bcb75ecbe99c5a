"""The bounds of ir/bounds.py hold: for machine programs, other orders of summation and real models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from programs.nasty import Nasty
from programs.strategies import origin, programs
from sklearn.datasets import load_digits, load_iris
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import SVC, SVR, LinearSVC

import svmcompile as sc
from svmcompile.errors import EmitError
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC, Bounded
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel, kernel_errors
from svmcompile.ir.node import run
from svmcompile.ir.program import Input, Labels, Output, Program
from svmcompile.lower import lower
from svmcompile.optimise import optimise

Array = NDArray[Any]
SILLY = 5000  # a bound this many times the error would tell nothing
REPEATS = 3


def assert_contained(
    program: Program, rows: Array, scores: Array, label: Array | None, number: Any
) -> None:
    """Errors within the bounds and no label changed, except where rounding may change it."""
    bounds = error_bounds(program, rows, number)
    own = error_bounds(program, rows, "f64").scores  # the reference rounds as well
    exact = interpret(program, rows)
    expected = exact["scores"] if "scores" in exact else exact["value"]
    steady = ~bounds.unstable
    error = np.abs(scores.astype(np.float64) - expected)[steady]
    allowed = (bounds.scores + own)[steady]
    assert np.isfinite(allowed).all()
    assert (error <= allowed).all(), (error / allowed).max()
    if label is not None:
        assert (label == exact["label"])[steady].all()


@settings(max_examples=250, deadline=None)
@given(programs(), st.sampled_from(["f32", "f64"]))
def test_machine_program_is_within_the_bounds(program: Program, number: Any) -> None:
    program = optimise(program)
    try:
        machine = interpret(lower(program, number), program.probes)
    except EmitError:
        assume(False)
    scores = machine["scores"] if "scores" in machine else machine["value"]
    assert_contained(program, program.probes, scores, machine.get("label"), number)


@settings(max_examples=250, deadline=None)
@given(programs(), st.integers(0, 1000))
def test_any_order_of_summation_is_within_the_bounds(program: Program, seed: int) -> None:
    program = optimise(program)
    try:
        scores, label = Nasty(seed).scores(lower(program, "f32"), program.probes)
    except EmitError:
        assume(False)
    assert_contained(program, program.probes, scores, label, "f32")


def test_one_feature_and_a_large_exponent() -> None:
    """Nothing averages out: the roundings of vector, norm and both additions add up for some rows."""
    random = np.random.default_rng(0)
    n = 400
    tables = {
        "s": np.zeros(1), "f": np.ones(1), "o": np.zeros(1),
        "v": random.uniform(8, 8.3, (n, 1)), "w": np.eye(n), "b": np.zeros(n),
    }  # fmt: skip
    gamma = 0.5 / np.log2(np.e)  # the machine's own unit
    body = (
        ir.Scale("z", "x", "s", "f", "o"),
        ir.KernelSum("k", "z", "v", "w", "b", Kernel("rbf", gamma)),
        ir.ArgMax("label", "k"),
    )
    outputs, labels = (Output("scores", "k"), Output("label", "label")), Labels(tuple(range(n)), "<i8")
    program = check(Program(Input(1), body, outputs, tables, labels, origin()))
    rows = random.uniform(-0.1, 0.1, (n * 5, 1)).astype(np.float32).astype(np.float64)
    exact = interpret(program, rows)["scores"]
    error = np.abs(interpret(lower(program, "f32"), rows)["scores"] - exact)
    assert (error <= error_bounds(program, rows, "f32").scores).all()


def long_sum(node: ir.Node, width: int, **tables: Array) -> Program:
    """One node over many features, all of one sign, so that errors add up instead of cancelling."""
    arrays = {"c": np.zeros(width), "b": np.zeros(1), **tables}
    used = {name: arrays[name] for name in ir.table_names(node)}
    return check(Program(Input(width), (node,), (Output("value", "k"),), used, None, origin()))


def long_sums(width: int) -> list[Program]:
    ones = np.full((1, width), 1.1)
    squares = np.full((1, width * (width + 1) // 2), 1.1)
    return [
        long_sum(ir.Affine("k", "x", "w", "b", "c"), width, w=ones),
        long_sum(ir.Quadratic("k", "x", "q", "w", "b", "c"), width, q=squares, w=ones),
        long_sum(ir.KernelSum("k", "x", "v", "w", "b", Kernel("linear")), width, v=ones, w=np.ones((1, 1))),
        long_sum(
            ir.KernelSum("k", "x", "v", "w", "b", Kernel("poly", 0.1, 1.0, 3)),
            width,
            v=ones,
            w=np.ones((1, 1)),
        ),
    ]


@pytest.mark.parametrize("program", long_sums(300), ids=["affine", "quadratic", "linear", "poly"])
def test_long_sums_of_one_sign(program: Program) -> None:
    rows = np.array([np.full(300, value) for value in (1.0, 1.3, 0.7, 3.3)], np.float32).astype(np.float64)
    bounds = error_bounds(program, rows, "f32").scores
    scores, _ = Nasty(0).scores(lower(program, "f32"), rows)
    error = np.abs(scores - interpret(program, rows)["value"])
    assert (error <= bounds).all()
    assert error.max() > 0.005 * bounds.max()  # or the test would not try the bound


def _digits(**options: Any) -> tuple[Any, Array]:
    X, y = load_digits(return_X_y=True)
    return SVC(**options).fit(X[:600] / 16, y[:600]), X[600:750].astype(np.float32).astype(np.float64) / 16


def _iris(model: Any) -> tuple[Any, Array]:
    X, y = load_iris(return_X_y=True)
    return model.fit(X, y), X.astype(np.float32).astype(np.float64)


REAL = {
    "digits-rbf": lambda: _digits(),
    "digits-rbf-narrow": lambda: _digits(gamma=0.5, break_ties=True),
    "digits-poly3": lambda: _digits(kernel="poly", coef0=1),
    "digits-poly2": lambda: _digits(kernel="poly", degree=2, decision_function_shape="ovo"),
    "digits-linear": lambda: _digits(kernel="linear"),
    "digits-sigmoid": lambda: _digits(kernel="sigmoid", gamma=0.005),
    "iris-rbf": lambda: _iris(SVC(C=100)),
    "iris-poly4": lambda: _iris(SVC(kernel="poly", degree=4)),
    "iris-linear-machine": lambda: _iris(LinearSVC()),
    "iris-regression": lambda: _iris(SVR(C=10)),
}


@pytest.mark.parametrize("name", REAL)
def test_real_models_are_within_the_bounds(name: str) -> None:
    model, rows = REAL[name]()
    program = sc.compile(model)
    machine = lower(program, "f32")
    result = interpret(machine, rows)
    assert_contained(
        program, rows, result["scores" if "scores" in result else "value"], result.get("label"), "f32"
    )
    for seed in range(REPEATS):
        scores, label = Nasty(seed).scores(machine, rows)
        assert_contained(program, rows, scores, label, "f32")


def test_the_bound_is_not_silly() -> None:
    model, rows = _digits(decision_function_shape="ovo")
    program = sc.compile(model)
    error = np.abs(interpret(lower(program, "f32"), rows)["scores"] - program.decision_function(rows))
    bound = error_bounds(program, rows, "f32")
    assert bound.scores.max() <= SILLY * error.max()
    assert bound.unstable.mean() < 0.01


def test_the_published_bound_of_the_rbf_case() -> None:
    """sum |a| K (e + u + ln2 u ((d + 4) sum|x's'| + 3 (hs + hx))) + 16 u sum |a| K contains the error."""
    X, y = load_digits(return_X_y=True)
    pick = np.isin(y, (3, 8))
    model = SVC(C=10).fit(X[pick][:200] / 16, y[pick][:200])
    rows = (X[pick] / 16).astype(np.float32).astype(np.float64)
    program = sc.compile(model)
    machine = lower(program, "f32")
    z = interpret_value(lower(program, "f64"), rows, ir.Prepare)
    node = next(item for item in machine.body if isinstance(item, ir.PackedSum))
    s = machine.tables[node.vectors].astype(np.float64)
    alpha = np.abs(machine.tables[node.weights][:, 0].astype(np.float64))
    hx, hs = np.square(z).sum(axis=1)[:, None] / 2, np.square(s).sum(axis=1) / 2
    kernel = np.exp2(z @ s.T - hx - hs)
    u, d = 2.0**-24, rows.shape[1]
    relative = 1.7e-7 + u + np.log(2) * u * ((d + 4) * np.abs(z) @ np.abs(s).T + 3 * (hs + hx))
    bound = (kernel * (relative + 16 * u)) @ alpha
    error = np.abs(interpret(machine, rows)["scores"][:, 0] - model.decision_function(rows))
    assert (error <= bound).all()


def interpret_value(program: Program, rows: Array, kind: type[ir.Node]) -> Array:
    """The value of the first node of a kind."""
    env: dict[str, Array] = {"x": rows}
    for node in program.body:
        env[node.out] = run(node, env, program.tables)
        if isinstance(node, kind):
            return env[node.out]
    raise AssertionError(f"no {kind.__name__}")


def test_far_rows_have_a_finite_bound() -> None:
    """Where the kernel vanishes the bound does too; it is never NaN, which would hide any error."""
    model, rows = _iris(SVC())
    program = sc.compile(model)
    for size in (1e3, 1e10, 1e30):
        far = (rows[:5] * size).astype(np.float32).astype(np.float64)
        bounds = error_bounds(program, far, "f32")
        assert np.isfinite(bounds.scores).all()
        assert (bounds.scores < 1e-4).all()


def test_a_tie_is_unstable_and_a_wide_margin_is_not() -> None:
    tables = {"w": np.ones((1, 1)), "b": np.zeros(1), "c": np.zeros(1)}
    body = (ir.Affine("a", "x", "w", "b", "c"), ir.Threshold("label", "a", True, 1, 0))
    outputs = (Output("scores", "a"), Output("label", "label"))
    program = check(Program(Input(1), body, outputs, tables, Labels((0, 1), "<i8"), origin()))
    assert error_bounds(program, np.array([[0.0], [1.0], [-1.0]]), "f32").unstable.tolist() == [
        True, False, False,
    ]  # fmt: skip


def test_a_kernel_value_below_the_smallest_number_has_a_bound() -> None:
    """2^-1104 is zero in double; a row off by 15 of the 47 to the vector has 2^-512."""
    row = Bounded(np.zeros((1, 1)), np.full((1, 1), 15.0), np.zeros(1, bool))
    kernel = Kernel("rbf", 0.5 / np.log2(np.e))
    value, error = kernel_errors(kernel, row, np.array([[47.0]]), ARITHMETIC["f64"])
    assert value[0, 0] == 0.0 and error[0, 0] >= 2.0**-512


def test_no_rows_give_empty_bounds() -> None:
    model, rows = _iris(SVC())
    bounds = error_bounds(sc.compile(model), rows[:0], "f32")
    assert bounds.scores.shape == (0, 3)
    assert bounds.unstable.shape == (0,)


def test_a_value_beyond_the_number_type_has_no_bound() -> None:
    """Votes take such sums back into range, where float has only infinities to compare."""
    machine = LinearSVC().fit(*load_iris(return_X_y=True))
    machine.coef_ = machine.coef_ * 1e38
    program, rows = sc.compile(machine), np.array([[50.0, 30.0, 10.0, 2.0], [0.05, 0.03, 0.01, 0.0]])
    bounds = error_bounds(program, rows, "f32")
    assert np.isinf(bounds.scores[0]).all() and bounds.unstable[0]
    assert np.isfinite(bounds.scores[1]).all()
    assert np.isfinite(error_bounds(program, rows, "f64").scores).all()


def test_several_labels_per_row_have_bounds() -> None:
    X, y = load_iris(return_X_y=True)
    machine = MultiOutputClassifier(SVC()).fit(X, np.stack([y, y > 0, y < 2], axis=1))
    bounds = error_bounds(sc.compile(machine), X, "f32")
    assert np.isfinite(bounds.scores).all() and bounds.unstable.shape == (len(X),)


OVER = {
    "vectors": np.array([[1e30, -1e30, 1.0], [1.0, 2.0, 3.0]]),
    "weights": np.array([[1.0, 1e-30]]),
    "bias": np.array([0.5]),
}
KERNELS = [Kernel("sigmoid", 1.0, 0.0), Kernel("poly", 1.0, 0.0, 1), Kernel("linear")]


@pytest.mark.parametrize("kernel", [*KERNELS, None])
def test_products_that_leave_the_number_type_on_the_way_have_no_bound(kernel: Kernel | None) -> None:
    """Their sum comes back, or tanh makes one of it; float has infinity minus infinity."""
    tables = (
        OVER if kernel else {"weights": OVER["vectors"][:1], "bias": OVER["bias"], "centre": np.zeros(3)}
    )
    node = ir.KernelSum("s", "x", *OVER, kernel) if kernel else ir.Affine("s", "x", *tables)
    program = Program(
        Input(3, "x"), (node,), (Output("value", "s"),), tables, None, origin(), None, np.zeros((0, 3))
    )
    rows = np.array([[1e10, 1e10, 1.0], [1.0, 1.0, 1.0]])
    bounds = error_bounds(check(program), rows, "f32")
    assert np.isinf(bounds.scores[0]).all() and np.isfinite(bounds.scores[1]).all()
    assert np.isfinite(error_bounds(program, rows, "f64").scores).all()
