"""Trees of kernel tests in ONNX: the same paths and sums as the interpreter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from programs.paths import FEATURES, RECIPES, ROWS, path_program, path_rows

from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.runtime.onnx import load_onnx
from svmcompile.targets.onnx.model import emit

CASES = [*RECIPES, "wide"]


def program_of(name: str, leaf_only: bool = False) -> Any:
    recipe = replace(RECIPES["large"], nodes=400) if name == "wide" else RECIPES[name]
    return path_program(replace(recipe, leaf_only=leaf_only) if leaf_only else recipe)


def outputs(program: Any, rows: Any, precision: Any) -> Any:
    content = emit(program, "m", precision)["m.onnx"]
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    return load_onnx(content, program.labels, program.n_features).outputs(rows)


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("name", CASES)
def test_onnx_gives_the_sum_of_the_path(name: str, precision: Any) -> None:
    program, rows = program_of(name), path_rows(ROWS)
    found, meant = outputs(program, rows, precision), interpret(program, rows)
    bounds = error_bounds(program, rows, precision)
    steady = ~bounds.unstable
    assert steady.mean() > 0.99
    # Scores are rounded to the number type once more.
    rounding = np.finfo(np.float32 if precision == "f32" else np.float64).eps * np.abs(meant["scores"])
    assert (np.abs(found["scores"] - meant["scores"]) <= bounds.scores + rounding)[steady].all()
    assert (found["label"] == meant["label"])[steady].all()


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("name", ["rbf", "deep", "wide", "poly"])
def test_onnx_takes_the_path(name: str, precision: Any) -> None:
    program, rows = program_of(name, leaf_only=True), path_rows(ROWS)
    steady = ~error_bounds(program, rows, precision).unstable
    leaf = interpret(program, rows)["scores"]
    assert (outputs(program, rows, precision)["scores"] == leaf)[steady].all()


@pytest.mark.parametrize("name", CASES)
def test_rows_that_are_not_finite_give_nan(name: str) -> None:
    rows = path_rows(3 * FEATURES)
    for index, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(FEATURES) + index * FEATURES, np.arange(FEATURES)] = value
    found = outputs(program_of(name), rows, "f32")
    assert np.isnan(found["scores"]).all()
    assert (found["label"] == interpret(program_of(name), rows)["label"]).all()


@pytest.mark.parametrize("count", [0, 1, 3])
def test_any_number_of_rows(count: int) -> None:
    program, rows = program_of("large"), path_rows(5)[:count]
    found = outputs(program, rows, "f64")["scores"]
    np.testing.assert_allclose(found, interpret(program, rows)["scores"], rtol=1e-10)
