"""Growing trees from kernel values: the best split, honest bookkeeping, and the published search."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from balanced_reference import balanced_cost, exact_balanced_cost

from svmcompile.accelerate.sv_tree.balanced import Balanced, highest
from svmcompile.accelerate.sv_tree.grow import Growth, alternating_split, grow
from svmcompile.accelerate.sv_tree.method import MOST_DOUBLES, kernel_matrix
from svmcompile.accelerate.sv_tree.split import Split, best_column, best_split, fit_term, possible_cuts
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.walks import path_evaluations, path_nodes

PLAIN = Growth(max_depth=100, min_rows=5, affine=False, refit=False, cache=False)
GROWTHS = {
    "scale": PLAIN,
    "affine": Growth(max_depth=6, min_rows=5, refit=False),
    "refit": Growth(max_depth=6, min_rows=5),
    "published": Growth(max_depth=100, min_rows=5, affine=False, refit=False, cache=False, alternate=True),
    "purity": Growth(max_depth=8, min_rows=5, decide=lambda sums: sums[:, 0] > 0),
}


def case(seed: int, rows: int = 12, columns: int = 5, outputs: int = 1) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    return random.uniform(size=(rows, columns)), random.normal(size=(rows, outputs))


def cost(K: Any, targets: Any, column: int, split: Split, affine: bool) -> float:
    """The squared error that a split leaves."""
    right = K[:, column] > split.threshold
    total = 0.0
    for side, chosen in ((~right, split.left), (right, split.right)):
        term = fit_term(K[side, chosen], targets[side], affine)
        total += float(np.square(targets[side] - term.values(K[side, chosen])).sum())
    return total


@pytest.mark.parametrize("affine", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_split_is_the_best_of_all(seed: int, affine: bool) -> None:
    K, targets = case(seed, outputs=1 + seed % 3)
    rows, column = np.arange(len(K)), seed % K.shape[1]
    keys = np.sort(K[:, column])
    thresholds = (keys[1:] + keys[:-1]) / 2
    every = [
        cost(K, targets, column, Split(t, left, right), affine)
        for t, left, right in product(thresholds, range(5), range(5))
    ]
    found = best_split(K, rows, column, targets, affine)
    assert found is not None
    assert cost(K, targets, column, found, affine) == pytest.approx(min(every), abs=1e-10)


@pytest.mark.parametrize("seed", range(20))
def test_the_published_search_never_does_better(seed: int) -> None:
    K, targets = case(seed)
    rows = np.arange(len(K))
    best = best_split(K, rows, 0, targets, affine=False)
    found = alternating_split(K, rows, 0, targets, np.random.default_rng(seed))
    assert best is not None and found is not None
    assert cost(K, targets, 0, best, False) <= cost(K, targets, 0, found, False) + 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_against_the_exact_balanced_tree(seed: int) -> None:
    """One level is the root's choice; at two, free scales and thresholds cannot be worse."""
    X, targets = case(seed, rows=8, columns=4)
    r = targets[:, 0]
    least = min(float(np.square(r - X[:, q]).sum()) for q in range(4))
    assert exact_balanced_cost(X, r, 1) == pytest.approx(least)
    column = int(np.argmin([balanced_cost(X, r, q, 2) for q in range(4)]))
    rest = (r - X[:, column])[:, None]
    found = best_split(X, np.arange(8), column, rest, affine=False)
    assert found is not None
    assert cost(X, rest, column, found, False) <= balanced_cost(X, r, column, 2) + 1e-12
    assert exact_balanced_cost(X, r, 3) <= exact_balanced_cost(X, r, 2) + 1e-12


