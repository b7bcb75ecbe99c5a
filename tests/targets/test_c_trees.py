"""Trees in C take every row to the leaf the program says, and give its value up to rounding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import (
    SANITIZE,
    Result,
    assert_no_warnings,
    build,
    compilers,
    run,
    sanitizing_compiler,
    warning_builds,
)  # fmt: skip
from c_cases import real_type
from programs.routes import FEATURES, RECIPES, tree_program, tree_rows

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.nodes.decisions import margins
from svmcompile.lower import lower
from svmcompile.targets.c.node import emitted_tables

pytestmark = pytest.mark.compile

ROWS = 20_000
PROGRAMS = {case.replace(" ", "_"): tree_program(recipe) for case, recipe in RECIPES.items()}
FREE_OF_EXCUSES = [
    case
    for case, recipe in RECIPES.items()
    if recipe.axis and recipe.guard in (None, 0.0) and not recipe.reach
]


@pytest.fixture(scope="module", params=[(n, p) for n in ("f32", "f64") for p in ("portable", "host")])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A program with every tree in it, and its number type."""
    number, profile = request.param
    command = next(iter(compilers().values()))
    folder = tmp_path_factory.mktemp("trees")
    return build(PROGRAMS, folder, number, command, "-O2", profile=profile), number


def results(built: tuple[Path, str], case: str, rows: Any) -> Result:
    return run(built[0], case.replace(" ", "_"), PROGRAMS[case.replace(" ", "_")], rows, built[1])


@pytest.mark.parametrize("case", RECIPES)
def test_c_gives_the_value_of_the_leaf(case: str, built: tuple[Path, Any]) -> None:
    program, number = tree_program(RECIPES[case]), built[1]
    rows = tree_rows(RECIPES[case], program, ROWS, number)
    bounds, meant = error_bounds(program, rows, number), interpret(program, rows)
    found = results(built, case, rows)
    steady = ~bounds.unstable
    assert steady.mean() > 0.99
    assert (np.abs(found.scores - meant["scores"]) <= bounds.scores)[steady].all()
    assert (found.labels == meant["label"])[steady].all()


@pytest.mark.parametrize("case", FREE_OF_EXCUSES)
def test_rows_on_a_threshold_go_left_in_both_precisions(case: str, built: tuple[Path, Any]) -> None:
    """No row is excused for its way through a tree of single features: comparisons are exact."""
    program = tree_program(RECIPES[case])
    rows = tree_rows(RECIPES[case], program, 2000, "f32").astype(real_type(built[1]))
    bounds, meant = error_bounds(program, rows, built[1]), interpret(program, rows)["scores"]
    assert (np.abs(results(built, case, rows).scores - meant) <= bounds.scores).all()


@pytest.mark.parametrize("case", RECIPES)
def test_rows_that_are_not_finite_give_nan(case: str, built: tuple[Path, str]) -> None:
    program = tree_program(RECIPES[case])
    rows = tree_rows(RECIPES[case], program, 3 * FEATURES, built[1])
    for index, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(FEATURES) + index * FEATURES, np.arange(FEATURES)] = value
    meant, found = interpret(program, rows), results(built, case, rows)
    assert np.isnan(meant["scores"]).all()
    assert np.isnan(found.scores).all()
    assert (found.labels == meant["label"]).all()


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_step_is_undefined(number: str, tmp_path: Any) -> None:
    command = sanitizing_compiler()
    binary = build(PROGRAMS, tmp_path, number, command, *SANITIZE)
    for case, recipe in RECIPES.items():
        program = tree_program(recipe)
        rows = tree_rows(recipe, program, 200, number)
        rows[::7, 0], rows[::11, 1], rows[::13, 2] = np.nan, np.inf, -np.inf
        found = results((binary, number), case, rows)
        assert (found.labels == interpret(program, rows)["label"]).mean() > 0.9


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


@pytest.mark.parametrize(("compiler", "number", "profile"), warning_builds())
def test_no_warnings(compiler: str, number: str, profile: str, tmp_path: Any) -> None:
    assert_no_warnings(compiler, PROGRAMS, tmp_path, number, profile)
