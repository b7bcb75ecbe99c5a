"""Taylor polynomials about centres: what they leave out stays within its bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.svm import SVC

from svmcompile.accelerate.taylor.centres import grow
from svmcompile.accelerate.taylor.expansion import RbfSum, expand
from svmcompile.accelerate.taylor.spectra import spectra
from svmcompile.kernel import Array, Kernel


def sum_of(model: SVC) -> RbfSum:
    kernel = Kernel("rbf", model._gamma)
    weights = model.dual_coef_[0]
    norm = weights @ kernel.values(model.support_vectors_, model.support_vectors_) @ weights
    return RbfSum(
        model.support_vectors_, weights, float(model.intercept_[0]), model._gamma, float(norm), (0, 0)
    )


def cases() -> list[tuple[Array, SVC]]:
    X, y = make_moons(200, noise=0.2, random_state=0)
    cancer, sick = load_breast_cancer(return_X_y=True)
    cancer = (cancer - cancer.mean(axis=0)) / cancer.std(axis=0)
    return [(X, SVC(gamma=1.0).fit(X, y)), (cancer, SVC(gamma=0.02).fit(cancer, sick))]


CASES = cases()


@pytest.mark.parametrize("X, model", CASES, ids=["moons", "cancer"])
@pytest.mark.parametrize("leaves", [1, 5])
def test_remainders_hold_for_every_centre_near_and_far(X: Array, model: SVC, leaves: int) -> None:
    whole, generator = sum_of(model), np.random.default_rng(0)
    rows = np.vstack([X, X + generator.normal(0, 1, X.shape), whole.vectors])
    f = model.decision_function(rows)
    tree = grow(X, leaves)
    for centre in tree.centres:  # not the nearest alone
        found = expand(whole, centre, 20.0, 3, cells=256)
        h = rows - found.centre
        u = whole.gamma * np.square(h).sum(axis=1)
        cell = (u * found.step).astype(int)
        inside = cell < 256
        assert inside.any()
        second, first = np.tril_indices(h.shape[1])
        slope = found.constant + h @ found.slope
        square = slope + (h[:, first] * h[:, second]) @ found.squares
        for order, inner in enumerate([slope, square, square + _cubic(h, found.cubes)]):
            left = (f - whole.bias - np.exp(-u) * inner)[inside]
            assert (left >= found.lows[order, cell[inside]]).all()
            assert (left <= found.highs[order, cell[inside]]).all()


def _cubic(h: Array, cubes: Array) -> Array:
    d = h.shape[1]
    triples = [(a, b, c) for c in range(d) for b in range(c + 1) for a in range(b + 1)]
    return sum(cube * h[:, a] * h[:, b] * h[:, c] for cube, (a, b, c) in zip(cubes, triples, strict=True))


def test_one_vector_at_the_centre_leaves_nothing() -> None:
    whole = RbfSum(np.array([[1.0, 2.0]]), np.array([3.0]), 0.5, 0.7, 9.0, (0, 0))
    found = expand(whole, np.array([1.0, 2.0]), 1.0, 2)
    assert found.constant == 3.0 and not found.slope.any() and not found.squares.any()
    assert np.abs(found.lows).max() < 1e-4 and np.abs(found.highs).max() < 1e-4


def test_residuals_fall_and_windows_hold_the_forms() -> None:
    generator = np.random.default_rng(1)
    points, weights = generator.normal(size=(30, 4)), generator.normal(size=30)
    norm = weights @ np.exp(points @ points.T) @ weights  # of all orders together
    found = spectra(points, weights, norm, 6)
    assert (np.diff(found.residual) <= 1e-12).all()
    directions = generator.normal(size=(5000, 4))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for n in range(2, 7):
        values = (directions @ points.T) ** n @ weights / math.factorial(n)
        values = np.concatenate([values, _climbed(points, weights, directions[:20], n)])
        assert values.max() <= found.high[n] and values.min() >= found.low[n]
    forms = (points.T * weights) @ points / 2
    assert found.high[2] == pytest.approx(max(0, np.linalg.eigvalsh(forms)[-1]), rel=1e-9)


def _climbed(points: Array, weights: Array, starts: Array, n: int) -> Array:
    """Values of the form of degree n after climbing it on the sphere."""
    h = starts.copy()
    for _ in range(200):
        slope = ((h @ points.T) ** (n - 1) * weights) @ points
        h = h + 0.05 * slope / np.linalg.norm(slope, axis=1, keepdims=True)
        h /= np.linalg.norm(h, axis=1, keepdims=True)
    return np.asarray((h @ points.T) ** n @ weights / math.factorial(n))


def test_a_tree_of_centres_takes_rows_to_the_leaf_that_holds_them() -> None:
    from svmcompile.ir.trees import walk

    X, _ = make_moons(300, noise=0.2, random_state=0)
    tree = grow(X, 7)
    planes, thresholds = np.stack(tree.planes), np.array(tree.thresholds)

    def above(rows: Any, at: Any) -> Any:
        return (X[rows] * planes[at]).sum(axis=1) > thresholds[at]

    leaf = walk(len(X), np.array(tree.children), above)
    assert sorted(np.unique(leaf)) == list(range(7))
    for number, (centre, reach) in enumerate(zip(tree.centres, tree.reaches, strict=True)):
        held = X[leaf == number]
        assert np.allclose(held.mean(axis=0), centre)
        assert np.isclose(np.linalg.norm(held - centre, axis=1).max(), reach)


def test_rows_that_are_all_the_same_have_one_centre() -> None:
    tree = grow(np.ones((10, 3)), 4)
    assert len(tree.centres) == 1 and not tree.planes
