"""The examples that repeat DTSVM's tables: figures of any set of that form, and rivals as published."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from svmcompile.accelerate.dtsvm.leaves import Theta
from svmcompile.ir.kernel import Kernel

EXAMPLES = Path(__file__).parents[2] / "examples"
LOADER = """
from sklearn.datasets import make_moons

def load(name):
    X, y = make_moons(3000, noise=0.1, random_state=0)
    return {"X": X[:2000], "y": y[:2000], "X_test": X[2000:], "y_test": y[2000:]}
"""


@pytest.fixture
def rivals(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES / "papers"))
    import dtsvm_rivals

    return dtsvm_rivals


@pytest.mark.slow
def test_every_figure_of_a_set_and_its_rivals_is_printed(tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(LOADER)
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "SVMCOMPILE_DATA": str(tmp_path)}
    command = [sys.executable, str(EXAMPLES / "papers" / "dtsvm.py"), "shuttle"]
    command += ["--C", "1,10", "--gamma", "10", "--rivals"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {
        key: float(value.replace(",", ""))
        for key, value in (line.split(": ") for line in done.stdout.splitlines())
    }
    accuracies = {key: value for key, value in found.items() if key.endswith("_accuracy")}
    names = ("libsvm", "rdsvm", "bagging", "cbd", "lasvm", "liblinear", "cart")
    assert set(accuracies) == {f"{name}_accuracy" for name in names}
    assert min(value for key, value in accuracies.items() if key != "liblinear_accuracy") > 95
    assert found["accuracy"] > 95 and found["nesv"] == found["nesv_stored"] == found["nesv_unique"]


def test_lasvm_comes_near_the_svm_of_all_rows_and_with_more_epochs_is_that_svm(rivals: Any) -> None:
    from dtsvm_lasvm import online

    X, y = make_moons(600, noise=0.25, random_state=0)
    theta, exact = Theta(Kernel("rbf", 1.0), 2.0), SVC(C=2.0, gamma=1.0).fit(X, y)
    for epochs, agreement in ((1, 0.97), (6, 0.998)):
        machine = online(X, y == 1, theta, epochs)
        values = machine.values(theta.kernel, X)
        assert ((values > 0) == exact.predict(X)).mean() >= agreement
        assert machine.weights.sum() == pytest.approx(0, abs=1e-9) and np.abs(machine.weights).max() <= 2
        assert 0.8 < len(machine.weights) / len(exact.support_) < 1.1
    np.testing.assert_allclose(values, exact.decision_function(X), atol=0.01)


@pytest.mark.parametrize("rule", ["vote", "ovr"])
def test_lasvm_of_several_classes(rivals: Any, rule: str) -> None:
    X = np.random.default_rng(0).random((400, 2))
    y = (2 * (X[:, 0] > 0.5) + (X[:, 1] > 0.5)).astype(np.intp)
    theta = Theta(Kernel("rbf", 5.0), 10.0)
    machines = rivals.online_machines(X, y, theta, rule, 5)  # no row of the fifth class
    assert len(machines) == (10 if rule == "vote" else 5)
    labels = rivals.online_labels(machines, rule, 5, theta.kernel, X)
    assert (labels == y).mean() > 0.95


def test_cbd_keeps_the_rows_at_the_border(rivals: Any) -> None:
    X = np.random.default_rng(0).random((4000, 2))
    y = (X[:, 0] > 0.5).astype(np.intp)
    kept = rivals.near_boundary(X, y)
    assert 200 <= len(kept) < 1000 and set(y[kept]) == {0, 1}
    assert np.abs(X[kept, 0] - 0.5).max() < 0.15
    far = np.concatenate([X, X + 10])  # two more classes that no other is near: some rows by lot
    classes = np.concatenate([y, y + 2 * (X[:, 1] > -1)])
    classes[4000:] = 2
    kept = rivals.near_boundary(far, classes)
    assert (classes[kept] == 2).sum() == rivals.CLASS_ROWS
