"""The command that a message names to install an extra works: from a checkout, from a folder, from git."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from svmcompile import extras

ROOT = Path(__file__).parents[1]


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """svmcompile as pip would have installed it, away from its checkout."""

    def from_(record: object) -> None:
        monkeypatch.setattr(extras, "ROOT", tmp_path)
        found = SimpleNamespace(read_text=lambda name: json.dumps(record) if record else None)
        monkeypatch.setattr(extras.metadata, "distribution", lambda name: found)

    return from_


def test_from_a_checkout():
    words = shlex.split(extras.install("wasm", "arrow"))
    assert words == ["pip", "install", "-e", f"{ROOT}[wasm,arrow]"]


def test_from_a_folder_or_a_file(installed, tmp_path):
    place = tmp_path / "the source"
    place.mkdir()
    installed({"url": place.as_uri(), "dir_info": {}})
    assert shlex.split(extras.install("cc")) == ["pip", "install", f"{place}[cc]"]
    place.rmdir()
    assert extras.install("cc") == "pip install '.[cc]' in a checkout of svmcompile"


def test_from_git(installed):
    version = {"vcs": "git", "commit_id": "abc", "requested_revision": "main"}
    installed({"url": "https://example.org/s.git", "vcs_info": version})
    wanted = "svmcompile[cc] @ git+https://example.org/s.git@abc"
    assert extras.install("cc") == f"pip install '{wanted}'"
    installed(None)
    assert extras.install("cc") == "pip install '.[cc]' in a checkout of svmcompile"


def test_pip_understands_it():
    """An extra that there is not gives a warning; nothing is installed, and no index is asked."""
    place = shlex.split(extras.install("cc"))[-1]
    options = ["--dry-run", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    words = [sys.executable, "-m", "pip", "install", *options, place]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and "does not provide the extra" not in done.stderr, done.stderr


def test_every_message_names_an_extra_there_is():
    """No message has a command of its own; all name extras of pyproject.toml."""
    known = re.search(
        r"optional-dependencies\]\n(.*?)\n\[", (ROOT / "pyproject.toml").read_text(), re.DOTALL
    )
    assert known
    names = set(re.findall(r"^([\w-]+) = \[", known[1], re.MULTILINE))
    calls = 0
    for path in sorted((ROOT / "svmcompile").rglob("*.py")):
        text = path.read_text()
        assert path.name == "extras.py" or "pip install " not in text, path
        for extra in re.findall(r"\binstall\(['\"]([\w-]+)['\"]\)", text):
            calls += 1
            assert extra in names, f"{path}: {extra}"
    assert calls >= 7
