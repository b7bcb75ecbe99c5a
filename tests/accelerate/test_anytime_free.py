"""anytime with basis points anywhere in space: their descent, the labels, and what they save."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.bounds.free import Search, free_points
from svmcompile.accelerate.bounds.sums import Sum
from svmcompile.errors import OptionError
from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.kernel import Kernel

KERNELS = (Kernel("rbf", gamma=0.3), Kernel("poly", gamma=0.3, coef0=1.0, degree=3))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.kind)
@pytest.mark.parametrize("queries", [0, 15])
def test_slopes_are_those_of_the_cost(kernel: Kernel, queries: int) -> None:
    random = np.random.default_rng(0)
    own = Sum(kernel, random.normal(size=(20, 3)), random.normal(size=20), 0.3)
    rows = random.normal(size=(queries, 3))
    search = Search(own, rows, np.sign(own.products(rows) + own.bias))
    found = search.start()
    for _ in range(3):
        found = search.taken(found, random.normal(size=3))
    z, step = random.normal(size=3), 1e-6
    _, slope = search.cost(z, found)
    ends = [[search.cost(z + side * step * axis, found)[0] for side in (1, -1)] for axis in np.eye(3)]
    np.testing.assert_allclose(slope, [(up - down) / (2 * step) for up, down in ends], rtol=1e-5, atol=1e-7)


def test_a_free_point_leaves_no_more_than_the_best_candidate() -> None:
    random = np.random.default_rng(0)
    own = Sum(KERNELS[0], random.normal(size=(20, 3)), random.normal(size=20), 0.3)
    search, none = Search(own, own.vectors[:0], np.zeros(0)), np.zeros(0)
    start = search.start()
    placed = free_points(own, own.vectors, own.vectors[:0], none, 1)[0]
    best = min(search.taken(start, point).residual for point in own.vectors)
    assert search.taken(start, placed).residual < 0.9 * best


def near_border(model: Any, X: Any, count: int) -> Any:
    """Float32 rows bisected between two labels."""
    random = np.random.default_rng(1)
    pool = random.normal(size=(60_000, X.shape[1])) * X.std(axis=0) + X.mean(axis=0)
    labels = model.predict(pool)
    start, end = pool[: len(pool) // 2], pool[len(pool) // 2 :]
    differ = np.flatnonzero(labels[: len(start)] != labels[len(start) :])[:count]
    low, high, own = start[differ], end[differ], labels[differ]
    for _ in range(30):
        middle = (low + high) / 2
        same = (model.predict(middle) == own)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return nearest_float32(low)


@pytest.mark.compile
@pytest.mark.parametrize("ordering", ["min-wz", "hybrid"])
def test_no_label_changes_at_the_border(ordering: str, tmp_path: Path) -> None:
    X, y = make_moons(160, noise=0.25, random_state=0)
    model = SVC(C=5.0, gamma=0.5).fit(X, y)
    options = {"method": "anytime", "X": X, "ordering": ordering, "free": 6, "tune": "portable"}
    program = sc.compile(model, force=True, **options)
    assert program.origin.claim is sc.Claim.SAME_LABEL
    rows = near_border(model, X, 10_000)
    assert len(rows) > 9_000
    sc.write(sc.emit(program, "c", "own", profile="portable"), tmp_path)
    for runner in (program, sc.load(tmp_path)):
        assert (runner.predict(rows) == model.predict(rows)).all()


def test_free_points_save_kernel_values_on_rows_not_seen() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = SVC(gamma=0.02).fit(X[::2], y[::2])
    options = {"method": "anytime", "X": X[::2], "ordering": "hybrid", "force": True, "tune": "flops"}
    without, placed = (
        sc.compile(model, block=1, r_coords="all", free=count, **options).cost(X[1::2]) for count in (0, 6)
    )
    assert placed.mean_kernel_evaluations < 0.9 * without.mean_kernel_evaluations


def test_free_is_for_one_sum_with_vectors() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(OptionError, match="pairs of classes share no basis"):
        sc.compile(SVC().fit(X, y), method="anytime", free=4)
    gram, labels = X @ X.T, y > 0
    with pytest.raises(OptionError, match="a precomputed kernel has no space"):
        sc.compile(SVC(kernel="precomputed").fit(gram, labels), method="anytime", X=gram, free=4)
    with pytest.raises(OptionError, match="free must be at least 0"):
        sc.compile(SVC().fit(X, labels), method="anytime", free=-1)
