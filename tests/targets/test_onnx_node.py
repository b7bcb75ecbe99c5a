"""Graphs in JavaScript: onnxruntime-web and onnxruntime-node answer as the interpreter does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import svmcompile as sc
from examples.peers.onnx_runs import in_node, version_of
from svmcompile.ir.interpret import interpret

pytestmark = pytest.mark.compile
RANDOM = np.random.default_rng(0)
Y = RANDOM.integers(0, 3, 300)
X = RANDOM.normal(size=(300, 5)) + Y[:, None]
MODELS = {
    "two": lambda: SVC().fit(X, X[:, 0] > 1),
    "three": lambda: SVC(probability=True, random_state=0).fit(X, np.array(["a", "b", "c"])[Y]),
    "value": lambda: SVR().fit(X, X[:, 0]),
}


@pytest.mark.parametrize("module", ["onnxruntime-web", "onnxruntime-node"])
@pytest.mark.parametrize("kind", MODELS)
def test_graphs_run_in_node(module: str, kind: str, tmp_path: Path) -> None:
    if version_of(module) is None:
        pytest.skip(f"node or {module} is not installed; `make node` installs it")
    program = sc.compile(MODELS[kind]())
    path = tmp_path / "m.onnx"
    path.write_bytes(bytes(sc.emit(program, "onnx", "m")["m.onnx"]))  # type: ignore[arg-type]
    rows = RANDOM.normal(1, 2, size=(10_000, 5)).astype(np.float32)
    found, expected = in_node(module, path, rows), interpret(program, rows)
    for name in {"scores", "value", "probabilities"} & set(found):
        np.testing.assert_allclose(found[name].ravel(), expected[name].ravel(), rtol=2e-4, atol=2e-5)
    if program.labels:
        differ = found["label"].ravel() != program.predict(rows)
        near = np.abs(np.atleast_2d(expected["scores"].T)).min(axis=0) < 1e-4
        assert not (differ & ~near).any() and differ.mean() < 1e-3
