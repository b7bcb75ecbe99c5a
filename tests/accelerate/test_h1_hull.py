"""The two programs of the H1 tree: against generic solvers, and where they give no direction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize, nnls
from sklearn.svm import SVC, OneClassSVM

from svmcompile.accelerate.h1_tree.directions import (
    Ways,
    directions,
    heavy_direction,
    least_norm_weights,
    main_directions,
    perpendiculars,
    projection,
    reduced_directions,
    reduced_projection,
)


def two_classes(seed, n=12, d=3, apart=2.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n - 3, d)) + apart


def cosine(a, b):
    return a @ b / np.sqrt((a @ a) * (b @ b))


@pytest.mark.parametrize("k", [1, -1])
@pytest.mark.parametrize("seed", range(4))
def test_the_projection_solves_the_published_program(k, seed):
    """min |w|^2 / 2 - sum_o y (w.x + b) with y (w.x + b) >= 1 on the hard class, by a generic solver."""
    hard, other = two_classes(seed)
    place = other.mean(axis=0)
    weights = least_norm_weights(hard - place)
    w = k * len(other) * (weights @ hard - place)
    b = k - hard[weights.argmax()] @ w

    def primal(v):
        return v[:-1] @ v[:-1] / 2 + k * (other @ v[:-1] + v[-1]).sum()

    held = {"type": "ineq", "fun": lambda v: k * (hard @ v[:-1] + v[-1]) - 1}
    start = np.append(np.zeros(hard.shape[1]), float(k))
    exactly = {"ftol": 1e-14, "maxiter": 500}
    found = minimize(primal, start, constraints=[held], method="SLSQP", options=exactly)
    np.testing.assert_allclose(np.append(w, b), found.x, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("n", "d"), [(20, 2), (200, 10), (800, 40)])
def test_three_solvers_agree(n, d):
    hard, other = two_classes(n, n, d, apart=3.0)
    place = other.mean(axis=0)
    ours = projection(hard, place)
    assert ours is not None
    one_class = OneClassSVM(kernel="linear", nu=1 / n, tol=1e-10).fit(hard - place).coef_[0]
    lam, _ = nnls(np.vstack([(hard - place).T, np.full(n, 1e3)]), np.append(np.zeros(d), 1e3))
    for direction in (-one_class, -(lam / lam.sum()) @ (hard - place)):
        assert cosine(ours, direction) > 1 - 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_no_hard_row_is_nearer_than_the_projection(seed):
    hard, other = two_classes(seed, 60, 4)
    place = other.mean(axis=0)
    weights = least_norm_weights(hard - place)
    assert weights.min() >= 0 and weights.sum() == pytest.approx(1)
    point = weights @ hard - place
    assert ((hard - place) @ point >= point @ point - 1e-9).all()


def test_a_mean_within_the_hull_gives_no_direction_and_the_reduced_hull_one():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * rng.uniform(0.9, 1.1, (200, 1))
    place = np.array([0.3, 0.1])
    assert projection(ring, place) is None
    found = reduced_directions(ring, place, (0.05, 0.3))
    assert found and cosine(found[-1], place - ring.mean(axis=0)) > 0.9
    assert reduced_projection(ring, place, 1.0) == pytest.approx(place - ring.mean(axis=0))


def test_a_weight_too_large_is_lowered():
    """With a heavy hard class around the other one the SVM gives zero; the remedy finds a direction."""
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 100)
    hard = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
    other = rng.normal(size=(50, 2)) * 0.3 + [1.0, 0.0]
    plain = SVC(kernel="linear", class_weight={0: 1e3, 1: 1.0}).fit(
        np.vstack([hard, other]), np.repeat([0, 1], [100, 50])
    )
    assert np.abs(plain.coef_).max() < 1e-3
    assert heavy_direction(hard, other, 1e3, Ways(zero_factor=1.0)) is None
    assert cosine(heavy_direction(hard, other, 1e3, Ways()), np.array([1.0, 0.0])) > 0.9


def test_a_separable_pair_has_the_direction_of_the_linear_svm():
    """Where the hard margin's multipliers stay below one, the heavy class changes nothing."""
    rng = np.random.default_rng(2)
    hard, other = rng.normal(size=(40, 3)), rng.normal(size=(30, 3)) + 6
    rows, sides = np.vstack([hard, other]), np.repeat([-1, 1], [40, 30])
    linear = SVC(kernel="linear", C=1e6).fit(rows, sides)
    assert np.abs(linear.dual_coef_).max() <= 1
    assert cosine(next(directions(hard, other, Ways()))[1], linear.coef_[0]) > 0.999


@pytest.mark.parametrize("d", [2, 5, 30])
def test_perpendicular_directions_are_perpendicular(d):
    rng = np.random.default_rng(3)
    hard, other = rng.normal(size=(50, d)), rng.normal(size=(50, d)) + 1
    direction = rng.normal(size=d)
    direction /= np.sqrt(direction @ direction)
    across = perpendiculars(direction, main_directions(hard, other))
    assert len(across) == (d - 1 if d <= 8 else 9)
    assert np.abs(np.array(across) @ direction).max() < 1e-9
    np.testing.assert_allclose(np.linalg.norm(across, axis=1), 1)
