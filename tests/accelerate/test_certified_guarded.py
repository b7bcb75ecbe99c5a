"""The guard of the float32 sum: no code's rounding is above its width."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.svm import SVC

from svmcompile.accelerate.bounds.sums import mostly_zeros
from svmcompile.accelerate.certified.fallback import guard_width
from svmcompile.ir.kernel import Kernel
from svmcompile.read import read


def fitted(d: int) -> tuple[np.ndarray, SVC]:
    generator = np.random.default_rng(0)
    X = generator.random((120, d)) * (generator.random((120, d)) < 0.2)
    return X, SVC(gamma=2.0 / d, C=2.0).fit(X, np.arange(120) % 2)


@pytest.mark.parametrize("d", [40, 300, 784])
def test_the_width_is_above_the_error_of_float32_sums(d: int) -> None:
    X, model = fitted(d)
    width = guard_width(read(model))
    rows = np.vstack([X, 3 * X, 0 * X[:1]]).astype(np.float32)
    vectors = model.support_vectors_.astype(np.float32)
    norms = np.square(rows).sum(axis=1)[:, None] + np.square(vectors).sum(axis=1)
    products = rows @ vectors.T
    kernel = np.exp(np.float32(-model.gamma) * (norms - 2 * products))
    scores = kernel @ model.dual_coef_[0].astype(np.float32) + np.float32(model.intercept_[0])
    assert np.abs(scores - model.decision_function(rows.astype(np.float64))).max() < width < 0.05


def test_what_is_known_only_without_preprocessing() -> None:
    _, model = fitted(40)
    svm = read(model)
    assert mostly_zeros(svm) and not mostly_zeros(replace(svm, vectors=svm.vectors + 1.0))
    assert guard_width(replace(svm, vectors=1e4 * svm.vectors, kernel=Kernel("rbf", 1.0))) == np.inf