@pytest.mark.parametrize("height", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_balanced_tree_is_the_best_of_all(seed: int, height: int) -> None:
    """Algorithm 1, written down a second time without cuts or plans."""
    X, targets = case(seed, rows=8, columns=4)
    rows = np.arange(8)
    for own in (np.ones((4, 1)), np.array([[1.0], [-2.0], [0.5], [3.0]])):
        found = Balanced(X, affine=False, own=own, min_rows=1).plan(rows, targets, height)
        assert found.cost == pytest.approx(exact_balanced_cost(X * own[:, 0], targets[:, 0], height))
        growth = Growth(max_depth=height, min_rows=1, affine=False, refit=False, balanced=True, own=own)
        tree = grow(X, targets, np.zeros(1), growth)
        assert np.square(tree.values(X) - targets).sum() == pytest.approx(found.cost)


def test_balanced_trees_are_searched_as_far_as_that_ends() -> None:
    assert [highest(400, columns) for columns in (10, 95, 1000, 200_000)] == [5, 3, 2, 1]
    assert highest(8, 2) == 4  # eight rows cannot be halved more often


def test_the_split_of_unscaled_columns_is_the_best_of_all() -> None:
    X, targets = case(1, rows=40)
    own, rows = np.array([[0.1], [-0.3], [0.2], [0.5], [-0.1]]), np.arange(40)

    def left_over(t: float, left: int, right: int) -> float:
        sides = (X[:, 0] <= t, left), (X[:, 0] > t, right)
        return sum(float(np.square(targets[side] - own[q] * X[side][:, [q]]).sum()) for side, q in sides)

    every = [left_over(*one) for one in product(np.sort(X[:, 0])[:-1], range(5), range(5))]
    best = best_split(X, rows, 0, targets, False, own=own)
    found = alternating_split(X, rows, 0, targets, np.random.default_rng(0), own)
    assert best is not None and found is not None
    assert left_over(best.threshold, best.left, best.right) == pytest.approx(min(every))
    assert left_over(found.threshold, found.left, found.right) >= min(every) - 1e-12


def test_the_root_fits_best() -> None:
    K, targets = case(3, rows=40)
    fits = [np.square(targets - fit_term(K[:, q], targets, True).values(K[:, q])).sum() for q in range(5)]
    assert best_column(K, np.arange(40), targets, affine=True) == int(np.argmin(fits))


def test_equal_values_are_not_split() -> None:
    K = np.ones((6, 2))
    assert best_split(K, np.arange(6), 0, np.arange(6.0)[:, None], affine=True) is None
    assert alternating_split(K, np.arange(6), 0, np.arange(6.0)[:, None], np.random.default_rng(0)) is None
    nearly = np.array([0.0, 1.0, 1.0 + 1e-12, 2.0])
    assert possible_cuts(nearly, 1).tolist() == [1, 3]
    assert len(possible_cuts(np.arange(5000.0), 1)) == 2048


@pytest.mark.parametrize("name", GROWTHS)
def test_leaves_hold_what_the_fit_left(name: str) -> None:
    K, targets = case(7, rows=200, columns=15, outputs=1 if name == "purity" else 2)
    base = np.full(targets.shape[1], 0.25)
    tree = grow(K, targets, base, GROWTHS[name])
    path = tree.paths(K)
    assert np.bincount(path.leaf, minlength=len(tree.bias)).sum() == 200
    assert set(path.leaf) == set(range(len(tree.bias)))  # every leaf has rows of its own
    routes = path_nodes(tree.children)
    for leaf, route in enumerate(routes):
        weights = tree.weights[tree.starts[leaf] : tree.starts[leaf + 1]]
        assert len(weights) == len(route) <= GROWTHS[name].max_depth
        rows = path.leaf == leaf
        sums = path.met[rows, : len(route)] @ weights + tree.bias[leaf]
        np.testing.assert_allclose(tree.values(K)[rows], sums, atol=1e-9)
    left = np.square(targets - base - tree.values(K)).sum()
    assert left < 0.9 * np.square(targets - base).sum()
    evaluations = path_evaluations(tree.picks, tree.children)[path.leaf]
    assert (tree.evaluations(K) == evaluations).all()
    if name in ("scale", "published"):
        small = np.bincount(path.leaf)
        assert (small <= 5).all()


def test_one_column_reproduces_its_own_multiple() -> None:
    K = np.random.default_rng(0).uniform(size=(60, 1))
    tree = grow(K, 3.0 * K - 2.0, np.array([-2.0]), PLAIN)
    np.testing.assert_allclose(tree.values(K), 3.0 * K, atol=1e-12)


def test_a_value_met_before_is_not_computed_again() -> None:
    K = np.random.default_rng(1).uniform(size=(300, 2))
    targets = np.sin(9 * K[:, :1])
    cached, plain = (
        grow(K, targets, np.zeros(1), Growth(max_depth=6, min_rows=5, cache=cache))
        for cache in (True, False)
    )
    np.testing.assert_allclose(cached.values(K), plain.values(K))
    assert cached.evaluations(K).max() <= 2 < plain.evaluations(K).max()


def test_purity_stops_early() -> None:
    K, _ = case(2, rows=300, columns=10)
    targets = K[:, :1] + np.square(K[:, 1:2]) + K[:, 2:3] - 1.3
    kinds = [Growth(max_depth=6, min_rows=5, decide=decide) for decide in (None, GROWTHS["purity"].decide)]
    full, pure = (grow(K, targets, np.zeros(1), growth) for growth in kinds)
    assert pure.evaluations(K).mean() < full.evaluations(K).mean()
    assert ((pure.values(K) > 0) == (targets > 0)).mean() > 0.95


@pytest.mark.parametrize("name", GROWTHS)
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_few_rows_and_constant_targets_make_one_leaf(name: str, rows: int) -> None:
    K, _ = case(4, rows=rows)
    tree = grow(K, np.full((rows, 1), 2.0), np.zeros(1), GROWTHS[name])
    assert len(tree.picks) == 1 and tree.children.tolist() == [[-1, -1]]
    assert np.isfinite(tree.values(K)).all()


def test_large_matrices_are_kept_in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(3).normal(size=(300, 3))
    kernel = Kernel("rbf", 0.5)
    exact = kernel_matrix(kernel, rows, rows[:40])
    np.testing.assert_array_equal(exact, kernel.values(rows, rows[:40]))
    monkeypatch.setattr("svmcompile.accelerate.sv_tree.method.MOST_DOUBLES", 1000)
    small = kernel_matrix(kernel, rows, rows[:40])
    assert exact.dtype == np.float64 and small.dtype == np.float32 and MOST_DOUBLES > 1000
    np.testing.assert_allclose(small, exact, rtol=1e-6, atol=1e-6)
    targets = np.sin(rows[:, :1])
    errors = [
        np.square(grow(K, targets, np.zeros(1), GROWTHS["refit"]).values(K) - targets).mean()
        for K in (exact, small)
    ]
    assert errors[1] < 1.5 * errors[0] + 1e-3
