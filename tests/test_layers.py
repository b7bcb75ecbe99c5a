"""Imports point one way: stages know `ir` and the helpers, never each other; and the start is fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "svmcompile"
STAGES = {"read", "accelerate", "optimise", "lower", "emit", "load", "verify", "bench", "convert", "device"}
# The only modules that may put stages together.
DRIVERS = {
    "pipeline", "jobs", "demo", "cli", "show", "bench_job", "bench_race", "__init__", "__main__", "report",
    "estimator", "cluster", "device_job", "device_fit", "convert_job", "support", "outputs", "emission",
    "measured",
}  # fmt: skip
HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "onnx",
    "onnxruntime",
    "skops",
    "pandas",
    "pyarrow",
    "joblib",
    "distributed",
    "libsvm",
    "cffi",
    "flint",
    "jinja2",
    "unicorn",
    "wasmtime",
)


def modules() -> dict[Path, str]:
    """Every module of the package and the part (stage, ir, or top-level name) it belongs to."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        first = path.relative_to(PACKAGE).parts[0]
        found[path] = first.removesuffix(".py")
    return found


def imported(path: Path) -> set[str]:
    """Parts of the package that a module imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value.replace(":", "."))  # tables of lazily imported modules
    own = [name.split(".") for name in names if name.startswith("svmcompile.") and " " not in name]
    return {
        parts[1] for parts in own if (PACKAGE / parts[1]).is_dir() or (PACKAGE / f"{parts[1]}.py").is_file()
    }


MODULES = modules()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    part, uses = MODULES[path], imported(path)
    if part in DRIVERS:
        return
    assert not uses & DRIVERS, f"{part} imports what stands above it"
    allowed = {part} if part in STAGES else set()
    assert not (uses & STAGES) - allowed, f"{part} imports another stage"
    if part == "ir":
        assert uses <= {"ir", "kernel", "labels", "errors", "rows", "files"}


def test_there_is_something_to_test() -> None:
    assert set(MODULES.values()) >= STAGES | DRIVERS | {"ir", "kernel", "svm"}
    assert imported(PACKAGE / "pipeline.py") | imported(PACKAGE / "emission.py") >= {
        "read",
        "accelerate",
        "optimise",
        "lower",
        "emit",
        "verify",
    }


@pytest.mark.parametrize("module", ["svmcompile", "svmcompile.cli"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PACKAGE.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


def test_files_and_functions_are_short() -> None:
    """At most 400 lines a file and 50 a function."""
    for path in MODULES:
        text = path.read_text()
        assert text.count("\n") <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                assert (node.end_lineno or 0) - node.lineno < 50, f"{path}: {node.name}"
