"""Lists of half-spaces: what they mean, what they cost, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from programs.lists import RECIPES, list_program, list_rows

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.node import At, run
from svmcompile.ir.program import Program
from svmcompile.ir.store import from_bytes, to_bytes
from svmcompile.ir.walks import most_tests, plane_rows, walk_lists
from svmcompile.lower import lower
from svmcompile.optimise import optimise

# x0 > 1: 3; x1 > 2 (about the centre): -4; else 0.5
TABLES: dict[str, NDArray[Any]] = {
    "planes": np.array([[1.0, 0.0], [0.0, 1.0]]),
    "thresholds": np.array([1.0, 2.0]),
    "starts": np.array([0, 2], dtype=np.int32),
    "answers": np.array([3.0, -4.0]),
    "rest": np.array([0.5]),
    "centre": np.array([0.0, 10.0]),
}
NAMES = ("planes", "thresholds", "starts", "answers", "rest", "centre")
LIST = ir.PlaneLists("out", "x", *NAMES, "all")


@pytest.mark.parametrize(
    ("row", "score"),
    [
        ((2.0, 20.0), 3.0),  # both hold it, the first answers
        ((1.0, 20.0), -4.0),  # on a plane is not beyond it
        ((0.0, 12.0), 0.5),
        ((np.nan, 20.0), 0.5),  # NaN times zero is NaN
    ],
)
def test_the_first_half_space_answers(row: Any, score: float) -> None:
    assert run(LIST, {"x": np.array([row])}, TABLES).tolist() == [[score]]


def brute_force_dag(scores: list[float], k: int) -> list[float]:
    pairs = [(i, j) for i in range(k) for j in range(i + 1, k)]
    left = list(range(k))
    while len(left) > 1:
        score = scores[pairs.index((left[0], left[-1]))]
        if score == 0:
            return [0.0] * len(pairs)
        left = left[:-1] if score > 0 else left[1:]
    return [1.0 if i == left[0] else -1.0 if j == left[0] else 0.0 for i, j in pairs]


@pytest.mark.parametrize("case", [case for case in RECIPES if case.startswith("dag")])
def test_the_loser_of_a_pair_leaves(case: str) -> None:
    recipe = RECIPES[case]
    program = list_program(recipe)
    rows = list_rows(recipe, program, 300, "f64")
    node: Any = program.body[0]
    every = run(replace(node, order="all"), {"x": rows}, program.tables)
    found = run(node, {"x": rows}, program.tables)
    assert found.tolist() == [brute_force_dag(row, recipe.classes) for row in every.tolist()]


@pytest.mark.parametrize("case", RECIPES)
def test_no_row_is_held_against_more_planes_than_stated(case: str) -> None:
    recipe = RECIPES[case]
    program = list_program(recipe)
    node: Any = program.body[0]
    rows = list_rows(recipe, program, 500, "f64")
    tests = walk_lists(At(node, program.tables), rows - program.tables["centre"]).tests
    most = most_tests(At(node, program.tables))
    assert 0 < tests.max() <= most
    types: Any = {"x": ir.Type(ir.Kind.FEATURES, recipe.features)}
    mean = node.work(At(node, program.tables, types), At(node, program.tables, {"x": rows}))
    assert mean.flops == pytest.approx(recipe.features + tests.mean() * (2 * recipe.features + 1))
    assert mean.flops <= node.work(At(node, program.tables, types), None).flops
    nobody = replace(node, order="all") if recipe.order == "dag" else node
    if recipe.order == "all":
        assert most == len(program.tables["answers"])
    else:
        assert most <= most_tests(At(nobody, program.tables))


@pytest.mark.parametrize("case", RECIPES)
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_groups_of_planes_mean_the_same(case: str, number: Any) -> None:
    recipe = RECIPES[case]
    program = optimise(list_program(recipe))
    machine = lower(program, number, "host")
    node = next(node for node in machine.body if isinstance(node, ir.PlaneLists))
    assert np.array_equal(plane_rows(At(node, machine.tables)), lower(program, number).tables["planes"])
    rows = list_rows(recipe, program, 1000, number)
    steady = ~error_bounds(program, rows, number).unstable
    assert steady.mean() > 0.98
    assert np.array_equal(
        interpret(machine, rows)["label"][steady], interpret(program, rows)["label"][steady]
    )


def test_short_rows_are_tiled_and_long_ones_are_not() -> None:
    machines = {case: lower(list_program(RECIPES[case]), "f32", "host") for case in RECIPES}
    axes = {case: machine.tables["planes"].ndim for case, machine in machines.items()}
    assert axes["one"] == axes["pairs of one"] == 3
    assert axes["wide"] == axes["f16"] == axes["dag of one"] == 2


@pytest.mark.parametrize("case", ["pairs", "dag int8"])
def test_lists_are_stored(case: str) -> None:
    program = list_program(RECIPES[case])
    assert from_bytes(to_bytes(program)) == program
    machine = lower(program, "f32", "host")
    assert from_bytes(to_bytes(machine)) == machine


def test_rows_near_a_plane_that_was_looked_at_are_unstable() -> None:
    program = list_program(RECIPES["one"])
    tables = program.tables
    ends = np.zeros((3, 7))
    plane, threshold = tables["planes"][0], tables["thresholds"][0]
    ends[0] = plane * threshold / (plane @ plane)  # on the first plane
    ends[1] = ends[0] * 1.5  # well beyond it: what follows does not matter
    assert error_bounds(program, ends, "f32").unstable.tolist() == [True, False, False]


def test_scales_go_into_the_planes() -> None:
    """A scaling before the lists leaves the way, and the answers stay."""
    program = list_program(RECIPES["guarded shifted"])
    tables = {**program.tables, "s": np.full(7, 3.0), "f": np.linspace(0.5, 2, 7), "o": np.full(7, 0.25)}
    body = (ir.Scale("y", "x", "s", "f", "o"), *(_reading(node, "y") for node in program.body))
    scaled = check(program.replace(body=body, tables=tables))
    folded = optimise(scaled)
    assert next(node for node in folded.body if isinstance(node, ir.PlaneLists)).x == "x"
    rows = list_rows(RECIPES["guarded shifted"], program, 500, "f64") / tables["f"] + 3
    assert np.array_equal(interpret(folded, rows)["label"], interpret(scaled, rows)["label"])


def _reading(node: Any, x: str) -> Any:
    return replace(node, x=x) if getattr(node, "x", "") == "x" else node


def broken(**changes: Any) -> Program:
    program = list_program(RECIPES["dag"])
    tables = {**program.tables, **{name: change for name, change in changes.items() if name != "body"}}
    return program.replace(tables=tables, body=changes.get("body", program.body))


@pytest.mark.parametrize(
    ("table", "change", "problem"),
    [
        ("starts", lambda t: t[::-1].copy(), "starts do not rise"),
        ("thresholds", lambda t: t[1:], "thresholds"),
        ("planes", lambda t: t[:, 1:], "planes"),
        ("answers", lambda t: t * 0.1, "not float32"),
        ("rest", lambda t: t + 0.1, "not float32"),
        ("centre", lambda t: t + 0.1, "not float32"),
        ("planes", lambda t: t.astype(np.int32), "expected"),
    ],
)
def test_what_does_not_fit_is_refused(table: str, change: Any, problem: str) -> None:
    with pytest.raises(CheckError, match=problem):
        check(broken(**{table: change(list_program(RECIPES["dag"]).tables[table])}))


def test_a_graph_of_pairs_needs_all_pairs() -> None:
    starts = np.array([0, 0, 2], dtype=np.int32)
    tables = TABLES | {"starts": starts, "rest": np.array([1.0, 0.0])}
    with pytest.raises(ValueError, match="one list per pair"):
        node = replace(LIST, order="dag")
        node.result(At(node, tables, {"x": ir.Type(ir.Kind.FEATURES, 2)}))


def test_only_undecided_rows_reach_the_exact_sums() -> None:
    for case in ("guarded", "dag guarded"):
        program = list_program(RECIPES[case])
        rows = list_rows(RECIPES[case], program, 400, "f64")
        found = interpret_values(program, rows, {"lists", "exact", "guarded"})
        undecided = (found["lists"] == 0).all(axis=1)
        assert 0.02 < undecided.mean() < 0.98
        assert np.array_equal(found["guarded"][undecided], found["exact"][undecided])
        assert np.array_equal(found["guarded"][~undecided], found["lists"][~undecided])
        assert program.cost(rows).mean_kernel_evaluations == pytest.approx(30 * undecided.mean())
