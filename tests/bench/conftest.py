"""A small compiled model with its original and rows, shared by the tests of the benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.commands.options import BenchOptions
from svmcompile.ir.program import Program
from svmcompile.read import read


@dataclass
class Compiled:
    """Paths of the model, its rows and the folder it was compiled to."""

    model: Path
    data: Path
    folder: Path
    estimator: object
    program: Program
    X: np.ndarray

    def options(self, **changes) -> BenchOptions:
        """Quick: one turn of few rows."""
        chosen = {"model": self.model, "trust_pickle": True, "batch": 16, "repeats": 1, "as_json": True}
        return BenchOptions(folder=self.folder, data=self.data, **(chosen | changes))


def _compiled(folder: Path, estimator, X, y) -> Compiled:
    estimator.fit(X, y)
    joblib.dump(estimator, folder / "flower.joblib")
    np.savez(folder / "rows.npz", X=X, y=y)
    program = sc.compile(estimator)
    sc.write(sc.emit(program, target="c", name="flower"), folder / "out")
    return Compiled(folder / "flower.joblib", folder / "rows.npz", folder / "out", estimator, program, X)


@pytest.fixture(scope="session")
def iris(tmp_path_factory):
    """Three classes with names, behind a scaler."""
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return _compiled(tmp_path_factory.mktemp("iris"), make_pipeline(StandardScaler(), SVC()), X, names)


@pytest.fixture(scope="session")
def pair(tmp_path_factory):
    """Two classes, trained on sparse rows."""
    from scipy.sparse import csr_matrix

    X, y = load_iris(return_X_y=True)
    X, y = np.round(X[50:]), y[50:]
    made = _compiled(tmp_path_factory.mktemp("pair"), SVC(C=5), csr_matrix(X), y)
    np.savez(made.data, X=X, y=y)
    made.X = X
    return made


@pytest.fixture
def svm_of():
    """The SVM behind a compiled model."""
    return lambda made: read(made.estimator)
