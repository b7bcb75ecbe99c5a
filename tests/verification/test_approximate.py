"""An approximate program may differ from its original, but no backend from the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.verification.differential import Backend, compare

X, Y = load_iris(return_X_y=True)
MODEL = SVC(C=10).fit(X, Y)


class Broken:
    """A backend with one wrong score, or one wrong label."""

    def __init__(self, program: Any, score: float = 0.0, label: int = 0) -> None:
        self.program, self.score, self.label = program, score, label

    def predict(self, rows: Any) -> Any:
        labels = self.program.predict(rows).copy()
        labels[7] = (labels[7] + self.label) % 3
        return labels

    def decision_function(self, rows: Any) -> Any:
        scores = self.program.decision_function(rows).copy()
        scores[7] += self.score
        return scores


@pytest.mark.parametrize("method", ["metric-tree", "sv-tree", "reduced-set"])
@pytest.mark.parametrize("target", ["c", "onnx"])
def test_backends_that_are_the_program_pass(method: str, target: str, tmp_path: Any) -> None:
    program = sc.compile(MODEL, method=method, X=X)
    sc.write(sc.emit(program, target, "iris"), tmp_path)
    report = sc.verify(tmp_path, MODEL, X)
    assert report.ok
    assert all(one.labels_off_program == 0 for one in report.comparisons)
    assert all((one.error_over_bound_off_program or 0) <= 1 for one in report.comparisons)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"score": 1e-3}, "decision values are not"), ({"label": 1}, "1 labels are not")],
    ids=["score", "label"],
)
def test_a_backend_that_is_not_is_found_out(wrong: dict[str, Any], message: str) -> None:
    program = sc.compile(MODEL, method="metric-tree", X=X)
    backend = Backend("broken", "f64", Broken(program, **wrong))
    report = compare("iris", program, ("scikit-learn", MODEL), [backend], X.astype(np.float64))
    assert not report.ok
    assert message in report.comparisons[0].broken[0]
