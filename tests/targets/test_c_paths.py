"""Trees of kernel tests in C: every row takes its path, and has its value up to rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from c_build import (
    SANITIZE,
    assert_no_warnings,
    build,
    compilers,
    run,
    sanitizing_compiler,
    warning_builds,
)
from c_cases import real_type
from programs.paths import FEATURES, RECIPES, ROWS, path_program, path_rows

from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret

pytestmark = pytest.mark.compile


NAMED = {name.replace(" ", "_"): path_program(recipe) for name, recipe in RECIPES.items()}
# Trees whose sum is the number of the leaf.
LEAVES = {
    f"{name}_leaf": path_program(replace(RECIPES[name], leaf_only=True))
    for name in ("rbf", "deep", "large", "poly", "sigmoid", "linear")
}
Scores = Callable[[str, Any], Any]
BUILDS = [(number, profile) for number in ("f32", "f64") for profile in ("portable", "host")]


@pytest.fixture(scope="module", params=BUILDS, ids="-".join)
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Scores]:
    """A number type, and the scores of any of the trees as C of that type has them."""
    number, profile = request.param
    programs, command = NAMED | LEAVES, next(iter(compilers().values()))
    driver = build(programs, tmp_path_factory.mktemp("paths"), number, command, "-O2", profile=profile)

    def scores(name: str, rows: Any) -> Any:
        found = run(driver, name, programs[name], rows.astype(real_type(number)), number)
        assert found.failed == 0
        return found.scores

    return number, scores


@pytest.mark.parametrize("name", NAMED)
def test_c_gives_the_sum_of_the_path(name: str, built: tuple[Any, Scores]) -> None:
    (number, scores), program, rows = built, NAMED[name], path_rows(ROWS)
    bounds = error_bounds(program, rows, number)
    steady = ~bounds.unstable
    assert steady.mean() > 0.99
    error = np.abs(scores(name, rows) - interpret(program, rows)["scores"])
    assert (error <= bounds.scores)[steady].all()


@pytest.mark.parametrize("name", LEAVES)
def test_c_takes_the_path(name: str, built: tuple[Any, Scores]) -> None:
    (number, scores), program, rows = built, LEAVES[name], path_rows(ROWS)
    leaf = interpret(program, rows)["scores"]
    steady = ~error_bounds(program, rows, number).unstable
    assert steady.mean() > 0.99
    assert (scores(name, rows) == leaf)[steady].all()
    assert len(np.unique(leaf)) > 10


@pytest.mark.parametrize("name", NAMED)
def test_rows_that_are_not_finite_give_nan(name: str, built: tuple[Any, Scores]) -> None:
    rows = path_rows(3 * FEATURES)
    for index, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(FEATURES) + index * FEATURES, np.arange(FEATURES)] = value
    assert np.isnan(built[1](name, rows)).all()


@pytest.mark.parametrize(("compiler", "number", "profile"), warning_builds())
def test_no_warnings(compiler: str, number: str, profile: str, tmp_path: Any) -> None:
    assert_no_warnings(compiler, NAMED, tmp_path, number, profile)


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_step_is_undefined(number: str, tmp_path: Any) -> None:
    driver = build(NAMED, tmp_path, number, sanitizing_compiler(), *SANITIZE)
    rows = path_rows(300)
    rows[::7, 2] = np.nan
    rows[1::7] *= 1e30
    for name, program in NAMED.items():
        assert run(driver, name, program, rows.astype(real_type(number)), number).failed == 0
