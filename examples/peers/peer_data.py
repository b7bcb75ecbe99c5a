"""The models of the peer comparison: trained once, then kept under out/peers.

Real data comes from the folder that SVMCOMPILE_DATA names: `load.py` there has
`load(name)`, which gives X, y and, where a set has them, X_test and y_test.
Without it, generated data of the same shapes stands in (digits are always real).
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, make_classification
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC

TEST_ROWS = 2000


@dataclass(frozen=True)
class Case:
    """One model: its data, how it is trained, and the shape for generated data."""

    name: str
    source: str  # what `load` calls it
    train_rows: int
    C: float
    gamma: float
    n_features: int
    n_classes: int = 2
    only: tuple[int, ...] = ()  # the classes to keep
    scale: float = 1.0  # features are multiplied by it; 0: each feature to 0..1
    sparse: bool = False  # trained on CSR rows


CASES = (
    Case("digits", "digits", 898, 10, 0.05, 64, 10, scale=1 / 16),
    Case("mnist_3v8", "mnist", 6000, 10, 0.02, 784, only=(3, 8), scale=1 / 255),
    Case("mnist", "mnist", 5000, 10, 0.02, 784, 10, scale=1 / 255),
    Case("ijcnn1", "ijcnn1", 10_000, 32, 2.0, 22),
    Case("a9a", "a9a", 5000, 10, 1 / 64, 123, sparse=True),
    Case("w8a", "w8a", 10_000, 10, 1 / 32, 300, sparse=True),
    Case("covtype", "covtype.binary", 20_000, 10, 4.0, 54, scale=0),
)


def data_folder() -> Path | None:
    """Where the real data is, if anywhere."""
    chosen = os.environ.get("SVMCOMPILE_DATA")
    return Path(chosen) if chosen else None


def trained(case: Case, folder: Path) -> tuple[Path, Path, bool]:
    """The files of the model and of rows it has not seen, and whether the data is real; made if need be."""
    model, rows, key = folder / "model.joblib", folder / "rows.npz", folder / "trained.json"
    real = case.source == "digits" or data_folder() is not None
    wanted = json.dumps({**asdict(case), "real": real, "test_rows": TEST_ROWS}, sort_keys=True)
    if not (key.exists() and key.read_text() == wanted and model.exists() and rows.exists()):
        print(f"training {case.name} on {case.train_rows:,} rows", file=sys.stderr)
        X, y, X_test, y_test = split(case)
        folder.mkdir(parents=True, exist_ok=True)
        joblib.dump(SVC(C=case.C, gamma=case.gamma).fit(X, y), model)
        np.savez_compressed(rows, X=X_test.toarray() if case.sparse else X_test, y=y_test)
        key.write_text(wanted)
    return model, rows, real


def split(case: Case) -> tuple[Any, Any, Any, Any]:
    """Training rows and labels, test rows and labels, scaled and in a fixed random order."""
    found = _arrays(case)
    X, y = _kept(case, found["X"], found["y"])
    test = _kept(case, found["X_test"], found["y_test"]) if "X_test" in found else None
    generator = np.random.default_rng(0)
    order = generator.permutation(len(y))
    train, rest = order[: case.train_rows], order[case.train_rows :][:TEST_ROWS]
    if test is not None:
        rest = generator.permutation(len(test[1]))[:TEST_ROWS]
    X_test, y_test = (X[rest], y[rest]) if test is None else (test[0][rest], test[1][rest])
    scaler = MinMaxScaler().fit(X[train]) if case.scale == 0 else None
    return _scaled(case, scaler, X[train]), y[train], _scaled(case, scaler, X_test), y_test


def _arrays(case: Case) -> dict[str, Any]:
    if case.source == "digits":
        X, y = load_digits(return_X_y=True)
        return {"X": X, "y": y}
    folder = data_folder()
    if folder is None:
        return _generated(case)
    spec = importlib.util.spec_from_file_location("peer_data_load", folder / "load.py")
    if spec is None or spec.loader is None:
        raise SystemExit(f"{folder}: holds no load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arrays: dict[str, Any] = module.load(case.source)
    return arrays


def _generated(case: Case) -> dict[str, Any]:
    X, y = make_classification(
        n_samples=case.train_rows + TEST_ROWS,
        n_features=case.n_features,
        n_informative=min(case.n_features, 20),
        n_redundant=0,
        n_classes=case.n_classes,
        random_state=0,
    )
    low, high = X.min(axis=0), X.max(axis=0)
    X = (X - low) / (high - low)
    if case.sparse:
        border = np.quantile(X, 0.9)
        X = csr_matrix((border < X).astype(np.float64))
    return {"X": X / case.scale if case.scale else X, "y": np.asarray(case.only or range(99))[y]}


def _kept(case: Case, X: Any, y: Any) -> tuple[Any, Any]:
    y = np.asarray(y)
    chosen = np.isin(y, case.only) if case.only else np.ones(len(y), dtype=bool)
    labels = y[chosen]
    return X[chosen], labels.astype(np.int64)


def _scaled(case: Case, scaler: Any, X: Any) -> Any:
    if scaler is not None:
        return scaler.transform(X)
    X = X * case.scale
    return csr_matrix(X) if case.sparse else np.asarray(X, dtype=np.float64)
