"""Widths of RBF sums in float32: above what any row's errors add up to, and not far above it."""

from __future__ import annotations

import numpy as np
import pytest

from svmcompile.ir.kernel import Kernel
from svmcompile.ir.widths import STEP, TINY, _errors, _largest_sums, _unit, additions, rbf_width


@pytest.mark.parametrize(("features", "gamma"), [(2, 5.0), (20, 0.05), (300, 0.02), (300, 1e-4)])
def test_no_row_has_errors_above_the_bound(features: int, gamma: float) -> None:
    random, kernel = np.random.default_rng(features), Kernel("rbf", gamma)
    vectors, weights = random.normal(size=(150, features)), random.random((3, 150))
    errors, shares = _errors(kernel, vectors, additions(vectors), 0.0, TINY, len(vectors))
    bound = _largest_sums(kernel, vectors, errors, shares, weights)
    near = vectors[random.integers(0, 150, 600)] + random.normal(size=(600, features)) * random.random(
        (600, 1)
    )
    rows = np.concatenate([near, vectors, vectors.mean(axis=0)[None], (vectors[:75] + vectors[75:]) / 2])
    distances = _unit(kernel) * np.linalg.norm(rows[:, None] - vectors, axis=2)
    place = np.minimum(distances / STEP, errors.shape[1] - 1).astype(np.intp)
    met = errors[np.arange(150), place] @ weights.T
    assert (met <= bound).all()
    assert (bound <= weights @ errors[:, 0]).all()


def test_vectors_far_apart_in_many_features_leave_a_small_width() -> None:
    random = np.random.default_rng(0)
    vectors, weights = random.normal(size=(400, 300)), np.ones((1, 400))
    narrow, alone = (rbf_width(Kernel("rbf", 0.02), vectors[:n], weights[:, :n], 0.0) for n in (400, 1))
    assert narrow < 100 * alone  # 400 times, if the errors of all vectors added up
