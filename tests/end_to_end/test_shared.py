"""Target shared and kit wheel: libraries that run where there is no compiler, and no svmcompile."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from programs.seals import unseal
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, OneClassSVM

import svmcompile as sc
from svmcompile.commands.options import CompileOptions
from svmcompile.errors import OptionError, ReadError, ToolchainError
from svmcompile.runtime.libraries import PLATFORMS, SUFFIX

pytestmark = pytest.mark.compile
X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any compiler."""

    def fail() -> tuple[str, ...]:
        raise ToolchainError("no C compiler found")

    monkeypatch.setattr("svmcompile.runtime.toolchain.find_compiler", fail)


def test_a_library_is_loaded_verified_and_pickled_without_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    model = SVC().fit(X, NAMES[Y])
    files = sc.emit(sc.compile(model), ("shared", "onnx"), "iris", "f64")
    assert set(files) == {"iris.h", f"iris.{SUFFIX}", "iris.onnx", "iris.svmc", "iris.json"}
    sc.write(files, tmp_path / "out")
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "other machine"))
    request.getfixturevalue("no_compiler")
    fast = sc.load(tmp_path / "out")
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    assert fast.self_test() == 0 and "shared in f64" in repr(fast)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fast)).predict(X), fast.predict(X))
    assert "shared" in {one.backend for one in sc.verify(tmp_path / "out", model, X).comparisons}
    monkeypatch.setenv("SVMCOMPILE_CACHE", str(tmp_path / "a third"))
    with pytest.raises(ToolchainError, match="no C compiler found"):
        pickle.loads(pickle.dumps(fast))  # which the second machine could build, and this one cannot


def test_a_library_of_another_program_or_machine_is_refused(tmp_path: Path) -> None:
    sc.write(sc.emit(sc.compile(SVC().fit(X, Y)), "shared", "iris"), tmp_path)
    sc.write(sc.emit(sc.compile(SVC(C=2).fit(X, Y)), "c", "iris"), tmp_path)  # the library stays behind
    with pytest.raises(ReadError, match=r"iris\.so: was not written by the last compile; remove it"):
        sc.load(tmp_path)
    assert sc.load(tmp_path, target="c").predict(X[:1]) == [0]
    other = tmp_path / "other"
    files = sc.emit(sc.compile(SVC().fit(X, Y)), "c", "iris")
    sc.write({**files, f"iris.{SUFFIX}": b"of no machine"}, other)
    unseal(other, "iris")
    with pytest.raises(ReadError, match="cannot be loaded on this machine"):
        sc.load(other)


@pytest.mark.slow
def test_ziglang_builds_for_another_platform(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="cross-compiling needs ziglang")
    program = sc.compile(SVC().fit(X, Y))
    other = "linux-aarch64" if os.uname().machine != "aarch64" else "linux-x86_64"
    files = sc.emit(program, "shared", "iris", platform=other, kit="wheel")
    library = files["iris.so"]
    assert isinstance(library, bytes) and library[:4] == b"\x7fELF"
    assert int.from_bytes(library[18:20], "little") == {"linux-aarch64": 183, "linux-x86_64": 62}[other]
    assert f"iris-1.0-py3-none-{PLATFORMS[other].tag}.whl" in files


def test_platforms_that_make_no_sense(monkeypatch: pytest.MonkeyPatch) -> None:
    program = sc.compile(SVC().fit(X, Y))
    with pytest.raises(OptionError, match=r"unknown platform 'amiga'; known: linux-x86_64"):
        sc.emit(program, "shared", "iris", platform="amiga")
    with pytest.raises(OptionError, match="a platform is for target shared and kit wheel"):
        sc.emit(program, "c", "iris", platform="linux-x86_64")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ToolchainError, match="built by ziglang"):
        sc.emit(program, "shared", "iris", platform="windows-x86_64")


USE = """
import json, sys
import numpy as np
import {name}
assert "svmcompile" not in sys.modules and "sklearn" not in sys.modules
X = np.load("rows.npy")
found = {{"labels": {name}.predict(X).tolist(), "self_test": {name}.self_test()}}
for function in {name}._FACTS["functions"][1:]:
    found[function] = getattr({name}, function)(X).tolist()
for bad in (X[:, 1:], X[0], np.where(X > 5, np.nan, X)):
    try:
        {name}.predict(bad)
    except ValueError as error:
        found.setdefault("errors", []).append(str(error))
try:
    {name}.score_samples(X)
except AttributeError as error:
    found["lack"] = str(error)
found["report"] = {name}.report()["method"]
print(json.dumps(found))
"""


