"""What smaller margins would save: operations per held-out row, with all rounding margins divided by 8.

python -m tests.attack.margins
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir.cost import cost

SMALLER = 8.0
FIELDS = ("margins", "rounding", "slacks")


def machines() -> Iterator[tuple[str, Any, Any, Any]]:
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", make_pipeline(StandardScaler(), SVC(C=5, gamma=0.02)), X, y
    cubic = SVC(kernel="poly", degree=3, coef0=1.0, gamma=0.02)
    yield "breast cancer, degree 3", make_pipeline(StandardScaler(), cubic), X, y
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    yield "digits 3-8", SVC(C=5, gamma=0.03), X[chosen] / 16, y[chosen]
    X, y = make_moons(600, noise=0.25, random_state=0)
    yield "moons", SVC(C=5, gamma=1.0), X, y


def figures(model: Any, X: Any) -> Iterator[float]:
    """Operations per row of each method, and with smaller margins."""
    for method in ("certified", "anytime"):
        options = {"force": True, "tune": "flops", "sample": 300}
        program = sc.compile(model, method=method, X=X[::2], **options)
        names = {getattr(node, field) for node in program.body for field in FIELDS if hasattr(node, field)}
        tables = {key: table / SMALLER if key in names else table for key, table in program.tables.items()}
        for one in (program, program.replace(tables=tables)):
            yield cost(one, X[1::2]).mean_flops


if __name__ == "__main__":
    for name, model, X, y in machines():
        cells = " | ".join(f"{figure:.1f}" for figure in figures(model.fit(X[::2], y[::2]), X))
        print(f"| {name} | {cells} |")
