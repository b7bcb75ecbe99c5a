"""The replay sees one changed byte and covers what can be asked for; old programs keep their meaning."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from svmcompile.ir.interpret import interpret
from svmcompile.ir.program import Program
from tests.replay.cases import CASES
from tests.replay.replay import differences

ROOT = Path(__file__).parents[2]
STORED = ROOT / "tests" / "data" / "stored"
NAMES = sorted(path.stem for path in STORED.glob("*.svmc"))


def run_replay(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "tests.replay.replay", "two-linear", "--jobs", "1"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    return subprocess.run(
        [*command, "--store", str(folder / "store.json"), *arguments],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.slow
def test_one_byte_of_a_template_is_seen(tmp_path: Path) -> None:
    for part in ("svmcompile", "templates", "tests/replay"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
    assert run_replay(tmp_path, "--record").returncode == 0
    same = run_replay(tmp_path)
    assert same.returncode == 0, same.stdout + same.stderr
    template = tmp_path / "templates" / "c" / "model.c.j2"
    text = template.read_text()
    at = text.index("do not edit") if "do not edit" in text else text.index(";")
    template.write_text(text[:at] + " " + text[at:])
    changed = run_replay(tmp_path)
    assert changed.returncode == 1, changed.stderr
    assert "differs  two-linear/portable/model.c" in changed.stdout


def test_differences_tell_what_changed_came_and_went() -> None:
    assert differences({"a": "1", "b": "2"}, {"a": "1", "b": "3"}) == ["differs  b"]
    assert differences({"a": "1"}, {"b": "1"}) == ["new      b", "missing  a"]
    assert differences({"a": "1"}, {"a": "1"}) == []


def test_cases_cover_what_can_be_asked_for() -> None:
    from svmcompile.accelerate.registry import METHODS

    assert {case.method for case in CASES.values()} == set(METHODS)
    for field, wanted in {
        "target": {"onnx", "wasm", "blob", "sql"},
        "profile": {"portable", "host", "device"},
        "precision": {"f64", "q15", "q7"},
        "tables": {"dense", "sparse", "f16"},
    }.items():
        assert {one[field] for case in CASES.values() for one in case.emissions if field in one} >= wanted
    assert sum(len(case.emissions) for case in CASES.values()) >= 80


@pytest.mark.parametrize("name", NAMES)
def test_programs_stored_by_older_releases_mean_the_same(name: str) -> None:
    program = Program.load(STORED / f"{name}.svmc")
    with np.load(STORED / "expected.npz") as expected:
        kept = {key.split("/")[1]: expected[key] for key in expected.files if key.split("/")[0] == name}
    found = interpret(program, program.probes)
    assert set(found) == set(kept)
    for key, values in kept.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-5, atol=1e-6, err_msg=key)
