"""Kits java, rust and npm: built by their own tool chains, they give what the interpreter gives."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

import svmcompile as sc
from svmcompile.errors import OptionError
from svmcompile.ir.check import infer_types
from tests.targets.blob_cases import CASES, compare, program_of, some_rows

HERE = Path(__file__).parent / "languages"
ORDER = {"label": 0, "value": 0, "scores": 1, "probabilities": 2, "samples": 3}
FUNCTIONS = ("predict", "decision_function", "predict_proba", "score_samples")


def shell(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def need(tool: str, reason: str) -> str:
    found = shutil.which(tool)
    if found is None:
        pytest.skip(f"{tool} is not installed: {reason}")
    return found


def written(folder: Path, number: str, kit: str) -> list[str]:
    """Every case as a kit, with rows; the files that a driver is called with."""
    arguments: list[str] = []
    for case in CASES:
        files = sc.emit(program_of(case), target="blob", name=case, precision=number, kit=kit)
        sc.write(files, folder / case)
        (folder / f"{case}.rows").write_bytes(some_rows(case).astype("<f8").tobytes())
        arguments += [f"{folder}/{case}/{case}.bin", f"{folder}/{case}.rows", f"{folder}/{case}.out"]
    return arguments


def check(folder: Path, number: str, cases: list[str] = CASES, count: int | None = None) -> None:
    """What a driver wrote, beside the interpreter."""
    for case in cases:
        program, rows, types = program_of(case), some_rows(case)[:count], infer_types(program_of(case))
        outputs = sorted(program.outputs, key=lambda output: ORDER[output.name])
        widths = [1 if ORDER[one.name] == 0 else types[one.value].width for one in outputs]
        table = np.frombuffer((folder / f"{case}.out").read_bytes(), "<f8").reshape(len(rows), -1)
        parts = np.split(table, np.cumsum(widths)[:-1], axis=1)
        found = {
            FUNCTIONS[ORDER[one.name]]: part[:, 0] if part.shape[1] == 1 else part
            for one, part in zip(outputs, parts, strict=True)
        }
        if program.labels is not None:
            found["predict"] = program.labels.array()[found["predict"].astype(int)]
        compare(program, rows, found.__getitem__, number)


@pytest.mark.parametrize("number", ["f64", "f32"])
def test_java_gives_what_the_interpreter_gives(tmp_path: Path, number: str) -> None:
    javac, java = need("javac", "it builds kit java"), need("java", "it runs kit java")
    arguments = written(tmp_path, number, "java")
    kit = tmp_path / CASES[0] / "java" / CASES[0]
    source = kit / "src/main/java/svm/Svm.java"
    shell(javac, "-encoding", "UTF-8", "-Xlint:all", "-Werror", "-d", tmp_path, source, HERE / "Rows.java")
    assert (kit / f"src/main/resources/{CASES[0]}.bin").is_file()
    told = shell(java, "-Dfile.encoding=UTF-8", "-cp", tmp_path, "Rows", *arguments)
    assert told.split("\n")[:2] == ["no", "yés"]
    check(tmp_path, number)


@pytest.mark.parametrize("number", ["f64", "f32"])
def test_rust_gives_what_the_interpreter_gives(tmp_path: Path, number: str) -> None:
    rustc = need("rustc", "it builds kit rust")
    arguments = written(tmp_path, number, "rust")
    shutil.copy(tmp_path / CASES[0] / "rust" / CASES[0] / "src/run.rs", tmp_path)
    shutil.copy(HERE / "rows.rs", tmp_path)
    shell(rustc, "-O", "--edition", "2021", "rows.rs", cwd=tmp_path)
    shell(tmp_path / "rows", *arguments)
    check(tmp_path, number)
    blob = (tmp_path / CASES[0] / f"{CASES[0]}.bin").read_bytes()
    for damage, reason in (
        (blob[:-1], "Truncated"),
        (blob[:-1] + b"?", "BadChecksum"),
        (b"?", "Truncated"),
    ):
        (tmp_path / "damaged").write_bytes(damage)
        assert shell(tmp_path / "rows", tmp_path / "damaged", "", "").strip() == reason


def test_the_crate_is_built_by_cargo_without_std(tmp_path: Path) -> None:
    cargo = need("cargo", "it builds kit rust")
    program = program_of("two")
    sc.write(sc.emit(program, target="blob", name="Two_2", kit="rust"), tmp_path)
    crate, row = tmp_path / "rust" / "Two_2", some_rows("two")[100]
    assert "#![no_std]" in (crate / "src/lib.rs").read_text()
    (crate / "tests").mkdir()
    text = (HERE / "labels.rs").read_text()
    (crate / "tests/labels.rs").write_text(
        text.replace("ROW", str(row.tolist())).replace("WANTED", str(program.predict(row[None])[0]))
    )
    shell(cargo, "test", "--offline", "--quiet", cwd=crate)


@pytest.mark.parametrize("case", ["two", "three", "linear", "value", "outliers"])
def test_npm_gives_what_the_interpreter_gives(tmp_path: Path, case: str) -> None:
    node = need("node", "it runs kit npm")
    pytest.importorskip("ziglang", reason="ziglang builds WebAssembly")
    program, rows = program_of(case), some_rows(case)
    sc.write(sc.emit(program, target="wasm", name=case, kit="npm"), tmp_path)
    package = tmp_path / "npm" / case
    assert sum(file.stat().st_size for file in package.iterdir()) < 50_000
    named = json.loads((package / "package.json").read_text())["files"]
    assert {file.name for file in package.iterdir()} == {*named, "package.json"}
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / case).symlink_to(package)
    (tmp_path / "rows").write_bytes(rows.astype("<f4").tobytes())
    (tmp_path / "run.mjs").write_text((HERE / "run.mjs").read_text().replace("NAME", case))
    found = json.loads(shell(node, "run.mjs", cwd=tmp_path))
    assert found.pop("refused") == ["RangeError", "RangeError"]

    def of(name: str) -> Any:
        values = np.array(found[name], dtype=object if name == "predict" and program.labels else float)
        if name == "predict":
            return values.astype(program.labels.array().dtype) if program.labels else values
        table = values.reshape(len(rows), -1)
        return table[:, 0] if table.shape[1] == 1 else table

    compare(program, rows, of, "f32")


def test_npm_gives_standard_deviations(tmp_path: Path) -> None:
    node = need("node", "it runs kit npm")
    pytest.importorskip("ziglang", reason="ziglang builds WebAssembly")
    random = np.random.default_rng(0)
    X = random.normal(size=(30, 3))
    rows = random.normal(size=(401, 3)).astype(np.float32).astype(np.float64)
    program = sc.compile(GaussianProcessRegressor(Matern(), alpha=0.1, optimizer=None).fit(X, X[:, 0]))
    sc.write(sc.emit(program, target="wasm", name="gauss", kit="npm"), tmp_path)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "gauss").symlink_to(tmp_path / "npm" / "gauss")
    (tmp_path / "rows").write_bytes(rows.astype("<f4").tobytes())
    (tmp_path / "run.mjs").write_text((HERE / "run.mjs").read_text().replace("NAME", "gauss"))
    found = json.loads(shell(node, "run.mjs", cwd=tmp_path))
    assert "predictStd" in (tmp_path / "npm" / "gauss" / "index.d.ts").read_text()
    np.testing.assert_allclose(found["predict_std"], program.predict_std(rows), atol=1e-6)
    np.testing.assert_allclose(found["predict"], program.predict(rows), atol=1e-5)


def test_kits_need_their_target_and_names_that_their_language_allows() -> None:
    program = program_of("linear")
    for kit, target in (("java", "blob"), ("rust", "blob"), ("npm", "wasm")):
        with pytest.raises(OptionError, match=f"kit {kit} is made of target {target}"):
            sc.emit(program, target="c", kit=kit)
    with pytest.raises(OptionError, match="a word of Rust"):
        sc.emit(program, target="blob", kit="rust", name="match")
