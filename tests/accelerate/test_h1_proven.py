"""Exits by proof: not one label changes, and what cannot be proven is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc


def moons() -> tuple[Any, Any]:
    return make_moons(600, noise=0.2, random_state=0)


def bisected(model: Any, X: Any, count: int) -> Any:
    """Float32 rows on both sides of the boundary, as close to it as they come."""
    f, generator = model.decision_function(X), np.random.default_rng(2)
    a, b = (X[generator.choice(np.flatnonzero(side), count)] for side in (f > 0, f <= 0))
    for _ in range(40):
        middle = (a + b) / 2
        above = model.decision_function(middle)[:, None] > 0
        a, b = np.where(above, middle, a), np.where(above, b, middle)
    return np.vstack([a, b]).astype(np.float32).astype(np.float64)


@pytest.mark.compile
@pytest.mark.parametrize("scaled", [False, True])
def test_no_label_changes(scaled: bool, tmp_path: Any) -> None:
    X, y = moons()
    model: Any = SVC(gamma=0.5, C=2.0)
    model = (make_pipeline(StandardScaler(), model) if scaled else model).fit(X, y)
    program = sc.compile(model, method="h1-tree", X=X, proven=True, centres=8)
    assert program.claim is sc.Claim.SAME_LABEL
    found = program.origin.details["proven"]
    assert found["rows"] > 0.4 and 0 <= found["of_those_exits"] <= 1
    generator = np.random.default_rng(1)
    near = X[generator.integers(0, len(X), 10_000)] + generator.normal(0, 0.3, (10_000, 2))
    rows = np.vstack([near.astype(np.float32).astype(np.float64), bisected(model, X, 1000)])
    expected = model.predict(rows)
    assert (program.predict(rows) == expected).all()
    sc.write(sc.emit(program, target=["c", "onnx"], name="model"), tmp_path)
    for target in ("c", "onnx"):
        assert (sc.load(tmp_path, target=target).predict(rows) == expected).all()
    assert program.cost(near).mean_flops < 0.5 * program.origin.exact_flops


def test_what_cannot_be_proven_is_refused() -> None:
    X, y = moons()
    linear, three = SVC(kernel="linear").fit(X, y), SVC().fit(X, (3 * X[:, 0]).astype(int))
    for model in (linear, three):
        with pytest.raises(sc.UnsupportedError, match="proven"):
            sc.compile(model, method="h1-tree", X=X, proven=True)
    with pytest.raises(sc.OptionError, match="centres"):
        sc.compile(SVC().fit(X, y), method="h1-tree", X=X, proven=True, centres=0)
    with pytest.raises(sc.OptionError, match="end=svm"):
        sc.compile(SVC().fit(X, y), method="h1-tree", X=X, proven=True, end="label")
