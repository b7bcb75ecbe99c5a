"""house: how large the package is, and how far its facts are spread.

    python -m tests.replay.house [COMMIT ...]      (make measure-house COMMIT=527eb0e)
    python -m tests.replay.house --list            what was counted here, by name

Prints the figures of this checkout, beside those of other commits. `compile` runs as a command, in its
own process, on a small scikit-learn model. A file counts as *imported* if its module is, as *executed* if
one of its functions is called, be it while modules are imported.
"""

from __future__ import annotations

import ast
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ISINSTANCE_ROOMS = ("ir/nodes/", "ir/nodes.py", "optimise/", "lower/")  # which may ask for a node's class
CHOOSING = ("choose/", "explore/", "commands/auto.py", "commands/explore.py")
OPTIONS = ("--target", "c", "--target", "onnx")
METHODS = {"exact": (), "certified": ("--set", "force=true")}
Figures = dict[str, str]
MODEL = """
import sys
import numpy as np
from skops.io import dump
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

X, y = make_moons(300, noise=0.25, random_state=0)
dump(make_pipeline(StandardScaler(), SVC()).fit(X, y), sys.argv[1] + "/model.skops")
np.savez(sys.argv[1] + "/rows.npz", X=X, y=y)
"""
NODES = """
import dataclasses, json
from svmcompile.ir import nodes

def is_node(one):
    names = [field.name for field in dataclasses.fields(one)] if dataclasses.is_dataclass(one) else ()
    return isinstance(one, type) and hasattr(one, "level") and "out" in names

known = getattr(nodes, "NODES", None) or [one for one in vars(nodes).values() if is_node(one)]
print(json.dumps(sorted({one.__name__ for one in known})))
"""
RUN = """
import contextlib, io, json, sys
from pathlib import Path

called = set()

def note(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & 1:  # of a function, not of a class or module
        called.add(frame.f_code.co_filename)

sys.setprofile(note)
from svmcompile import cli

home = Path(cli.__file__).parent
sys.argv = ["svmcompile", *json.loads(sys.argv[1])]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code, end
sys.setprofile(None)
imported = [name for name in sys.modules if name.partition(".")[0] == "svmcompile"]
executed = [Path(name).relative_to(home).as_posix() for name in called if home in Path(name).parents]
print(json.dumps([sorted(imported), sorted(executed)]))
"""


def run(checkout: Path, code: str, *arguments: str) -> str:
    """What a script prints that finds the package of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(checkout), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", code, *arguments]
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(command, cwd=elsewhere, env=environment, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode()


class House:
    """The source of a checkout."""

    def __init__(self, checkout: Path) -> None:
        self.checkout = checkout
        package = checkout / "svmcompile"
        paths = sorted(package.rglob("*.py"))
        self.texts = {path.relative_to(package).as_posix(): path.read_text() for path in paths}
        self.trees = {name: ast.parse(text) for name, text in self.texts.items()}
        folder = checkout / "templates"
        self.templates = {
            path.relative_to(folder).as_posix(): path.read_text()
            for path in folder.rglob("*")
            if path.is_file()
        }

    def node_names(self) -> set[str]:
        """The names of all node classes."""
        return set(json.loads(run(self.checkout, NODES)))

    def count_lines(self, choosing: bool | None = None) -> int:
        """Lines of package and templates: those of `auto` and `explore`, those of all else, or all."""
        texts = [*self.texts.items(), *self.templates.items()]
        return sum(
            text.count("\n")
            for name, text in texts
            if choosing is None or choosing == name.startswith(CHOOSING)
        )

    def count_modules(self) -> int:
        """Modules at the top of the package."""
        return sum("/" not in name for name in self.texts)

    def function_lengths(self) -> list[int]:
        """Lines of every function, from `def` to the end."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        nodes = (node for tree in self.trees.values() for node in ast.walk(tree))
        return [(node.end_lineno or 0) - node.lineno + 1 for node in nodes if isinstance(node, kinds)]

    def homes(self, nodes: Iterable[str]) -> dict[str, list[str]]:
        """The files that name each node class in code: comments and docstrings do not count."""
        spoken = {file: _identifiers(tree) for file, tree in self.trees.items()}
        return {node: [file for file in spoken if node in spoken[file]] for node in nodes}

    def class_tests(self, nodes: set[str]) -> dict[str, int]:
        """Class tests of nodes, by isinstance or pattern, in each file outside the rooms of nodes."""
        groups = _groups(self.trees.values(), nodes)
        counts = {}
        for file, tree in self.trees.items():
            count = sum(bool(_tested(node) & (nodes | groups)) for node in ast.walk(tree))
            if count and not file.startswith(ISINSTANCE_ROOMS):
                counts[file] = count
        return counts

    def files_of_compile(self, method: str, folder: Path) -> tuple[list[str], list[str]]:
        """Modules imported, and files executed, by `compile` to C and ONNX, of the model in a folder."""
        command = ["compile", str(folder / "model.skops"), "--output", str(folder / method), *OPTIONS]
        command += ["--data", str(folder / "rows.npz"), "--method", method, *METHODS[method]]
        imported, executed = json.loads(run(self.checkout, RUN, json.dumps(command)))
        return imported, executed


