"""Small models for the tests of loading, and a compiler that leaves a trace."""

from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.svm import SVC, SVR

import svmcompile as sc

FEATURES = 4


def sample(rows: int = 120, seed: int = 0) -> Any:
    """Rows that float32 holds exactly."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(rows, FEATURES)).astype(np.float32).astype(np.float64)


def classifier(classes: Any = (0, 1, 2)) -> Any:
    """An RBF classifier with the given classes."""
    X = sample()
    picks = np.digitize(X[:, 0] + X[:, 1], np.linspace(-1, 1, len(classes) - 1))
    return SVC().fit(X, np.asarray(classes)[picks])


def regressor() -> Any:
    X = sample()
    return SVR().fit(X, X[:, 0] ** 2)


def written(
    model: Any, folder: Path, target: Any = "c", name: str = "model", precision: str = "f64"
) -> Path:
    """An output folder."""
    sc.write(sc.emit(sc.compile(model), target, name, precision), folder)
    return folder


def real_compiler() -> str:
    """Whatever compiler is here, as a shell command."""
    for name in ("cc", "gcc", "clang"):
        if path := shutil.which(name):
            return path
    return f"'{sys.executable}' -m ziglang cc"


def script(path: Path, text: str) -> Path:
    """A shell script that can be run as a compiler."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def tracing_compiler(folder: Path) -> Path:
    """A compiler that writes its arguments to `runs`, one line for each run, and then works."""
    return script(folder / "my cc", f'echo "$@" >> "{folder}/runs"\nexec {real_compiler()} "$@"')


def runs(folder: Path) -> list[str]:
    path = folder / "runs"
    return path.read_text().splitlines() if path.exists() else []
