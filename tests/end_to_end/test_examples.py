"""Every example runs, from a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
# One model each; test_agreement.py and test_preprocessing.py take them all.
ARGUMENTS = {
    "auto.py": ["--sets", "moons", "--methods", "metric-tree", "--limits", "0.99"],
    "auto_limits.py": ["--methods", "exact,linear", "--budget", "20s", "--jobs", "1"],
    "agreement.py": ["linearsvr"],
    "preprocessing.py": ["maxabs"],
    "devices.py": ["cortex-m4f", "exact"],
    "rivals.py": ["--quick"],
    "static_checks.py": ["metric_tree"],
    "scoring.py": ["--rows", "3000", "--sklearn-rows", "1000"],
    "text.py": ["--quick"],
    "string_kernel.py": ["--quick"],
    "categories.py": ["1000"],
    "partitions.py": ["--rows", "12000", "--parts", "3"],
    "proto.py": ["--avr-rows", "0", "--seeds", "1", "--quick"],
    "sparse_models.py": ["--words", "5000", "--vectors", "200", "--only", "models", "--models", "rbf2"],
}
PRINTED = {
    "auto.py": "promise kept in",
    "auto_limits.py": "| `--same-labels` | exact with labels certain |",
    "devices.py": "| 143 of 143 |",
    "rivals.py": "| exact | 94.35 | 100.00 |",
    "preprocessing.py": "broken claims: 0",
    "static_checks.py": "Frama-C Eva:",
    "quickstart.py": "labels that differ: 0",
    "use_from_c.py": "virginica (scores",
    "agreement.py": "broken claims: 0",
    "gaussian_process.py": "written to",
    "string_kernel.py": "kernels per string",
    "scoring.py": "100.00% the same",
    "first_minute.py": "5 blocks ran",
    "text.py": "| 100 | 0 |",
    "categories.py": "| 1,000 | 0 |",
    "several_labels.py": "all 4 tags the same on 100.00%",
    "partitions.py": "100.00% of labels the same",
    "proto.py": "| digits | 99.17 | max_bytes=2,048 |",
    "sparse_models.py": "| rbf, 2 classes | LIBSVM | 200 |",
}


@pytest.mark.compile
@pytest.mark.parametrize("name", sorted(item.name for item in EXAMPLES.glob("*.py")))
def test_example_runs(name, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    environment.pop("SVMCOMPILE_DATA", None)  # with it some would take their time over large sets
    command = [sys.executable, str(EXAMPLES / name), *ARGUMENTS.get(name, [])]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert PRINTED[name] in done.stdout
