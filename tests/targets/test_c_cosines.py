"""Random Fourier features in host C: one sum of cosines, within its bound, bad and huge rows included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.lower import lower

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(400, 9))


def pipeline(classes: int, features: int = 70) -> Any:
    sampler = RBFSampler(n_components=features, gamma=0.2, random_state=1)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.3) * (classes > 2)
    last = LinearSVC(dual=False) if classes else LinearSVR(dual=True, random_state=0, max_iter=20_000)
    return make_pipeline(StandardScaler(), sampler, last).fit(X, y if classes else X[:, 0] * X[:, 1])


@pytest.mark.parametrize("number", ["f32", "f64"])
def test_features_become_a_sum_of_cosines(number: Any) -> None:
    program = sc.compile(pipeline(3))
    machine = lower(program, number, "host")
    assert [type(node).__name__ for node in machine.body] == ["Prepare", "TiledSum", "ArgMax"]
    assert machine.body[1].shape == "cosine"  # type: ignore[attr-defined]
    off = np.abs(machine.decision_function(X) - program.decision_function(X))
    assert (off <= error_bounds(program, X, number).scores).all()
    assert any(isinstance(node, ir.Cosine) for node in lower(program, number, "portable").body)


@pytest.mark.compile
@pytest.mark.parametrize("number", ["f32", "f64"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_c_is_the_pipeline(classes: int, number: Any, tmp_path: Path) -> None:
    model = pipeline(classes)
    program = sc.compile(model, X=X)
    sc.write(sc.emit(program, name="waves", precision=number, profile="host"), tmp_path)
    rows = np.vstack([RANDOM.normal(size=(10_000, 9)), X * 30]).astype(np.float32).astype(np.float64)
    built, bounds = sc.load(tmp_path), error_bounds(program, rows, number)
    own = (lambda one: one.predict) if not classes else (lambda one: one.decision_function)
    found, meant = own(built)(rows), own(program)(rows)
    assert (np.abs(found - meant) <= bounds.scores.reshape(meant.shape)).all()
    np.testing.assert_allclose(meant, own(model)(rows), atol=1e-9)
    if classes:
        stable = ~bounds.unstable
        assert stable.any() and (built.predict(rows) == program.predict(rows))[stable].all()
    bad = np.full((4, 9), 0.5)
    bad[0, 3], bad[1, 0], bad[2, 8], bad[3] = np.nan, np.inf, -np.inf, 1e30
    answers = own(built)(bad, allow_nan=True)
    assert np.isnan(answers[:3]).all()