def install(wheel: Path, folder: Path) -> dict[str, str]:
    """Install without dependencies; an environment with it and numpy, and nothing else."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--target",
        str(folder),
    ]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    site = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (site / name).exists():
            (folder / name).symlink_to(site / name)
    return {"PYTHONPATH": str(folder), "PATH": str(folder / "bin")}  # no compiler there


def isolated(environment: dict[str, str], *words: str, cwd: Path) -> str:
    """Run Python with numpy and the package alone: no site-packages, no compiler."""
    done = subprocess.run(
        [sys.executable, "-S", *words], capture_output=True, text=True, env=environment, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wheel_works_without_svmcompile_and_without_a_compiler(tmp_path: Path) -> None:
    model = SVC(probability=True, random_state=0).fit(X, NAMES[Y])
    files = sc.emit(sc.compile(model), "c", "flower", "f64", kit="wheel")
    (name,) = (file for file in files if file.endswith(".whl"))
    assert name.startswith("flower-1.0-py3-none-")
    (tmp_path / name).write_bytes(bytes(files[name]))  # type: ignore[arg-type]
    environment = install(tmp_path / name, tmp_path / "site")
    np.save(tmp_path / "rows.npy", X)
    found = json.loads(isolated(environment, "-c", USE.format(name="flower"), cwd=tmp_path))
    assert found["labels"] == model.predict(X).tolist() and found["self_test"] == 0
    np.testing.assert_allclose(found["decision_function"], model.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(found["predict_proba"], model.predict_proba(X), atol=1e-6)
    first, second, third = found["errors"]
    assert (
        "expected rows of 4 features" in first
        and "shape (4,)" in second
        and "row 0, column 0 is nan" in third
    )
    assert "flower has no score_samples" in found["lack"] and found["report"] == "exact"
    assert isolated(environment, "-m", "flower", cwd=tmp_path) == "flower: the self-test passes\n"
    assert (tmp_path / "site" / "bin" / "flower-self-test").exists()
    assert (tmp_path / "site" / "flower" / "py.typed").exists()
    with zipfile.ZipFile(tmp_path / name) as archive:
        about = archive.read("flower-1.0.dist-info/METADATA").decode()
    assert [line for line in about.splitlines() if "Requires-Dist" in line] == [
        "Requires-Dist: numpy>=1.21"
    ]


KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "value": (SVR().fit(X, Y), {}),
    "one_class": (OneClassSVM(nu=0.2).fit(X), {}),
    "filled": (make_pipeline(SimpleImputer(), SVC()).fit(np.where(X > 6, np.nan, X), Y == 1), {}),
    "whole": (SVC().fit(np.rint(10 * X), Y), {"precision": "q15", "given": "u8", "profile": "device"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_wheels_of_every_kind(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, form = KINDS[kind]
    rows = {"filled": np.where(X > 6, np.nan, X), "whole": np.rint(10 * X)}.get(kind, X)
    files = sc.emit(sc.compile(model), "c", kind, **{"X": rows, "kit": "wheel", **form})
    (wheel,) = (content for file, content in files.items() if file.endswith(".whl"))
    (tmp_path / "model.whl").write_bytes(bytes(wheel))  # type: ignore[arg-type]
    with zipfile.ZipFile(tmp_path / "model.whl") as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    package = __import__(kind)
    expected, found = model.predict(rows), package.predict(rows)
    assert found.dtype == expected.dtype and (kind == "value" or (found == expected).mean() > 0.97)
    assert package.self_test() == 0
    if kind == "value":
        np.testing.assert_allclose(found, model.predict(X), atol=1e-5)
        assert package.classes is None
    if kind == "one_class":
        np.testing.assert_allclose(package.score_samples(X), model.score_samples(X), atol=1e-5)


def test_names_that_no_package_may_have() -> None:
    program = sc.compile(SVC().fit(X, Y))
    for name in ("json", "numpy", "lambda", "NumPy"):
        with pytest.raises(OptionError, match="a Python package cannot be called"):
            sc.emit(program, "c", name, kit="wheel")
    with pytest.raises(OptionError, match=r"unknown kit 'whell' \(did you mean 'wheel'\?\)"):
        sc.emit(program, "c", "iris", kit="whell")
    assert "wheel" in str(CompileOptions.__annotations__["kit"])
