"""The example that repeats a paper's table runs on any data of that form."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
def test_the_table_has_a_row_per_set_and_their_mean(tmp_path: Any) -> None:
    (tmp_path / "load.py").write_text(LOADER)
    environment = {
        **os.environ, "PYTHONPATH": str(EXAMPLES.parent), "SVMCOMPILE_DATA": str(tmp_path)
    }  # fmt: skip
    command = [sys.executable, str(EXAMPLES / "papers" / "sv_tree.py"), "--splits", "2", "banana"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    header, _, banana, mean = done.stdout.splitlines()
    assert banana.startswith("| banana | 50% |") and "(0.88 / 9.2)" in banana
    assert mean.startswith("| mean |")
    assert header.count("|") == banana.count("|") == mean.count("|")


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
