"""Lists of half-spaces in C: the interpreter's answers, in both profiles."""

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
from programs.lists import RECIPES, list_program, list_rows

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.lower import lower
from svmcompile.targets.c.node import emitted_tables

pytestmark = pytest.mark.compile

PROGRAMS = {case.replace(" ", "_"): list_program(recipe) for case, recipe in RECIPES.items()}


@pytest.fixture(scope="module", params=[(n, p) for n in ("f32", "f64") for p in ("portable", "host")])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A program with every list in it, and its number type."""
    number, profile = request.param
    command = next(iter(compilers().values()))
    folder = tmp_path_factory.mktemp("lists")
    return build(PROGRAMS, folder, number, command, "-O2", profile=profile), number


def results(built: tuple[Path, str], case: str, rows: Any) -> Result:
    name = case.replace(" ", "_")
    return run(built[0], name, PROGRAMS[name], rows, built[1])


@pytest.mark.parametrize("case", RECIPES)
def test_c_gives_the_answers_of_the_lists(case: str, built: tuple[Path, str]) -> None:
    program, number = list_program(RECIPES[case]), built[1]
    rows = list_rows(RECIPES[case], program, 5000, number)
    bounds, meant = error_bounds(program, rows, number), interpret(program, rows)
    found = results(built, case, rows)
    steady = ~bounds.unstable
    assert steady.mean() > 0.98
    assert (np.abs(found.scores - meant["scores"]) <= bounds.scores)[steady].all()
    assert (found.labels == meant["label"])[steady].all()


@pytest.mark.parametrize("case", RECIPES)
def test_rows_that_are_not_finite_are_treated_alike(case: str, built: tuple[Path, str]) -> None:
    program, d = list_program(RECIPES[case]), RECIPES[case].features
    rows = list_rows(RECIPES[case], program, 3 * d, built[1])
    for index, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(d) + index * d, np.arange(d)] = value
    meant, found = interpret(program, rows), results(built, case, rows)
    assert np.array_equal(found.scores, meant["scores"], equal_nan=True)
    assert (found.labels == meant["label"]).all()


@pytest.mark.parametrize("profile", ["portable", "host"])
def test_no_step_is_undefined(profile: str, tmp_path: Any) -> None:
    command = sanitizing_compiler()
    binary = build(PROGRAMS, tmp_path, "f32", command, *SANITIZE, profile=profile)
    for case, recipe in RECIPES.items():
        program = list_program(recipe)
        rows = list_rows(recipe, program, 100, "f32")
        rows[::7, 0], rows[::11, 1], rows[::13, 2] = np.nan, np.inf, -np.inf
        found = results((binary, "f32"), case, rows)
        assert (found.labels == interpret(program, rows)["label"]).mean() > 0.9


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("case", ["one", "int8", "dag", "guarded shifted"])
def test_report_counts_the_bytes_that_are_there(case: str, profile: Any) -> None:
    program = list_program(RECIPES[case])
    report = json.loads(sc.emit(program, "c", "model", profile=profile)["model.json"])
    machine = lower(program, "f32", profile)
    assert report["cost"]["table_bytes"] == sum(
        machine.tables[name].nbytes for name in emitted_tables(machine)
    )


@pytest.mark.parametrize(("compiler", "number", "profile"), warning_builds())
def test_no_warnings(compiler: str, number: str, profile: str, tmp_path: Any) -> None:
    assert_no_warnings(compiler, PROGRAMS, tmp_path, number, profile)
