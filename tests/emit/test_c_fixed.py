"""C in whole numbers gives the very numbers of the interpreter, and nothing overflows on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emit.c_build import assert_no_warnings, build, compilers, run, sanitizing_compiler
from fixed_programs import fixed_programs, math_programs, rows_of

from svmcompile.ir.fixed_bounds import is_exact
from svmcompile.ir.interpret import interpret

NUMBERS = ("q7", "q15")
FLAGS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-std=c99")


@pytest.fixture(scope="module", params=NUMBERS)
def built(request: Any, tmp_path_factory: Any) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    programs = fixed_programs(request.param)
    return request.param, build(programs, folder, request.param, sanitizing_compiler(), *FLAGS)


@pytest.mark.parametrize("name", math_programs())
def test_c_is_the_interpreter_to_the_last_bit(name: str, built: tuple[str, Path]) -> None:
    precision, driver = built
    program = fixed_programs(precision)[name]
    rows = np.vstack([rows_of(program, 200, seed=1), nasty_rows(program.n_features)]).astype(np.float32)
    found, meant = run(driver, name, program, rows, precision), interpret(program, rows)
    assert found.failed == 0
    if "label" in meant and is_exact(program):
        assert np.array_equal(found.labels, meant["label"])
    scores = meant.get("scores", meant.get("value"))
    if scores is not None and is_exact(program):
        assert np.array_equal(found.scores, scores.astype(np.float32), equal_nan=True)


def nasty_rows(width: int) -> Any:
    """Far out, infinite, not a number, and zero."""
    numbers = [0.0, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-40, 3.0]
    return np.array([np.full(width, number) for number in numbers] + [np.resize(numbers, width)])


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("compiler", compilers())
def test_compilers_have_nothing_to_say(compiler: str, number: str, tmp_path: Path) -> None:
    assert_no_warnings(compiler, fixed_programs(number), tmp_path, number, "portable")
