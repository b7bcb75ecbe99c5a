"""WebAssembly: the interpreter's answers within the bound of rounding, from a module without imports."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from load_cases import classifier, regressor, sample, written
from programs.seals import unseal
from sklearn.datasets import load_digits
from sklearn.svm import SVC, OneClassSVM

import svmcompile as sc
from svmcompile.errors import OptionError, ReadError, ToolchainError, UnsupportedError
from svmcompile.extras import install
from svmcompile.ir.bounds import error_bounds

wasmtime = pytest.importorskip("wasmtime", reason=f"wasmtime runs the modules: {install('wasm')}")
pytestmark = pytest.mark.compile

ROWS = sample(60, seed=1)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """Digits in float32: folder, program, 10,000 noisy rows."""
    X, y = load_digits(return_X_y=True)
    program = sc.compile(SVC(gamma=0.001, C=10).fit(X[:600], y[:600]))
    folder = tmp_path_factory.mktemp("digits")
    sc.write(sc.emit(program, "wasm", "digits", X=X), folder)
    generator = np.random.default_rng(0)
    rows = X[generator.integers(0, len(X), 10_000)] + generator.normal(0, 2, (10_000, 64))
    return folder, program, np.clip(rows, 0, 16).astype(np.float32).astype(np.float64)


def test_ten_thousand_rows_of_digits(digits: tuple[Path, Any, Any]) -> None:
    folder, program, rows = digits
    model = sc.load(folder)
    bounds = error_bounds(program, rows, "f32")
    error = np.abs(model.decision_function(rows) - program.decision_function(rows))
    assert model.precision == "f32" and model.self_test() == 0
    assert (error <= bounds.scores).all()
    differ = model.predict(rows) != program.predict(rows)
    assert not (differ & ~bounds.unstable).any()


def test_the_module_needs_nothing_and_exports_the_functions(digits: tuple[Path, Any, Any]) -> None:
    module = wasmtime.Module.from_file(wasmtime.Engine(), str(digits[0] / "digits.wasm"))
    assert not module.imports
    names = {export.name for export in module.exports}
    assert names >= {"memory", "reserve", "predict", "decision_function", "predict_batch", "self_test"}


def test_same_input_same_bytes(
    digits: tuple[Path, Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "other"))
    again = sc.emit(digits[1], "wasm", "digits")
    assert again["digits.wasm"] == (digits[0] / "digits.wasm").read_bytes()
    assert set(again) == {"digits.wasm", "digits.html", "digits.svmc", "digits.json"}


def test_a_model_of_each_kind(tmp_path: Path) -> None:
    chances = SVC(probability=True, random_state=0).fit(ROWS, ROWS[:, 0] > 0)
    models = {"text": classifier(["a", "b", "c"]), "value": regressor(), "chances": chances}
    models["one"] = OneClassSVM().fit(ROWS)
    for name, model in models.items():
        folder = written(model, tmp_path / name, "wasm", name)
        found, program = sc.load(folder), sc.Program.load(folder / f"{name}.svmc")
        bounds = error_bounds(program, ROWS, "f64")
        if name == "value":
            assert (np.abs(found.predict(ROWS) - program.predict(ROWS)) <= bounds.scores[:, 0]).all()
            continue
        assert found.predict(ROWS).tolist() == program.predict(ROWS).tolist()
        error = np.abs(found.decision_function(ROWS) - program.decision_function(ROWS))
        assert (error.reshape(len(ROWS), -1) <= bounds.scores).all()
        if name == "chances":
            apart = np.abs(found.predict_proba(ROWS) - program.predict_proba(ROWS))
            assert (apart <= bounds.probabilities).all()
        if name == "one":
            np.testing.assert_allclose(found.score_samples(ROWS), program.score_samples(ROWS), rtol=1e-12)


@pytest.mark.parametrize("method", ["metric-tree", "h1-tree", "anytime", "reduced-set"])
def test_other_methods(method: str, tmp_path: Path) -> None:
    rows = sample(300)
    program = sc.compile(classifier(), method=method, X=rows)
    sc.write(sc.emit(program, "wasm", "model", "f64"), tmp_path)
    assert (sc.load(tmp_path).predict(rows) == program.predict(rows)).all()


def test_nan_and_infinity_are_as_defined(digits: tuple[Path, Any, Any]) -> None:
    folder, program, rows = digits
    odd = rows[:3].copy()
    odd[0, 5], odd[1, 7] = np.nan, -np.inf
    model = sc.load(folder)
    scores = model.decision_function(odd, allow_nan=True)
    assert np.isnan(scores).tolist() == np.isnan(program.decision_function(odd)).tolist()
    assert model.predict(odd, allow_nan=True).tolist() == program.predict(odd).tolist()


def test_verify_runs_it_and_says_where_it_cannot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = classifier()
    folder = written(model, tmp_path / "out", ("c", "wasm"), precision="f32")
    report = sc.verify(folder, model, ROWS)
    assert [one.backend for one in report.comparisons] == ["interpreter", "c", "wasm"] and report.ok
    monkeypatch.setattr(sys.modules["svmcompile.runtime.wasm"], "has_wasmtime", lambda: False)
    report = sc.verify(folder, model, ROWS)
    assert [one.backend for one in report.comparisons] == ["interpreter", "c"]
    assert install("wasm") in report.left_out[0]
    with pytest.raises(ToolchainError, match=re.escape(install("wasm"))):
        sc.load(folder, target="wasm")


def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(classifier(), tmp_path / "three", "wasm")
    with pytest.raises(UnsupportedError, match="no probabilities"):
        sc.load(folder).predict_proba(ROWS)
    with pytest.raises(OptionError, match="features"):
        sc.load(folder).predict(ROWS[:, :2])
    other = written(classifier((0, 1)), tmp_path / "two", "wasm")
    (unseal(folder, "model") / "model.wasm").write_bytes((other / "model.wasm").read_bytes())
    with pytest.raises(ReadError, match="a different model"):
        sc.load(folder)
    (folder / "model.wasm").write_bytes(b"\0asm\1\0\0\0")
    with pytest.raises(ReadError, match="not a module of svmcompile"):
        sc.load(folder)
    (folder / "model.wasm").write_bytes(b"no module")
    with pytest.raises(ReadError, match="cannot load"):
        sc.load(folder)
    monkeypatch.setitem(sys.modules, "ziglang", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match=re.escape(install("wasm"))):
        sc.emit(sc.compile(classifier()), "wasm")
