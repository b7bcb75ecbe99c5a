"""A command line to call in-process, and a small model in every file format."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from svmcompile import cli

CLASSES = np.array(["setosa", "versicolor", "virginica"])


@dataclass
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys, built_at_once):
    """Run the command line; exit code, standard output and standard error."""

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["svmcompile", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        caught = capsys.readouterr()
        return Result(code, caught.out, caught.err)

    return call


@dataclass
class Iris:
    """An iris model with text labels: the estimator, its files, and data files."""

    model: object
    X: np.ndarray
    y: np.ndarray
    folder: Path

    def file(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture(scope="session")
def iris(tmp_path_factory):
    folder = tmp_path_factory.mktemp("iris")
    X, y = load_iris(return_X_y=True)
    labels = CLASSES[y]
    model = make_pipeline(StandardScaler(), SVC()).fit(X, labels)
    joblib.dump(model, folder / "iris.joblib")
    skops.io.dump(model, folder / "iris.skops")
    np.savez(folder / "iris.npz", X=X, y=labels)
    header = "a,b,c,d,species\n"
    lines = [
        ",".join([*(repr(float(v)) for v in row), label]) for row, label in zip(X, labels, strict=True)
    ]
    (folder / "iris.csv").write_text(header + "\n".join(lines) + "\n")
    return Iris(model, X, labels, folder)
