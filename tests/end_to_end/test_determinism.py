"""Same input, same bytes: in two processes with different hash seeds."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib, sys
import numpy as np
import svmcompile as sc
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

X, y = load_wine(return_X_y=True)
for kernel in ("rbf", "linear", "poly", "sigmoid"):
    model = make_pipeline(MinMaxScaler(clip=True), SVC(kernel=kernel, degree=2)).fit(X, y)
    for precision in ("f32", "f64", "q15"):
        targets = "c" if precision == "q15" else ("c", "onnx")
        files = sc.emit(sc.compile(model, X=X, y=y), targets, "wine", precision, X=X)
        for name, content in files.items():
            content = content.encode() if isinstance(content, str) else content
            print(kernel, precision, name, hashlib.sha256(content).hexdigest())
"""


@pytest.mark.slow
def test_two_processes_give_the_same_bytes(tmp_path):
    listings = [_run(seed, tmp_path) for seed in ("0", "4711")]
    assert listings[0] == listings[1]
    assert listings[0].count("\n") == 4 * (2 * 5 + 4)  # q15 has no ONNX file


def _run(seed: str, folder) -> str:
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
