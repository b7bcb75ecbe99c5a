"""The code blocks and commands of README and docs are run, in order, each page in a fresh folder.

Blocks of `python` and `sh` are run, those of `c` saved, and built with warnings as errors. A block of
`output` is what the block before it prints. Sketches are `text`, `py`, `js` or `cpp`: not run, but the
options of every command are parsed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import skops.io
import typer
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

import svmcompile as sc
from svmcompile.cli import app
from svmcompile.runtime.toolchain import find_compiler

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
RUN = [page for page in PAGES[1:] if not page.name.startswith("for-")]  # those: examples/first_minute.py
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^```.*$", re.MULTILINE)
SAVED = re.compile(r"[Ss]ave (?:this|it) as `(\w+\.c)`")
COMMAND = re.compile(r"^(?: {4})?(svmcompile [a-z].* -.*?|svmcompile \w+)(?: +#.*)?$", re.MULTILINE)
SKETCHES = {"text", "py", "js", "cpp"}
SLOW = ("pip install", 'method="auto"')  # of blocks
SLOW_COMMANDS = ("--cluster", "--cpu", "--target wasm", "certified", "h1-tree")
pytestmark = [
    pytest.mark.compile,
    pytest.mark.skipif(os.name != "posix", reason="the commands are for a shell"),
]


def script(path: Path, *words: str) -> None:
    """A command of that name, which calls another."""
    path.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    path.chmod(0o755)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with `svmcompile` and a C compiler that forgives nothing on the path."""
    commands, folder = tmp_path / "commands", tmp_path / "empty"
    commands.mkdir()
    folder.mkdir()
    script(commands / "svmcompile", sys.executable, "-m", "svmcompile")
    script(commands / "cc", *find_compiler(), "-Wall", "-Wextra", "-Werror")
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(folder)
    return folder


def run_blocks(page: Path, names: dict[str, Any] | None = None) -> str:
    """Run the blocks of a page; what they print. Python shares `names`, or without them nothing at all."""
    text, printed, last = page.read_text(encoding="utf-8"), "", ""
    for block in BLOCK.finditer(text):
        language, code = block.groups()
        if language in SKETCHES or any(word in code for word in SLOW):
            continue
        if language == "output":
            assert last == code, f"{page.name}: the block before prints {last!r}"
        elif language == "c":
            nearest = min(SAVED.finditer(text), key=lambda found: abs(found.start() - block.start()))
            Path(nearest[1]).write_text(code)
        else:
            last = run(language, code, names, page.name)
            printed += last
    return printed


def run(language: str, code: str, names: dict[str, Any] | None, page: str) -> str:
    """Run one block; what it prints."""
    assert language in ("python", "sh"), f"{page}: is a block of {language} a sketch?"
    if language == "python" and names is not None:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(code, names)
        return out.getvalue()
    shell = [sys.executable, "-c"] if language == "python" else ["sh", "-e", "-c"]
    done = subprocess.run([*shell, code], capture_output=True, text=True)
    assert done.returncode == 0, f"{page}:\n{code}\n{done.stderr}"
    return done.stdout


def test_the_readme_works_in_an_empty_folder(folder: Path) -> None:
    """Nothing is there but what its own blocks make; C is built with warnings as errors."""
    printed = run_blocks(README)
    assert "labels that differ: 0\n" in printed
    assert "holds" in printed and printed.endswith("class 2\n")


@pytest.fixture
def names(folder: Path) -> dict[str, Any]:
    """What the pages take for granted: a model, rows, and the files that hold them."""
    X, y = load_iris(return_X_y=True)
    X, y = X[50:] / 8, (y[50:] == 2).astype(int)
    svc = SVC(C=5.0, gamma=2.0).fit(X, y)
    for name in ("model", "digits", "counts"):
        skops.io.dump(svc, f"{name}.skops")
    words = np.eye(len(X)).repeat(4, axis=1)  # rows that are mostly zeros
    skops.io.dump(SVC(gamma=0.1).fit(words, y), "text.skops")
    mails = ["cheap pills, buy now", "lunch at noon?", "win money now", "minutes of the meeting"] * 10
    kinds = ["spam", "ham"] * 20
    skops.io.dump(make_pipeline(TfidfVectorizer(), LinearSVC()).fit(mails, kinds), "spam.skops")
    lines = (f'"{mail}",{kind}' for mail, kind in zip(mails, kinds, strict=True))
    Path("mails.csv").write_text("\n".join(["body,kind", *lines]) + "\n")
    joblib.dump(svc, "model.joblib")
    for name in ("rows", "digits", "labelled"):
        np.savez(f"{name}.npz", X=X, y=y)
    train = {"X_train": X, "y_train": y, "X_test": X, "y_test": y}
    return {"sc": sc, "np": np, "svc": svc, "program": sc.compile(svc), "X": X, "y": y, **train}


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_blocks_and_commands_of_the_docs_work(page: Path, names: dict[str, Any]) -> None:
    run_blocks(page, names)
    for command in COMMAND.findall(FENCE.sub("", BLOCK.sub("", page.read_text(encoding="utf-8")))):
        parse(command)
        if not any(word in command for word in SLOW_COMMANDS):
            with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as end:
                app(shlex.split(command)[1:])
            assert not end.value.code, command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_have_options_that_are_there(page: Path) -> None:
    for command in COMMAND.findall(page.read_text(encoding="utf-8")):
        parse(command)


def parse(command: str) -> None:
    """Parse a command without running it; an error where it names what is not there."""
    _, name, *words = shlex.split(command)
    group: Any = typer.main.get_command(app)
    assert name in group.commands, command
    group.commands[name].make_context(name, words)


def test_a_misspelt_option_is_seen() -> None:
    with pytest.raises(Exception, match="no-such-option"):
        parse("svmcompile compile model.skops -o out --no-such-option 3")
