"""Taylor polynomials in C for rows of all lengths: no label changes, in any profile or instruction set."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import (
    LEVELS,
    SANITIZE,
    WARNINGS,
    build,
    compile_quietly,
    compilers,
    run,
    sanitizing_compiler,
    write_all,
)
from c_cases import real_type
from taylor_cases import SIZES, Case, made, near_and_far

from svmcompile.ir.interpret import interpret
from svmcompile.ir.nodes import TiledTaylor
from svmcompile.lower import lower

pytestmark = pytest.mark.compile

MANY = 1000  # rows, which with those near the boundary are more than go through a batch at once
COMPILED = ("d1", "d2", "d5_axes", "d13", "d17_walk", "d22", "d61", "d5_cubic", "d17_quartic")


@cache
def cases() -> dict[str, Case]:
    return {name: made(*recipe) for name, recipe in SIZES.items()}


@cache
def rows_of(name: str) -> tuple[Any, Any]:
    """Rows and the original's labels, with some that are not finite at the end."""
    case = cases()[name]
    rows = near_and_far(case, 800 if case.X.shape[1] > 100 else MANY)
    odd = np.repeat(rows[:3], 3, axis=0)
    odd[:3, 0], odd[3:6, -1], odd[6:, -1] = np.nan, np.inf, -np.inf
    expected = np.concatenate([case.model.predict(rows), interpret(case.program, odd)["label"]])
    return np.vstack([rows, odd]), expected


def programs() -> Any:
    return {name: cases()[name].program for name in COMPILED}


def levels() -> list[tuple[str, str]]:
    """Number types and instruction sets: each of them, and all that there are for float32."""
    best = next(iter(LEVELS))
    return [("f64", "portable"), ("f32", "portable"), ("f64", best), *(("f32", level) for level in LEVELS)]


@pytest.mark.parametrize(("number", "level"), levels())
def test_no_label_changes(number: Any, level: str, tmp_path: Path) -> None:
    profile = "portable" if level == "portable" else "host"
    without = [f"-D{name.upper()}_NO_{isa}" for name in SIZES for isa in LEVELS.get(level, [])]
    compiler = [*compilers().values()][-1 if level == "avx2" else 0]
    binary = build(
        programs(),
        tmp_path,
        number,
        compiler,
        "-O0" if level == "portable" else "-O1",
        *without,
        profile=profile,
    )
    for name, program in programs().items():
        rows, expected = rows_of(name)
        found = run(binary, name, program, rows.astype(real_type(number)), number).labels
        assert (found == expected).all(), name


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_the_tiled_node_means_the_same(number: Any, name: str) -> None:
    case = cases()[name]
    machine = lower(case.program, number, "host")
    assert any(isinstance(node, TiledTaylor) for node in machine.body)
    rows = rows_of(name)[0][-200:]
    assert (interpret(machine, rows)["label"] == interpret(case.program, rows)["label"]).all()


@pytest.mark.parametrize(("number", "profile"), [("f32", "portable"), ("f32", "host"), ("f64", "host")])
@pytest.mark.parametrize("compiler", compilers())
def test_no_compiler_complains(compiler: str, number: Any, profile: str, tmp_path: Path) -> None:
    write_all(programs(), tmp_path, number, profile=profile)
    compile_quietly(compilers()[compiler], tmp_path, "-std=c99", "-O0", *WARNINGS, "all.c")


@pytest.mark.parametrize("level", ["portable", next(iter(LEVELS))])
def test_no_step_is_undefined(level: str, tmp_path: Path) -> None:
    profile = "portable" if level == "portable" else "host"
    some = dict(list(programs().items())[1::3])  # sanitizers make compilers slow
    without = [f"-D{name.upper()}_NO_{isa}" for name in some for isa in LEVELS.get(level, [])]
    binary = build(some, tmp_path, "f32", sanitizing_compiler(), *SANITIZE, *without, profile=profile)
    for name, program in some.items():
        rows, expected = rows_of(name)
        few = rows[-60:].astype(np.float32)
        assert (run(binary, name, program, few, "f32").labels == expected[-60:]).all(), name
