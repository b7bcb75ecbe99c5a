"""Imports go down, from floor to floor, never sideways; and the start is fast."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from svmcompile.ir.nodes import NODES, Level, Node
from svmcompile.targets.c.nodes import CLASSES
from svmcompile.targets.onnx.nodes import build
from tests.replay.house import House

PACKAGE = Path(__file__).parents[1] / "svmcompile"
# Floors of the house: a part may use those below its own, and itself, but nothing beside it.
FLOORS = (
    {"errors", "extras", "progress", "statistics", "__init__"},
    {"files", "plugins"},
    {"data"},
    {"ir"},
    {"model"},
    {"read", "accelerate", "optimise", "lower", "targets", "verification"},
    {"runtime", "bench", "device", "convert", "proofs"},
    {"flow"},
    {"choose"},
    {"api", "cluster"},
    {"estimator"},
    {"commands"},
    {"cli"},
    {"__main__"},
)
FLOOR = {part: number for number, parts in enumerate(FLOORS) for part in parts}
# Lines of package and templates, those for auto and explore apart: these numbers may only fall, unless
# something wholly new brings lines of its own. Lower them whenever the code has become shorter.
BUDGETS, SLACK = {True: 3_549, False: 80_518}, 500
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
def test_imports_go_down(path: Path) -> None:
    part, uses = MODULES[path], imported(path)
    if part == "__init__":  # the table of public names
        return
    wrong = {other for other in uses - {part} if FLOOR[other] >= FLOOR[part]}
    assert not wrong, f"{part} imports {', '.join(sorted(wrong))}, which is not below it"


METHOD_FOLDERS = (
    "exact",
    "linear",
    "proto",
    "reduced_set",
    "sv_tree",
    "metric_tree",
    "h1_tree",
    "dtsvm",
    "anytime",
    "certified",
)


@pytest.mark.parametrize("name", METHOD_FOLDERS)
def test_no_method_imports_another(name: str) -> None:
    folder = PACKAGE / "accelerate"
    files = (
        [folder / f"{name}.py"]
        if (folder / f"{name}.py").exists()
        else sorted((folder / name).rglob("*.py"))
    )
    assert files
    others = "|".join(other for other in METHOD_FOLDERS if other != name)
    for file in files:
        line = re.search(rf"^.*svmcompile\.accelerate\.({others})\b.*$", file.read_text(), re.MULTILINE)
        assert line is None, f"{file.relative_to(PACKAGE)}: {line and line[0]}"


def test_there_is_something_to_test() -> None:
    assert set(MODULES.values()) == set(FLOOR)
    flow = set().union(*(imported(path) for path in MODULES if MODULES[path] == "flow"))
    assert flow >= {"read", "accelerate", "optimise", "lower", "targets", "verification"}
    assert "flow" in imported(PACKAGE / "api.py")


def test_few_modules_stand_at_the_top() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 10


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


@pytest.mark.parametrize(("choosing", "budget"), BUDGETS.items())
def test_package_and_templates_only_shrink(choosing: bool, budget: int) -> None:
    """What is added is taken away elsewhere, or the code stays as long as it is."""
    lines = House(PACKAGE.parent).count_lines(choosing)
    assert lines <= budget, (
        f"package and templates have {lines:,} lines, {lines - budget:,} above the budget: remove what the "
        f"new code repeats or replaces; `make measure-house` tells the figures"
    )
    assert lines > budget - SLACK, f"well done: set the budget to {lines:_}, so that it stays so"


TARGETS = PACKAGE / "targets"


@pytest.mark.parametrize("node", [node for node in NODES if node.level is not Level.MATH])
def test_every_machine_node_has_a_c_class_in_its_family(node: type[Node]) -> None:
    assert family_of(CLASSES[node.__name__]) == family_of(node)


@pytest.mark.parametrize("node", [node for node in NODES if node.level is not Level.MACHINE])
def test_every_math_node_has_an_onnx_function_in_its_family(node: type[Node]) -> None:
    assert family_of(build.dispatch(node)) == family_of(node)


def family_of(thing: Any) -> str:
    """The family a class or function belongs to; large ones have several files."""
    return str(thing.__module__).rpartition(".")[2].split("_")[0]


@pytest.mark.parametrize(
    "path", sorted(TARGETS.rglob("*.py")), ids=lambda path: str(path.relative_to(TARGETS))
)
def test_targets_do_not_test_for_node_classes(path: Path) -> None:
    """What is known of a node stands in its class, or in that of the target; passes go to `lower`."""
    names = {node.__name__ for node in NODES}
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "isinstance":
            tested = {getattr(item, "attr", getattr(item, "id", "")) for item in ast.walk(call.args[1])}
            assert not tested & names, f"{path}:{call.lineno}"
