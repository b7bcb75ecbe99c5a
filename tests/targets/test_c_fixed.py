"""C in whole numbers gives the very numbers of the interpreter, and nothing overflows on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.whole_numbers import fixed_programs, math_programs, rows_of
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR
from targets.c_build import SANITIZE, assert_no_warnings, build, compilers, run, sanitizing_compiler

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import is_exact
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.store import from_bytes, to_bytes

NUMBERS = ("q7", "q15")


@pytest.fixture(scope="module", params=NUMBERS)
def built(request: Any, tmp_path_factory: Any) -> tuple[str, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    programs = fixed_programs(request.param)
    return request.param, build(programs, folder, request.param, sanitizing_compiler(), *SANITIZE)


@pytest.mark.parametrize("name", math_programs())
def test_c_is_the_interpreter_to_the_last_bit(name: str, built: tuple[str, Path]) -> None:
    precision, driver = built
    program = fixed_programs(precision)[name]
    nibbles = any(isinstance(node, ir.NibbleProjection) for node in program.body)
    rows = rows_of(program, 10_000 if nibbles else 200, seed=1)
    rows = np.vstack([rows, nasty_rows(program.n_features)]).astype(np.float32)
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
@pytest.mark.parametrize("factor", [1.0, 3.0, 2e38])
@pytest.mark.parametrize("each", [False, True])
def test_halves_are_rounded_away_from_zero(number: str, factor: float, each: bool, tmp_path: Path) -> None:
    """With one factor for all features and with one for each; twice the largest has no float."""
    X = np.linspace(-90, 90, 12)[:, None] * [1.0, 0.5]
    fixed = sc.quantise(sc.compile(SVC(kernel="linear").fit(X, X[:, 0] > 0)), number, X)
    node = fixed.body[0]
    assert isinstance(node, ir.Quantise)
    width = 2 if each else 1
    known = {node.shift: np.zeros(width, np.float32), node.factor: np.full(width, factor, np.float32)}
    program = fixed.replace(tables={**fixed.tables, **known})
    near = np.float32([0.5, 1.5, 2.5, 126.5, 127.5])
    ties = np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, 200), [0.0, 1e-30]])
    rows = np.stack([np.float32(sign * ties / factor) for sign in (1, -1)]).reshape(-1, 1) * np.ones(2)
    x = rows.astype(np.float32)
    t = (x * np.float32(factor)).astype(np.float64)
    meant = np.sign(t) * np.minimum(np.floor(np.abs(t) + 0.5), node.limit)
    assert np.array_equal(interpret_values(program, x, {node.out})[node.out], meant)
    driver = build({"ties": program}, tmp_path, number, sanitizing_compiler(), *SANITIZE)
    scores = run(driver, "ties", program, x, number).scores
    assert np.array_equal(scores, interpret(program, x)["scores"].astype(np.float32))
    assert len(np.unique(scores)) == len(np.unique(meant[:, 0]))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("compiler", compilers())
def test_compilers_have_nothing_to_say(compiler: str, number: str, tmp_path: Path) -> None:
    assert_no_warnings(compiler, fixed_programs(number), tmp_path, number, "portable")


MODELS: dict[str, Any] = {
    "rbf": SVC(gamma=0.0003),
    "scaled": make_pipeline(MinMaxScaler(), SVC(gamma=0.5)),
    "poly": SVC(kernel="poly", degree=3, gamma=0.001, coef0=1.0),
    "linear": SVC(kernel="linear"),
    "value": SVR(gamma=0.0003),
}


@pytest.mark.parametrize("kind", ["u8", "i16"])
@pytest.mark.parametrize("name", MODELS)
def test_rows_of_whole_numbers_need_no_float(name: str, kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (200, 6)) * (1 if kind == "u8" else 100) - (0 if kind == "u8" else 9000)
    y = (X[:, 0] + X[:, 1] > X[:, 2] + X[:, 3]).astype(int)
    model = MODELS[name].fit(X, y)
    program = sc.compile(model, X=X)
    fixed = sc.quantise(program, "q7", X, given=kind)
    files = sc.emit(fixed, name="counts", precision="q7")
    sc.write(files, tmp_path)
    loaded = sc.load(tmp_path)
    rows = np.vstack([X, rng.integers(-40_000, 40_000, (50, 6))])
    assert np.array_equal(loaded.predict(rows), fixed.predict(rows))
    assert loaded.self_test() == 0 and sc.verify(tmp_path, model, X).ok
    assert "float x[" not in str(files["counts.h"]) and "_q(const" in str(files["counts.h"])


@pytest.mark.parametrize("kind", ["u8", "i16"])
@pytest.mark.parametrize("density", [1.0, 0.1])
def test_projections_of_rows_of_whole_numbers(kind: str, density: float, tmp_path: Path) -> None:
    """Weights of four bits, features picked from 300, and rows without floats."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (200, 300))
    model = SVC(gamma=1e-6).fit(X, X[:, :9].sum(axis=1) > 900)
    sizes = {"rank": 3, "vectors": 7, "density": density, "steps": 50, "synthetic_rows": 0}
    program = sc.compile(model, method="proto", X=X, precision="q7", projection="nibbles", **sizes)
    fixed = sc.quantise(program, "q7", X, given=kind)
    assert any(isinstance(node, ir.NibbleProjection) for node in fixed.body)
    assert any(isinstance(node, ir.StridePick) for node in fixed.body) == (density < 1)
    sc.write(sc.emit(fixed, name="counts", precision="q7"), tmp_path)
    loaded, rows = sc.load(tmp_path), rng.integers(0, 255, (200, 300))
    assert np.array_equal(loaded.predict(rows), fixed.predict(rows)) and loaded.self_test() == 0
    assert np.array_equal(loaded.decision_function(rows), fixed.decision_function(rows).astype(np.float32))


def test_bytes_are_taken_as_they_come() -> None:
    X = np.random.default_rng(0).integers(0, 256, (100, 6))
    program = sc.compile(SVC(gamma=0.0003).fit(X, X[:, 0] > 127))
    fixed = sc.quantise(program, "q7", given="u8")  # whose range is known without data
    assert not any(isinstance(node, (ir.Quantise, ir.Requantise)) for node in fixed.body)
    again = from_bytes(to_bytes(fixed))
    assert again == fixed and again.input.number == "u8"
    with pytest.raises(sc.OptionError, match="u8, i16"):
        sc.quantise(program, "q7", X, given="u16")
