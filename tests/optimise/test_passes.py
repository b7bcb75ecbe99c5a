"""Every pass keeps the meaning, leaves alone what it cannot better, and says what it saved."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from programs.strategies import origin, programs
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import svmcompile as sc
from svmcompile.accelerate.registry import accelerate
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.cost import flops, table_bytes
from svmcompile.ir.graph import own_tables
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.program import Input, Labels, Output, Program
from svmcompile.optimise import PASSES, Pass, optimise
from svmcompile.optimise.fold import collapse_linear, collapse_quadratic, fold_scales
from svmcompile.read import read

Array = NDArray[Any]
# Both programs are within their float64 bounds of the true value; the tables a pass makes are rounded too.
FACTOR = 4.0
each_pass = st.sampled_from(PASSES)


def assert_same_meaning(before: Program, after: Program, rows: Array) -> None:
    """Equal within float64 rounding; equal labels wherever rounding cannot change them."""
    old, new = interpret(before, rows), interpret(after, rows)
    bounds = [error_bounds(program, rows, "f64") for program in (before, after)]
    steady = ~(bounds[0].unstable | bounds[1].unstable)
    name = "scores" if "scores" in old else "value"
    error = np.abs(old[name] - new[name])[steady]
    assert (error <= FACTOR * (bounds[0].scores + bounds[1].scores)[steady]).all()
    if "label" in old:
        assert (old["label"] == new["label"])[steady].all()


@settings(max_examples=200, deadline=None)
@given(programs(), each_pass)
def test_a_pass_keeps_the_meaning(program: Program, a_pass: Pass) -> None:
    program = own_tables(program)
    assert_same_meaning(program, check(a_pass(program)), program.probes)


@settings(max_examples=150, deadline=None)
@given(programs())
def test_all_passes_keep_the_meaning(program: Program) -> None:
    assert_same_meaning(program, optimise(program), program.probes)


@settings(max_examples=150, deadline=None)
@given(programs(), st.sampled_from([np.nan, np.inf, -np.inf]), st.integers(0, 3))
def test_rows_that_are_not_finite_keep_their_meaning(program: Program, value: float, at: int) -> None:
    rows = program.probes.copy()
    rows[:, at % rows.shape[1]] = value
    old, new = interpret(program, rows), interpret(optimise(program), rows)
    for name in old:
        np.testing.assert_array_equal(np.isnan(old[name]), np.isnan(new[name]))
    if np.isnan(old.get("scores", [0.0])).all():
        np.testing.assert_array_equal(old["label"], new["label"])


@settings(max_examples=150, deadline=None)
@given(programs(), each_pass)
def test_a_second_time_nothing_changes(program: Program, a_pass: Pass) -> None:
    once = a_pass(own_tables(program))
    assert a_pass(once) is once


@settings(max_examples=60, deadline=None)
@given(programs())
def test_an_optimised_program_is_left_alone(program: Program) -> None:
    once = optimise(program)
    assert optimise(once) is once


@settings(max_examples=100, deadline=None)
@given(programs())
def test_savings_are_what_was_saved(program: Program) -> None:
    seen: list[tuple[str, Program]] = [("", program)]
    result = optimise(program, lambda name, after: seen.append((name, after)))
    changes = [
        (name, before, after) for (_, before), (name, after) in pairwise(seen) if after is not before
    ]
    assert [name for name, _ in seen[1:]] == [a_pass.__name__ for a_pass in PASSES]
    assert len(changes) == len(result.origin.savings)
    for saving, (name, before, after) in zip(result.origin.savings, changes, strict=True):
        assert saving.by == name
        assert saving.flops == (flops(before), flops(after))
        assert saving.table_bytes == (table_bytes(before), table_bytes(after))


def of(body: Any, tables: Any, outputs: Any, width: int, classes: int = 0) -> Program:
    """A program from its parts."""
    arrays = {name: np.asarray(table, dtype=np.float64) for name, table in tables.items()}
    labels = Labels(tuple(range(classes)), "<i8") if classes else None
    named = tuple(Output(name, value) for name, value in outputs.items())
    return check(Program(Input(width), tuple(body), named, arrays, labels, origin()))


def regressor(kernel: Kernel, n: int, width: int) -> Program:
    """One kernel sum of n random vectors."""
    random = np.random.default_rng(0)
    tables = {"v": random.normal(size=(n, width)), "w": random.normal(size=(1, n)), "b": [0.5]}
    return of([ir.KernelSum("k", "x", "v", "w", "b", kernel)], tables, {"value": "k"}, width)


def kinds(program: Program) -> list[str]:
    return [type(node).__name__ for node in program.body]


@pytest.mark.parametrize(
    ("a_pass", "kernel", "n", "width", "acts"),
    [
        (collapse_linear, Kernel("linear"), 1, 4, True),
        (collapse_linear, Kernel("poly", 2.0, 1.0, 1), 50, 4, True),
        (collapse_linear, Kernel("poly", 2.0, 1.0, 0), 50, 4, True),
        (collapse_linear, Kernel("poly", 2.0, 1.0, 2), 50, 4, False),
        (collapse_linear, Kernel("rbf"), 50, 4, False),
        (collapse_linear, Kernel("rbf"), 0, 4, True),
        (collapse_linear, Kernel("sigmoid"), 0, 4, True),
        (collapse_quadratic, Kernel("poly", 2.0, 1.0, 2), 200, 8, True),
        (collapse_quadratic, Kernel("poly", 2.0, 1.0, 2), 20, 64, False),
        (collapse_quadratic, Kernel("poly", 2.0, 1.0, 3), 200, 4, False),
        (collapse_quadratic, Kernel("linear"), 200, 4, False),
    ],
)
def test_collapse_acts_only_where_that_is_cheaper(
    a_pass: Pass, kernel: Kernel, n: int, width: int, acts: bool
) -> None:
    program = regressor(kernel, n, width)
    after = a_pass(program)
    assert (after is not program) == acts
    if acts and n:
        assert flops(after) - width < flops(program)  # the centring is for accuracy
    rows = np.random.default_rng(1).normal(size=(20, width))
    assert_same_meaning(program, after, rows)


def test_many_sums_of_few_vectors_stay() -> None:
    tables = {"v": np.ones((1, 9)), "w": np.ones((3, 1)), "b": np.zeros(3)}
    body = [ir.KernelSum("k", "x", "v", "w", "b", Kernel("linear")), ir.ArgMax("label", "k")]
    program = of(body, tables, {"scores": "k", "label": "label"}, 9, 3)
    assert collapse_linear(program) is program


def test_a_sum_without_vectors_is_its_bias_and_still_knows_nan() -> None:
    program = collapse_linear(regressor(Kernel("rbf"), 0, 2))
    assert kinds(program) == ["Affine"]
    np.testing.assert_array_equal(program.predict([[1.0, 2.0], [np.nan, 0.0]]), [0.5, np.nan])


IRIS = load_iris(return_X_y=True)
COMPILED = {
    "svc-linear": (SVC(kernel="linear"), ["Affine", "OvrScores", "Vote"]),
    "svc-poly2": (SVC(kernel="poly", degree=2, C=0.01), ["Quadratic", "OvrScores", "Vote"]),
    "svc-rbf": (SVC(), ["Scale", "PairSum", "OvrScores", "Vote"]),
    "svc-sigmoid": (SVC(kernel="sigmoid"), ["PairSum", "OvrScores", "Vote"]),
    "svr-linear": (SVR(kernel="linear"), ["Affine"]),
    "linear-svc": (LinearSVC(), ["Affine", "ArgMax"]),
    "scaled-linear-svc": (make_pipeline(StandardScaler(), LinearSVC()), ["Affine", "ArgMax"]),
    "scaled-twice": (make_pipeline(MinMaxScaler(), StandardScaler(), LinearSVR(max_iter=9999)), ["Affine"]),
    "scaled-rbf": (make_pipeline(StandardScaler(), SVC()), ["Scale", "PairSum", "OvrScores", "Vote"]),
    "clipped": (
        make_pipeline(MinMaxScaler(clip=True), StandardScaler(), SVC(kernel="linear")),
        ["Scale", "Clip", "Affine", "OvrScores", "Vote"],
    ),
}


@pytest.mark.parametrize("name", COMPILED)
def test_what_becomes_of_real_models(name: str) -> None:
    model, expected = COMPILED[name]
    X, y = IRIS
    model.fit(X, y)
    program = sc.compile(model)
    assert kinds(program) == expected
    assert_same_meaning(accelerate(read(model), None, "exact", {}), program, X)


def test_scales_fold_only_where_one_node_reads_them() -> None:
    tables = {f"{name}{i}": np.full(2, i + 1.0) for name in "sfo" for i in range(3)}
    tables |= {f"{name}{i}": np.ones((1, 2)) if name == "w" else np.ones(1) for name in "wb" for i in "ab"}
    tables |= {"ca": np.zeros(2), "cb": np.zeros(2)}
    chain = [ir.Scale(f"z{i}", f"z{i - 1}" if i else "x", f"s{i}", f"f{i}", f"o{i}") for i in range(3)]
    heads = [ir.Affine(f"a{i}", "z2", f"w{i}", f"b{i}", f"c{i}") for i in "ab"]
    body = [*chain, *heads, ir.Threshold("label", "ab", True, 1, 0)]
    program = of(body, tables, {"scores": "aa", "label": "label"}, 2, 2)
    folded = fold_scales(program)
    assert kinds(folded) == ["Scale", "Affine", "Affine", "Threshold"]
    assert_same_meaning(program, folded, np.random.default_rng(0).normal(size=(9, 2)))


def test_scales_that_would_overflow_are_not_folded() -> None:
    tables = {"s": np.zeros(1), "f": [1e-200], "o": [0.0], "s1": [0.0], "f1": [1e200], "o1": [1.0]}
    tables |= {"s2": [0.0], "f2": [1e200], "o2": [0.0], "w": [[1.0]], "b": [0.0], "c": [0.0]}
    body = [
        ir.Scale("z0", "x", "s1", "f1", "o1"),
        ir.Scale("z1", "z0", "s2", "f2", "o2"),
        ir.Affine("a", "z1", "w", "b", "c"),
    ]
    del tables["s"], tables["f"], tables["o"]
    program = of(body, tables, {"value": "a"}, 1)
    assert "Scale" in kinds(check(optimise(program)))


def shared() -> Program:
    """Two RBF sums over the same vectors, a scaling that reads one table twice, and clashing names."""
    random = np.random.default_rng(3)
    tables = {
        "zero": np.zeros(2), "a_offset": random.uniform(1, 2, 2), "v": random.normal(5, 1, (6, 2)),
        "w": random.normal(size=(1, 6)), "a_shift": random.normal(size=1), "u": random.normal(size=(1, 6)),
    }  # fmt: skip
    body = [
        ir.Scale("a_x", "x", "zero", "a_offset", "zero"),
        ir.KernelSum("a", "a_x", "v", "w", "a_shift", Kernel("rbf", 0.1)),
        ir.KernelSum("b", "x", "v", "u", "a_shift", Kernel("rbf", 0.2)),
        ir.Threshold("label", "b", True, 1, 0),
    ]
    return of(body, tables, {"scores": "a", "label": "label"}, 2, 2)


def test_shared_tables_and_taken_names() -> None:
    program = shared()
    rows = np.random.default_rng(4).normal(5, 1, (50, 2))
    assert_same_meaning(program, optimise(program), rows)
    assert optimise(program).origin.savings[0].by == "own_tables"


def test_long_names_leave_room_for_new_ones() -> None:
    long = "k" * 40
    tables = {"v": np.ones((3, 1)), "w": np.ones((1, 3)), "b": [0.0]}
    body = [ir.KernelSum(long, "x", "v", "w", "b", Kernel("rbf"))]
    program = optimise(of(body, tables, {"value": long}, 1))
    assert kinds(program) == ["Scale", "KernelSum"]
    assert len(set(program.tables)) == 6
