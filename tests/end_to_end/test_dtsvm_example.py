"""The example that repeats DTSVM's tables runs on any data of that form."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LOADER = """
from sklearn.datasets import make_moons

def load(name):
    X, y = make_moons(3000, noise=0.1, random_state=0)
    return {"X": X[:2000], "y": y[:2000], "X_test": X[2000:], "y_test": y[2000:]}
"""


def run(folder: Path, *arguments: str) -> Any:
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "SVMCOMPILE_DATA": str(folder)}
    command = [sys.executable, str(EXAMPLES / "papers" / "dtsvm.py"), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.slow
def test_tables_stand_beside_the_papers_and_are_kept(tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(LOADER)
    done = run(tmp_path, "shuttle", "--C", "1,10", "--gamma", "1", "--rivals")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("| shuttle 1a1")]
    assert len(lines) == 5  # accuracy, vectors, times, ceilings, rivals
    assert "(1,500)" in lines[3] and "(98.42)" in lines[3] and "(181)" in lines[1]
    accuracy = [float(cell) for cell in lines[0].split("|")[3:6]]
    assert min(accuracy) > 95
    assert run(tmp_path, "--print").stdout == done.stdout  # from what was kept
