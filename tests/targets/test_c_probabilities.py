"""Heads that give probabilities in generated C and ONNX: as the interpreter, up to rounding."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_build import (
    SANITIZE,
    WARNINGS,
    compile_c,
    compile_quietly,
    compilers,
    sanitizing_compiler,
    write_all,
)
from numpy.typing import NDArray
from onnx_cases import content
from programs.probabilities import PROGRAMS, WIDTH, rows
from scipy.sparse import csr_matrix

import svmcompile as sc
from svmcompile.errors import UnsupportedError
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from svmcompile.runtime.onnx import load_onnx

NUMBERS = ("f32", "f64")


def assert_alike(program: Program, found: NDArray[Any], number: Any, x: NDArray[Any]) -> None:
    meant = interpret(program, x)["probabilities"]
    bound = error_bounds(program, x[:-2], number).probabilities
    assert np.isnan(found[-2:]).all(), "rows that are not finite"
    known = np.isfinite(bound).all(axis=1)
    assert known.mean() > 0.95
    assert (np.abs(found - meant)[:-2] <= bound)[known].all()


@pytest.mark.compile
@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_c(name: str, number: Any, profile: str, tmp_path: Path) -> None:
    program, x = PROGRAMS[name], rows()
    sc.write(sc.emit(program, "c", "m", number, profile), tmp_path)
    model = sc.load(tmp_path)
    assert_alike(program, model.predict_proba(x, allow_nan=True), number, x)
    one = np.concatenate([model.predict_proba(x[at : at + 1]) for at in range(5)])
    np.testing.assert_array_equal(one, model.predict_proba(x, allow_nan=True)[:5])
    assert model.predict_proba(np.zeros((0, WIDTH))).shape == (0, program.n_classes)
    stable = ~error_bounds(program, x[:-2], number).unstable
    assert (model.predict(x[:-2]) == program.predict(x[:-2]))[stable].all()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_onnx(name: str, number: Any) -> None:
    program, x = PROGRAMS[name], rows()
    model = load_onnx(content(program, number), program.labels, WIDTH)
    assert_alike(program, model.predict_proba(x, allow_nan=True), number, x)
    assert model.predict_proba(np.zeros((0, WIDTH))).shape == (0, program.n_classes)
    one = np.concatenate([model.predict_proba(x[at : at + 1]) for at in range(5)])
    np.testing.assert_allclose(
        one, model.predict_proba(x, allow_nan=True)[:5], atol=1e-6 if number == "f32" else 1e-14
    )
    stable = ~error_bounds(program, x[:-2], number).unstable
    assert (model.predict(x[:-2]) == program.predict(x[:-2]))[stable].all()


@pytest.mark.parametrize("name", PROGRAMS)
def test_onnx_reference(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    program, x = PROGRAMS[name], rows(30)
    model = load_onnx(content(program, "f64"), program.labels, WIDTH)
    assert model.backend == "onnx reference"
    assert_alike(program, model.predict_proba(x, allow_nan=True), "f64", x)


@pytest.mark.compile
def test_raw_scores(tmp_path: Path) -> None:
    program, x = PROGRAMS["density"], rows()[:-2]
    sc.write(sc.emit(program, ("c", "onnx"), "m", "f64"), tmp_path)
    for target in ("c", "onnx"):
        model = sc.load(tmp_path, target=target)
        np.testing.assert_allclose(model.score_samples(x), program.score_samples(x), atol=1e-12)
        np.testing.assert_allclose(model.score_samples(x), model.decision_function(x) + 1.5, atol=1e-12)


@pytest.mark.compile
def test_models_without_them_say_so(tmp_path: Path) -> None:
    from sklearn.svm import SVC

    x = rows()[:-2]
    program = sc.compile(SVC().fit(x, x[:, 0] > 0))
    sc.write(sc.emit(program, ("c", "onnx"), "m"), tmp_path)
    for model in (program, sc.load(tmp_path, target="c"), sc.load(tmp_path, target="onnx")):
        with pytest.raises(UnsupportedError, match="no probabilities"):
            model.predict_proba(x)
        with pytest.raises(UnsupportedError, match="no raw scores"):
            model.score_samples(x)


@pytest.mark.compile
def test_rows_by_their_features(tmp_path: Path) -> None:
    from sklearn.svm import SVC

    random = np.random.default_rng(0)
    X = np.where(random.random((150, 40)) < 0.1, random.normal(size=(150, 40)), 0.0)
    estimator = _with_probability(SVC, X, np.arange(150) % 3)
    sc.write(sc.emit(sc.compile(estimator), "c", "m", "f64", tables="sparse"), tmp_path)
    model = sc.load(tmp_path)
    assert "m_predict_proba_sparse(" in (tmp_path / "m.h").read_text()
    np.testing.assert_allclose(model.predict_proba(csr_matrix(X)), estimator.predict_proba(X), atol=1e-10)


@pytest.mark.compile
def test_a_kernel_of_the_callers_own(tmp_path: Path) -> None:
    from sklearn.svm import SVC

    X = np.random.default_rng(0).normal(size=(60, 4))
    estimator = _with_probability(SVC, X @ X.T, np.arange(60) % 3, kernel="precomputed")
    sc.write(sc.emit(sc.compile(estimator), "c", "m", "f64"), tmp_path)
    assert "m_predict_proba_with(" in (tmp_path / "m.h").read_text()
    found = sc.load(tmp_path).predict_proba(X @ X.T)
    np.testing.assert_allclose(found, estimator.predict_proba(X @ X.T), atol=1e-10)


def _with_probability(kind: Any, X: NDArray[Any], y: NDArray[Any], **options: Any) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return kind(probability=True, random_state=0, **options).fit(X, y)


MAIN = """
#include <stdio.h>
{includes}
int main(void)
{{
    static const REAL x[4][{width}] = {{
        {{1, -2, 3}}, {{0, 0, 0}}, {{1e30f, -1e30f, 1}}, {{0.0f / ZERO, 1, 1}}
    }};
    double sum = 0;
    for (int i = 0; i < 4; i++) {{
{calls}
    }}
    return sum == sum ? 0 : 0;
}}
"""


@pytest.mark.compile
@pytest.mark.parametrize("number", NUMBERS)
def test_no_warnings_and_nothing_undefined(number: str, tmp_path: Path) -> None:
    programs = {name.replace("-", "_"): program for name, program in PROGRAMS.items()}
    write_all(programs, tmp_path, number)
    for compiler in compilers().values():
        compile_quietly(compiler, tmp_path, "-std=c99", *WARNINGS, "all.c")
    command = sanitizing_compiler()
    calls = [
        f"{{ REAL p[{one.n_classes}]; {name}_predict_proba(x[i], p); sum += p[0] + {name}_predict(x[i]); }}"
        for name, one in programs.items()
    ]
    includes = "\n".join(f'#include "{name}.h"' for name in programs)
    (tmp_path / "main.c").write_text(MAIN.format(includes=includes, width=WIDTH, calls="\n".join(calls)))
    real = "float" if number == "f32" else "double"
    flags = (f"-DREAL={real}", "-DZERO=0.0f", *SANITIZE)
    compile_c(command, tmp_path, *flags, "main.c", "all.c", "-o", "main")
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
