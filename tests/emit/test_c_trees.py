"""Trees in C take every row to the leaf the program says, and give its value up to rounding."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from c_build import SANITIZE, WARNINGS, build, compile_c, compilers, run, sanitizing_compiler, write_all
from tree_programs import FEATURES, RECIPES, tree_program, tree_rows

import svmcompile as sc
from svmcompile.emit.c_nodes import emitted_tables
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret, margins
from svmcompile.lower import lower

pytestmark = pytest.mark.compile

ROWS = 20_000


def loaded(program: Any, folder: Any, number: str, profile: str) -> Any:
    sc.write(sc.emit(program, "c", "tree", precision=number, profile=profile), folder)
    return sc.load(folder)


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("case", RECIPES)
def test_c_gives_the_value_of_the_leaf(case: str, number: Any, profile: str, tmp_path: Any) -> None:
    program = tree_program(RECIPES[case])
    rows = tree_rows(RECIPES[case], program, ROWS, number)
    fast = loaded(program, tmp_path, number, profile)
    bounds, meant = error_bounds(program, rows, number), interpret(program, rows)
    scores = np.asarray(fast.decision_function(rows)).reshape(meant["scores"].shape)
    steady = ~bounds.unstable
    assert steady.mean() > 0.99
    assert (np.abs(scores - meant["scores"]) <= bounds.scores)[steady].all()
    labels = program.labels.array()[meant["label"]]  # type: ignore[union-attr]
    assert (fast.predict(rows) == labels)[steady].all()


@pytest.mark.parametrize("case", [case for case in RECIPES if case.startswith("axis")])
def test_rows_on_a_threshold_go_left_in_both_precisions(case: str, tmp_path: Any) -> None:
    """No row is excused for its way through a tree of single features: comparisons are exact."""
    program = tree_program(RECIPES[case])
    rows = tree_rows(RECIPES[case], program, 2000, "f32")
    meant = interpret(program, rows)["scores"]
    bounds = error_bounds(program, rows, "f32")
    if RECIPES[case].guard in (None, 0.0) and not RECIPES[case].reach:
        for number in ("f32", "f64"):
            fast = loaded(program, tmp_path / number, number, "host")
            scores = np.asarray(fast.decision_function(rows)).reshape(meant.shape)
            assert (np.abs(scores - meant) <= bounds.scores).all()


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("case", RECIPES)
def test_rows_that_are_not_finite_give_nan(case: str, profile: str, tmp_path: Any) -> None:
    program = tree_program(RECIPES[case])
    rows = tree_rows(RECIPES[case], program, 3 * FEATURES, "f32")
    for index, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(FEATURES) + index * FEATURES, np.arange(FEATURES)] = value
    fast = loaded(program, tmp_path, "f32", profile)
    assert np.isnan(interpret(program, rows)["scores"]).all()
    assert np.isnan(fast.decision_function(rows)).all()
    assert (fast.predict(rows) == program.predict(rows)).all()


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_step_is_undefined(number: str, tmp_path: Any) -> None:
    command = sanitizing_compiler()
    if command is None:
        pytest.skip("no compiler here has the run-time libraries of its sanitizers")
    names = {case: case.replace(" ", "_") for case in RECIPES}
    programs = {name: tree_program(RECIPES[case]) for case, name in names.items()}
    binary = build(programs, tmp_path, number, command, *SANITIZE)
    for case, name in names.items():
        rows = tree_rows(RECIPES[case], programs[name], 200, number)
        rows[::7, 0], rows[::11, 1], rows[::13, 2] = np.nan, np.inf, -np.inf
        result = run(binary, name, programs[name], rows, number)
        assert (result.labels == interpret(programs[name], rows)["label"]).mean() > 0.9


@pytest.mark.parametrize("case", RECIPES)
def test_report_counts_the_bytes_that_are_there(case: str, tmp_path: Any) -> None:
    program = tree_program(RECIPES[case])
    files = sc.emit(program, "c", "tree", profile="portable")
    machine = lower(program, "f32", "portable")
    counted = json.loads(files["tree.json"])["cost"]["table_bytes"]
    assert counted == sum(machine.tables[name].nbytes for name in emitted_tables(machine))
    if RECIPES[case].table == "int8" and not RECIPES[case].axis:
        assert machine.tables["planes"].dtype == np.int8
        assert "int8_t tree_planes" in str(files["tree.c"])


def test_trees_take_little_room() -> None:
    """A small tree stands in the code; a large one has a byte per feature, two for each link."""
    for case, per_test in (("axis", 0), ("axis many", 1 + 4 + 2 * 2)):
        leaves = RECIPES[case].leaves
        files = sc.emit(tree_program(RECIPES[case]), "c", "tree", profile="portable")
        centre = 4 * FEATURES if RECIPES[case].shifted else 0
        expected = (leaves - 1) * per_test + leaves * 4 * (FEATURES + 1) + centre
        assert json.loads(files["tree.json"])["cost"]["table_bytes"] == expected


def test_guard_meets_the_vectors_only_where_it_must() -> None:
    program = tree_program(RECIPES["axis guarded"])
    rows = tree_rows(RECIPES["axis guarded"], program, ROWS, "f64")
    unguarded = interpret(tree_program(RECIPES["axis"]), rows)["scores"]
    share = (margins(unguarded, "sign") < 0.5).mean()
    cost = program.cost(rows)
    assert 0 < share < 1
    assert cost.mean_kernel_evaluations == pytest.approx(share * 40)
    assert cost.max_kernel_evaluations == 40


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("compiler", compilers())
def test_no_warnings(compiler: str, number: str, profile: str, tmp_path: Any) -> None:
    programs = {case.replace(" ", "_"): tree_program(recipe) for case, recipe in RECIPES.items()}
    write_all(programs, tmp_path, number, profile)
    style = ("-std=c99",) if profile == "portable" else ("-std=gnu99",)
    warnings = [flag for flag in WARNINGS if profile == "portable" or flag != "-pedantic"]
    compile_c(compilers()[compiler], tmp_path, *style, "-O2", *warnings, "-c", "all.c", "-o", "all.o")
