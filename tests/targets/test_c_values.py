"""Generated C means what the program means: sanitized on hostile rows, exact on ordinary ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import SANITIZE, Result, build, run, sanitizing_compiler
from c_cases import CASES, FEATURES, normal_rows, program_of, real_type

import svmcompile as sc
from svmcompile.ir.arithmetic import ARITHMETIC
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.lower import lower
from svmcompile.runtime.c import CModel
from svmcompile.runtime.toolchain import FLAGS, find_compiler

pytestmark = pytest.mark.compile

PRECISIONS = ("f32", "f64")
ROWS = 20_000
HUGE = {"f32": 1e38, "f64": 1e308}
TINY = {"f32": 1e-40, "f64": 1e-310}
# Their values stay within the number type however large the features are.
BOUNDED = [case for case in CASES if case.startswith(("rbf", "sigmoid"))]


def special_values(number: str) -> list[float]:
    largest = float(np.finfo(real_type(number)).max)
    signed = [HUGE[number], TINY[number], 1e20, largest, 0.0, np.inf]
    return [np.nan, *signed, *(-value for value in signed)]


def hostile_rows(number: str) -> Any:
    """Ordinary rows with special values strewn in, and rows of nothing else."""
    generator = np.random.default_rng(3)
    values = special_values(number)
    rows = normal_rows(500, number)
    strewn = np.where(generator.random(rows.shape) < 0.3, generator.choice(values, size=rows.shape), rows)
    uniform = np.repeat(np.array(values)[:, None], FEATURES, axis=1)
    return np.concatenate([strewn, uniform]).astype(real_type(number))


@pytest.fixture(scope="module", params=PRECISIONS)
def sanitized(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A program with every case in it that stops at the first undefined step."""
    command = sanitizing_compiler()
    programs = {case: program_of(case) for case in CASES}
    folder = tmp_path_factory.mktemp("sanitized")
    return build(programs, folder, request.param, command, *SANITIZE), request.param


def scores_of(outputs: dict[str, Any]) -> Any:
    return outputs["scores" if "scores" in outputs else "value"]


@pytest.mark.parametrize("case", CASES)
def test_nothing_undefined_and_labels_of_the_interpreter(sanitized: tuple[Path, str], case: str) -> None:
    driver, number = sanitized
    program, rows = program_of(case), hostile_rows(number)
    found = run(driver, case, program, rows, number)
    meant = interpret(lower(program, number), rows)  # type: ignore[arg-type]
    assert found.failed == 0
    finite = np.isfinite(rows).all(axis=1)
    assert finite.any() and not finite.all()
    if case not in ("rbf_clipped", "linear_scaled"):  # which hold an infinity within a range
        keep_votes = case.endswith(("ovr", "ties"))  # votes are finite, what is added to them is not
        assert keep_votes or np.isnan(found.scores[~finite]).all()
    alike = np.isnan(found.scores) == np.isnan(scores_of(meant))
    assert alike[~finite].all()
    if case in BOUNDED:
        assert alike.all()
    # Sums of huge numbers overflow in one order of adding and not in another.
    same = finite & np.isfinite(found.scores).all(axis=1) & np.isfinite(scores_of(meant)).all(axis=1)
    assert_same_labels(program, found, meant, rows, number, ~finite | same)


def assert_same_labels(
    program: Program, found: Result, meant: dict[str, Any], rows: Any, number: str, where: Any
) -> None:
    if program.labels is None:
        return
    unstable = error_bounds(program, rows, number).unstable  # type: ignore[arg-type]
    differ = found.labels != meant["label"]
    assert not (differ & where & ~unstable).any()


@pytest.mark.parametrize("case", CASES)
def test_no_rows(sanitized: tuple[Path, str], case: str) -> None:
    driver, number = sanitized
    found = run(driver, case, program_of(case), normal_rows(0, number), number)
    assert found.failed == 0 and found.scores.size == 0


@pytest.fixture(scope="module", params=PRECISIONS)
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Every case in one program, compiled as `sc.load` compiles."""
    programs = {case: program_of(case) for case in CASES}
    flags = [flag for flag in FLAGS if flag != "-shared"]
    folder = tmp_path_factory.mktemp("plain")
    return build(programs, folder, request.param, find_compiler(), *flags), request.param


@pytest.mark.parametrize("case", CASES)
def test_scores_within_the_bounds(plain: tuple[Path, str], case: str) -> None:
    driver, number = plain
    program, rows = program_of(case), normal_rows(ROWS, number)
    found = run(driver, case, program, rows, number)
    meant = interpret(program, rows.astype(np.float64))
    bounds = error_bounds(program, rows, number)  # type: ignore[arg-type]
    stable = ~bounds.unstable
    assert stable.mean() > 0.99
    error = np.abs(found.scores.astype(np.float64) - scores_of(meant))
    share = 1 + ARITHMETIC["f64"].u / ARITHMETIC[number].u  # type: ignore[index]
    assert (error <= share * bounds.scores)[stable].all()  # the interpreter rounds as well
    if program.labels:
        assert (found.labels == meant["label"])[stable].all()
        assert len(set(found.labels.tolist())) > 1


@pytest.mark.parametrize("case", ["rbf_ovr", "rbf_value", "sigmoid_two", "quadratic_ovo", "affine"])
def test_load_gives_the_same_bytes(
    plain: tuple[Path, str], case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, number = plain
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "cache"))
    program, rows = program_of(case), normal_rows(ROWS, number)
    found = run(driver, case, program, rows, number)
    sc.write(sc.emit(program, "c", case, number, "portable"), tmp_path / "out")
    model = sc.load(tmp_path / "out")
    assert isinstance(model, CModel)
    values = model.decision_function(rows) if program.labels else model.predict(rows)
    assert values.astype(rows.dtype).tobytes() == found.scores.tobytes()
    if program.labels:
        assert (model.predict(rows) == program.labels.array()[found.labels]).all()
