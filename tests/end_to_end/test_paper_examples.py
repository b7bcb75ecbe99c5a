"""The example that repeats a paper's table runs on any data of that form."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import svmcompile as sc

EXAMPLES = Path(__file__).parents[2] / "examples"
LOADER = """
import numpy as np
from sklearn.datasets import make_moons

def load(name):
    X, y = make_moons(120, noise=0.2, random_state=0)
    at = np.arange(120)
    return {"X": X, "y": y, "train_idx": at[None, :60], "test_idx": at[None, 60:]}

def ida_resample(data, count, seed=0):
    order = np.argsort(np.random.RandomState(seed).rand(count, 120), axis=1)
    return order[:, :60], order[:, 60:]
"""


@pytest.mark.slow
def test_a_set_has_the_means_of_all_that_the_table_shows(tmp_path: Any) -> None:
    (tmp_path / "load.py").write_text(LOADER)
    environment = {
        **os.environ, "PYTHONPATH": str(EXAMPLES.parent), "SVMCOMPILE_DATA": str(tmp_path)
    }  # fmt: skip
    command = [sys.executable, str(EXAMPLES / "papers" / "sv_tree.py"), "--splits", "2", "banana"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    name, _, figures = done.stdout.strip().partition(": ")
    found = {key: float(value) for key, value in (one.rsplit(" ", 1) for one in figures.split(", "))}
    assert name == "banana" and found["svm"] > 0.85 and found["line evaluations"] == 0
    assert found["cpsp evaluations"] == found["cpsp(tr) evaluations"] >= found["published evaluations"]


def test_without_data_it_says_what_to_do(tmp_path: Any) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "SVMCOMPILE_DATA"}
    environment["PYTHONPATH"] = str(EXAMPLES.parent)
    command = [sys.executable, str(EXAMPLES / "papers" / "sv_tree.py")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "set SVMCOMPILE_DATA" in done.stderr


def test_certificates_are_checked_without_data(tmp_path: Any) -> None:
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    command = [sys.executable, str(EXAMPLES / "papers" / "certified_check.py"), "25", "1e-07"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    name, rows, confirmed, refuted, left_open, none, *_ = (
        done.stdout.splitlines()[-1].strip("| ").split(" | ")
    )
    assert name.endswith("pairs 1e-07 apart") and refuted == left_open == "0"
    assert int(confirmed) + int(none) == int(rows) == 25 and int(confirmed) > 10


def test_an_ls_svm_can_be_compiled(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES / "papers"))
    ls_svm = importlib.import_module("ls_svm")
    data = ls_svm.plane(60)
    machine = ls_svm.trained_ls_svm(data.X, data.y, 10.0, 5.0)
    np.testing.assert_allclose(
        machine.decision_function(data.X) + machine.weights / 10.0, data.y, atol=1e-9
    )
    program = sc.compile(machine.write(tmp_path / "ls.model"))
    assert program.origin.n_support_vectors == 60
    np.testing.assert_allclose(
        program.decision_function(data.X_test), machine.decision_function(data.X_test), atol=1e-9
    )
    assert (program.predict(data.X_test) == machine.predict(data.X_test)).all()


HELP = """
import contextlib, io, runpy, sys
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
for path in sorted(folder.glob("*.py")):
    if '__name__ == "__main__"' not in path.read_text(encoding="utf-8"):
        continue
    for word, fine in (("--help", True), ("no-such-set", False)):
        sys.argv = [str(path), word]
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                runpy.run_path(str(path), run_name="__main__")
            code = 0
        except SystemExit as end:
            code = end.code
        if (code in (None, 0)) != fine or "|---" in out.getvalue():
            print(path.name, word, code)
"""


def test_scripts_have_help_and_refuse_what_they_do_not_know(tmp_path: Any) -> None:
    """Neither prints an empty table or runs for minutes."""
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "SVMCOMPILE_DATA": str(tmp_path)}
    command = [sys.executable, "-Wignore", "-c", HELP, str(EXAMPLES / "papers")]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
