"""Trees of kernel tests in C: every row takes its path, and has its value up to rounding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from c_build import (
    SANITIZE,
    WARNINGS,
    build,
    compile_quietly,
    compilers,
    run,
    sanitizing_compiler,
    write_all,
)
from programs.paths import FEATURES, RECIPES, ROWS, path_program, path_rows

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret

pytestmark = pytest.mark.compile


def scores_in_c(program: Any, rows: Any, folder: Any, number: str, profile: str) -> Any:
    sc.write(sc.emit(program, "c", "path", precision=number, profile=profile), folder)
    found = np.asarray(sc.load(folder).decision_function(rows, allow_nan=True))
    return found.reshape(len(rows), -1)


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("name", RECIPES)
def test_c_gives_the_sum_of_the_path(name: str, number: Any, profile: str, tmp_path: Any) -> None:
    program, rows = path_program(RECIPES[name]), path_rows(ROWS)
    found = scores_in_c(program, rows, tmp_path, number, profile)
    bounds = error_bounds(program, rows, number)
    steady = ~bounds.unstable
    print(f"{(~steady).sum()} of {ROWS} rows lie closer to a threshold than rounding")
    assert steady.mean() > 0.99
    assert (np.abs(found - interpret(program, rows)["scores"]) <= bounds.scores)[steady].all()


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("name", ["rbf", "deep", "large", "poly", "sigmoid", "linear"])
def test_c_takes_the_path(name: str, number: Any, profile: str, tmp_path: Any) -> None:
    program, rows = path_program(replace(RECIPES[name], leaf_only=True)), path_rows(ROWS)
    leaf = interpret(program, rows)["scores"]
    found = scores_in_c(program, rows, tmp_path, number, profile)
    steady = ~error_bounds(program, rows, number).unstable
    assert steady.mean() > 0.99
    assert (found == leaf)[steady].all()
    assert len(np.unique(leaf)) > 10


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("name", RECIPES)
def test_rows_that_are_not_finite_give_nan(name: str, profile: str, tmp_path: Any) -> None:
    program, rows = path_program(RECIPES[name]), path_rows(3 * FEATURES)
    for index, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(FEATURES) + index * FEATURES, np.arange(FEATURES)] = value
    assert np.isnan(scores_in_c(program, rows, tmp_path, "f32", profile)).all()


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_step_is_undefined_and_no_warning(number: str, tmp_path: Any) -> None:
    programs = {name.replace(" ", "_"): path_program(recipe) for name, recipe in RECIPES.items()}
    for profile in ("portable", "host"):
        folder = tmp_path / profile
        folder.mkdir()
        write_all(programs, folder, number, profile)
        for command in compilers().values():
            compile_quietly(command, folder, "-std=gnu99", *WARNINGS, "all.c", profile=profile)
    command = sanitizing_compiler()
    driver = build(programs, tmp_path / "sanitized", number, command, *SANITIZE)
    rows = path_rows(300)
    rows[::7, 2] = np.nan
    rows[1::7] *= 1e30
    for name, program in programs.items():
        given = rows.astype(np.float32 if number == "f32" else np.float64)
        assert run(driver, name, program, given, number).failed == 0
