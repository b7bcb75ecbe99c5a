"""verify compares what a row gets beside its label: standard deviations and raw scores."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.linear_model import SGDOneClassSVM
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import svmcompile as sc
from svmcompile.commands import verify
from svmcompile.commands.options import VerifyOptions
from svmcompile.ir import nodes as ir
from svmcompile.ir.program import Program

pytestmark = pytest.mark.compile
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
T = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1]
ROWS = np.vstack([X, 1.3 * RNG.normal(size=(2_000, 3))])
PROCESSES = {
    "noise": GaussianProcessRegressor(RBF(1.0) + WhiteKernel(0.1), optimizer=None, normalize_y=True),
    "exact": GaussianProcessRegressor(RBF(1.0), optimizer=None),  # deviations near zero in its own rows
    "wide": GaussianProcessRegressor(RBF(5.0), optimizer=None),  # nearly singular
    "two kernels": GaussianProcessRegressor(RBF([1.0, 2.0, 0.7]) + 2.0 * Matern(nu=1.5), optimizer=None),
    "pipeline": make_pipeline(StandardScaler(), GaussianProcessRegressor(Matern(nu=0.5), optimizer=None)),
    "search": GridSearchCV(GaussianProcessRegressor(RBF(1.0), optimizer=None), {"alpha": [0.1, 0.2]}, cv=2),
}
MACHINES = {"one-class": OneClassSVM(nu=0.2), "sgd": SGDOneClassSVM(random_state=0)}


def checked(folder: Path, estimator: Any, program: Program, **options: Any) -> dict[str, Any]:
    """What verify finds of a program and the estimator it should be."""
    skops.io.dump(estimator, folder / "m.skops")
    np.savez(folder / "rows.npz", X=ROWS)
    sc.write(sc.emit(program, name="m", **options), folder / "out")
    return verify.run(
        VerifyOptions(folder=folder / "out", data=folder / "rows.npz", model=folder / "m.skops")
    )


@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("name", PROCESSES)
def test_standard_deviations_hold(tmp_path: Path, name: str, number: str) -> None:
    estimator = PROCESSES[name].fit(X, T)
    found = checked(tmp_path, estimator, sc.compile(estimator), target=("c", "onnx"), precision=number)
    assert found["ok"] and found["extra_output"] == "predict_std"
    shares = [one["max_extra_error_over_bound"] for one in found["comparisons"]]
    assert len(shares) == 3 and max(shares) <= 1 and shares[0] < 0.1  # float64 has room


@pytest.mark.parametrize("number", ["f32", "f64", "q15"])
@pytest.mark.parametrize("name", MACHINES)
def test_raw_scores_hold(tmp_path: Path, name: str, number: str) -> None:
    estimator = MACHINES[name].fit(X)
    program = sc.compile(estimator)
    targets = ("c",) if number == "q15" else ("c", "onnx", "blob", *["sql"] * (name == "sgd"))
    more = {"X": ROWS} if number == "q15" else {}
    found = checked(tmp_path, estimator, program, target=targets, precision=number, **more)
    assert found["ok"] and found["extra_output"] == "score_samples"
    assert [one["max_extra_error_over_bound"] is None for one in found["comparisons"]] == [False] * (
        1 + len(targets)
    )


def prior(program: Program) -> Program:
    """Deviations from a prior nine times as large."""
    body = [
        replace(node, prior=9 * node.prior) if isinstance(node, ir.Deviation) else node
        for node in program.body
    ]
    assert body != list(program.body)
    return program.replace(body=tuple(body))


def offset(program: Program) -> Program:
    """Raw scores that are five more."""
    (node,) = (node for node in program.body if node.out == program.output("samples"))
    assert isinstance(node, ir.Shifted)
    tables = {**program.tables, node.by: program.tables[node.by] + 5}
    return program.replace(tables=tables)


@pytest.mark.parametrize(("kind", "forge"), [("predict_std", prior), ("score_samples", offset)])
def test_forged_outputs_are_found(run: Any, tmp_path: Path, kind: str, forge: Any) -> None:
    estimator = PROCESSES["noise"].fit(X, T) if forge is prior else MACHINES["one-class"].fit(X)
    found = checked(tmp_path, estimator, forge(sc.compile(estimator)), precision="f64")
    assert not found["ok"]
    assert all(any(kind in text for text in one["broken"]) for one in found["comparisons"])
    told = ("--model", tmp_path / "m.skops", "--data", tmp_path / "rows.npz")
    done = run("verify", tmp_path / "out", *told)
    assert done.code == 1 and f"worst error of {kind}: interpreter f64" in done.out
