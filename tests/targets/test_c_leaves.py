"""Sums of leaves in C: the interpreter's leaf, always, and its scores up to rounding."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import (
    LEVELS,
    SANITIZE,
    assert_no_warnings,
    build,
    compilers,
    run,
    sanitizing_compiler,
    stack_frames,
    stated_stack,
    warning_builds,
)  # fmt: skip
from programs.leaves import FEATURES, RECIPES, leaf_program, leaf_rows

import svmcompile as sc
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret

pytestmark = pytest.mark.compile

ROWS = 12_000
PROGRAMS = {case: leaf_program(recipe) for case, recipe in RECIPES.items()}
SPILLS = 1200  # what registers, addresses and alignment may take besides the arrays


def name_of(case: str) -> str:
    return case.replace(" ", "_").replace(",", "")


NAMED = {name_of(case): program for case, program in PROGRAMS.items()}
# One of each rule, and every macro of kernels among them.
FEW = (
    "two classes",
    "two classes, large",
    "two classes, large sigmoid",
    "two classes, linear",
    "all pure",
    "votes",
    "votes, sigmoid",
    "one against others, poly",
)
FEW_NAMED = {name_of(case): PROGRAMS[case] for case in FEW}
ALL_CASES = [("f32", "portable", ""), ("f64", "portable", ""), ("f32", "host", ""), ("f64", "host", "")]
SOME_CASES = [("f32", "host", level) for level, left_out in LEVELS.items() if left_out]
CASES = [(build, case) for build in ALL_CASES for case in RECIPES]
CASES += [(build, case) for build in SOME_CASES for case in FEW]
each_case = pytest.mark.parametrize(("build_of", "case"), CASES)


Build = tuple[str, str, str]
Builder = Callable[[Build], Path]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Makes a program with all cases in it, or with some, once for each build."""

    @cache
    def made(build_of: Build) -> Path:
        number, profile, level = build_of
        programs = FEW_NAMED if level else NAMED
        left_out = [f"-D{name.upper()}_NO_{isa}" for name in programs for isa in LEVELS.get(level, [])]
        command, folder = next(iter(compilers().values())), tmp_path_factory.mktemp("leaves")
        return build(programs, folder, number, command, "-O2", *left_out, profile=profile)

    return made


@each_case
def test_c_gives_the_scores_of_the_leaf(build_of: Any, case: str, built: Builder) -> None:
    """No row is excused for its way through the tree, be it on a threshold or next to one."""
    program, driver, number = PROGRAMS[case], built(build_of), build_of[0]
    rows = leaf_rows(RECIPES[case], program, ROWS, number)
    bounds, meant = error_bounds(program, rows, number), interpret(program, rows)
    found = run(driver, name_of(case), program, rows, number)
    steady = ~bounds.unstable
    assert steady.mean() > 0.99
    if RECIPES[case].rule == "vote":
        assert (found.scores == meant["scores"])[steady].all()
    assert (np.abs(found.scores - meant["scores"]) <= bounds.scores)[steady].all()
    assert (found.labels == meant["label"])[steady].all()
    assert found.failed == 0


@each_case
def test_rows_that_are_not_finite_give_nan(build_of: Any, case: str, built: Builder) -> None:
    program, driver, number = PROGRAMS[case], built(build_of), build_of[0]
    rows = leaf_rows(RECIPES[case], program, 3 * FEATURES, number)
    for index, value in enumerate((np.nan, np.inf, -np.inf)):
        rows[np.arange(FEATURES) + index * FEATURES, np.arange(FEATURES)] = value
    meant, found = interpret(program, rows), run(driver, name_of(case), program, rows, number)
    assert np.isnan(meant["scores"]).all()
    assert np.isnan(found.scores).all()
    assert (found.labels == meant["label"]).all()


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_no_step_is_undefined(number: str, profile: str, tmp_path: Any) -> None:
    command = sanitizing_compiler()
    binary = build(FEW_NAMED, tmp_path, number, command, *SANITIZE[1:], profile=profile)
    for case in FEW:
        program = PROGRAMS[case]
        rows = leaf_rows(RECIPES[case], program, 300, number)
        rows[::7, 0], rows[::11, 1], rows[::13, 2] = np.nan, np.inf, -np.inf
        found = run(binary, name_of(case), program, rows, number)
        assert (found.labels == interpret(program, rows)["label"]).mean() > 0.95


@pytest.mark.parametrize(("compiler", "number", "profile"), warning_builds())
def test_no_warnings(compiler: str, number: str, profile: str, tmp_path: Any) -> None:
    assert_no_warnings(compiler, FEW_NAMED, tmp_path, number, profile)


@pytest.mark.parametrize("profile", ["portable", "host"])
def test_scratch_is_what_the_compiler_finds(profile: Any, tmp_path: Path) -> None:
    for name, frames in stack_frames(FEW_NAMED, tmp_path, profile).items():
        stated = stated_stack(tmp_path / f"{name}.h")
        assert max(frames.values()) <= stated + SPILLS, name
        assert stated <= sum(frames.values()), name


def test_rows_of_large_leaves_are_sorted() -> None:
    """Else the tests above would say nothing of it."""
    for case, sorts in (("two classes, large", True), ("two classes", False), ("votes", False)):
        source = sc.emit(PROGRAMS[case], "c", "leaves")["leaves.c"]
        assert ("leaves_sums_rows(" in str(source)) == sorts


@pytest.mark.parametrize("case", ["votes", "two classes, large"])
def test_batches_threads_and_sparse_rows(case: str, tmp_path: Path) -> None:
    """All public ways in give the same labels."""
    from scipy.sparse import csr_matrix

    program = PROGRAMS[case]
    rows = leaf_rows(RECIPES[case], program, 3000, "f32")
    sc.write(sc.emit(program, "c", "leaves"), tmp_path)
    wanted = program.predict(rows)
    one, many = sc.load(tmp_path), sc.load(tmp_path, n_jobs=2)
    steady = ~error_bounds(program, rows, "f32").unstable
    for found in (one.predict(rows), many.predict(rows), one.predict(csr_matrix(rows))):
        assert (found == wanted)[steady].all()
    assert (np.concatenate([one.predict(row[None]) for row in rows[:50]]) == wanted[:50])[steady[:50]].all()