def _identifiers(tree: ast.AST) -> set[str]:
    """All names in a module, and strings that are one (tables of names)."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.ClassDef | ast.alias):
            names.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.update(re.findall(r"^\w+$", node.value))
    return names


def _classes(node: ast.expr | None) -> Iterator[str]:
    """The names in an expression of classes: `A`, `ir.A`, `(A, B)`, `A | B`, `(*AS, B)`."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Tuple):
        for part in node.elts:
            yield from _classes(part)
    elif isinstance(node, ast.BinOp):
        yield from (*_classes(node.left), *_classes(node.right))
    elif isinstance(node, ast.Starred):
        yield from _classes(node.value)


def _groups(trees: Iterable[ast.Module], nodes: set[str]) -> set[str]:
    """Names at the top of modules that stand for several node classes."""
    groups: set[str] = set()
    statements = [statement for tree in trees for statement in tree.body]
    for statement in statements * 2:  # twice, for groups of groups
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            members = set(_classes(statement.value))
            if members and members <= nodes | groups:
                groups.update(target.id for target in targets if isinstance(target, ast.Name))
    return groups


def _tested(node: ast.AST) -> set[str]:
    """The classes that an isinstance or a pattern asks for."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
        return set(_classes(node.args[1]))
    return set(_classes(node.cls)) if isinstance(node, ast.MatchClass) else set()


def measure(checkout: Path, with_names: bool = False) -> Figures:
    """All figures of a checkout; their names too, printed as they are found."""
    house = House(checkout)
    nodes = house.node_names()
    homes = house.homes(nodes)
    counts = {node: len(files) for node, files in homes.items()}
    most = max(counts, key=lambda node: (counts[node], node))
    tests = house.class_tests(nodes)
    longest = max(house.texts, key=lambda name: house.texts[name].count("\n"))
    figures = {
        "lines of package and templates": f"{house.count_lines():,}",
        "of these for auto and explore": f"{house.count_lines(choosing=True):,}",
        "files of the package": str(len(house.texts)),
        "modules at the top of the package": str(house.count_modules()),
        "node classes": str(len(nodes)),
        "files that name a node, median": f"{statistics.median(counts.values()):g}",
        "files that name a node, most": f"{counts[most]} ({most})",
        "class tests outside nodes, optimise, lower": f"{sum(tests.values())} in {len(tests)} files",
        "lines of a function, median": f"{statistics.median(house.function_lengths()):g}",
        "lines of the longest file": f"{house.texts[longest].count(chr(10))} ({longest})",
    }
    with tempfile.TemporaryDirectory() as folder:
        run(checkout, MODEL, folder)
        for method in METHODS:
            imported, executed = house.files_of_compile(method, Path(folder))
            figures[f"files of compile, {method}"] = f"{len(imported)} imported, {len(executed)} executed"
            if with_names:
                print(f"executed, {method}:", *executed, sep="\n  ")
    if with_names:
        print("class tests:", *(f"{count:3} {file}" for file, count in tests.items()), sep="\n  ")
        spread = sorted(homes.items(), key=lambda pair: -len(pair[1]))
        print(
            "named in:",
            *(f"{len(files):3} {node}: {' '.join(files)}" for node, files in spread),
            sep="\n  ",
        )
    return figures


def measure_commit(commit: str) -> Figures:
    """All figures of another commit."""
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        command = ["git", "worktree", "add", "--quiet", "--detach", str(checkout), commit]
        subprocess.run(command, cwd=ROOT, check=True)
        try:
            return measure(checkout)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", checkout], cwd=ROOT, check=True)


def main(arguments: list[str]) -> int:
    commits = [argument for argument in arguments if argument != "--list"]
    columns = {commit: measure_commit(commit) for commit in commits}
    columns["here"] = measure(ROOT, "--list" in arguments)
    rows = [["", *columns]]
    rows += [[name, *(column[name] for column in columns.values())] for name in columns["here"]]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
