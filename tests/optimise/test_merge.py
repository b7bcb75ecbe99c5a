"""Equal support vectors are evaluated once, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.copies import merge_copies
from svmcompile.optimise import optimise


def categories(classes: int, rows: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three small categories, most of which occur many times and under several labels."""
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(rows, 3)).astype(np.float64)
    return X, (X.sum(axis=1) + random.integers(0, 3, rows)).astype(np.int64) % classes


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("classes", [2, 3])
def test_copies_are_merged(kernel: str, classes: int) -> None:
    X, y = categories(classes)
    model = SVC(kernel=kernel, gamma=0.1, decision_function_shape="ovo").fit(X, y)
    program = optimise(sc.compile(model))
    sizes = [
        len(program.tables[node.vectors])
        for node in program.body
        if isinstance(node, (ir.KernelSum, ir.PairSum))
    ]
    assert all(size <= 64 * (1 if classes == 2 else classes) for size in sizes)  # 64 rows there are
    assert len(model.support_) > 2 * sum(sizes)
    rows = np.random.default_rng(1).uniform(-1, 5, size=(10_000, 3))
    meant, found = model.decision_function(rows), program.decision_function(rows)
    assert np.abs(found - meant).max() <= 1e-10 * np.abs(meant).max()
    apart = np.abs(np.reshape(meant, (len(rows), -1))).min(axis=1) > 1e-9
    assert (program.predict(rows) == model.predict(rows))[apart].all()


def test_a_regressor_and_its_saving() -> None:
    X, y = categories(2)
    program = optimise(sc.compile(SVR(gamma=0.1).fit(X, y)))
    saving = next(one for one in program.origin.savings if one.by == "merge_vectors")
    assert saving.table_bytes[1] < saving.table_bytes[0]


def test_where_no_two_are_equal_nothing_is_copied() -> None:
    vectors, weights = np.random.default_rng(0).normal(size=(50, 4)), np.ones((2, 50))
    assert merge_copies(vectors, weights)[0] is vectors
    doubled, added = merge_copies(np.concatenate([vectors, vectors]), np.ones((2, 100)))
    assert (doubled == vectors).all() and (added == 2).all()
