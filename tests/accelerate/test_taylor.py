"""Taylor polynomials about centres: what they leave out stays within its bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.svm import SVC

from svmcompile.accelerate.builder import Builder
from svmcompile.accelerate.taylor.front import Centres, add_front, grow_centres
from svmcompile.accelerate.taylor.spectra import spectra
from svmcompile.accelerate.taylor.sums import Local, RbfSum
from svmcompile.ir import nodes as ir
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_scores
from svmcompile.read import read


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
@pytest.mark.parametrize("order, rank", [(1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (2, 5), (3, 5)])
def test_remainders_hold_for_every_centre_near_and_far(
    X: Array, model: SVC, leaves: int, order: int, rank: int
) -> None:
    whole, generator = sum_of(model), np.random.default_rng(0)
    rows = np.vstack([X, X + generator.normal(0, 1, X.shape), whole.vectors])
    f = model.decision_function(rows)
    for part in grow_centres(X, leaves).parts:  # not the nearest alone
        node, tables = front_of(whole, X[part], order, rank)
        scores, gaps, loose, inside = taylor_scores(At(node, tables), 0, rows)
        assert inside.any() and (leaves > 1 or inside[: len(X)].all())
        gaps = (gaps + loose[:, :, None])[inside]
        assert ((f[:, None] - scores)[inside] <= gaps[:, :, 1]).all()
        assert ((scores - f[:, None])[inside] <= gaps[:, :, 0]).all()


def front_of(whole: RbfSum, rows: Array, order: int, rank: int) -> tuple[ir.TaylorSum, dict[str, Any]]:
    """The node of one centre, and its tables."""
    builder = Builder(read(CASES[0][1]))
    found = [Local(whole, rows, 8).expansion(order, rank)]
    add_front(builder, whole, "x", "exact", Centres([np.arange(len(rows))]), found)
    node = builder.body[-1]
    assert isinstance(node, ir.TaylorSum)
    return node, builder.tables


def test_one_vector_at_the_centre_leaves_nothing() -> None:
    whole = RbfSum(np.array([[1.0, 2.0]]), np.array([3.0]), 0.5, 0.7, 9.0, (0, 0))
    found = Local(whole, np.array([[0.0, 2.0], [2.0, 2.0]]), 8).expansion(2)
    assert found.constant == 3.0 and not found.slope.any() and not found.squares.any()
    assert found.gaps.max() < 1e-4 and found.margins.max() < 1e-4


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
    from svmcompile.ir.walks import walk

    X, _ = make_moons(300, noise=0.2, random_state=0)
    tree = grow_centres(X, 7)
    planes, thresholds = np.stack(tree.planes), np.array(tree.thresholds)

    def above(rows: Any, at: Any) -> Any:
        return (X[rows] * planes[at]).sum(axis=1) > thresholds[at]

    leaf = walk(len(X), np.array(tree.children), above)
    assert sorted(np.unique(leaf)) == list(range(7))
    for number, part in enumerate(tree.parts):
        assert (np.flatnonzero(leaf == number) == part).all()


def test_rows_that_are_all_the_same_have_one_centre() -> None:
    tree = grow_centres(np.ones((10, 3)), 4)
    assert len(tree.parts) == 1 and not tree.planes
