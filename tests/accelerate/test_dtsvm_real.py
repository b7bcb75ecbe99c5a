"""The sets of the paper, where they are at hand: figures within reach of the published ones."""

from __future__ import annotations

import numpy as np
import pytest
from dtsvm_cases import options
from metric_cases import real_data

from svmcompile.accelerate.dtsvm.training import fitted, thetas, workers_of
from svmcompile.accelerate.dtsvm.tree import grow

pytestmark = pytest.mark.slow


def sixths(name):
    """Five sixths to train with, as rows and class numbers, and one to test with."""
    found = real_data(name)
    X = np.concatenate([found["X"], found["X_test"]]).astype(np.float64)
    y = np.unique(np.concatenate([found["y"], found["y_test"]]), return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(y))
    test, train = np.split(order, [len(y) // 6])
    return X[train], y[train], X[test], y[test]


def model_of(X, y, C, gamma, ceiling):
    given = options(C=C, gamma=gamma, min_leaf=0)
    return fitted(X, y, int(y.max()) + 1, thetas(given)[0], ceiling, given, workers_of(given))


def test_shuttle_is_nearly_all_pure():
    X, y, test_X, test_y = sixths("shuttle")
    model = model_of(X, y, 1000, 10, 1500)
    figures = model.figures(test_X)
    assert 0.97 <= figures["pure_share"] <= 0.995 and figures["nesv"] < 2
    assert (model.predict(test_X) == test_y).mean() >= 0.999


def test_letter_gains_with_the_ceiling():
    X, y, test_X, test_y = sixths("letter")
    accuracy = [
        float((model_of(X, y, 10, 10, ceiling).predict(test_X) == test_y).mean())
        for ceiling in (1500, 6000, 24000)
    ]
    assert 0.94 <= accuracy[0] <= 0.965 and 0.965 <= accuracy[2] <= 0.985
    assert accuracy[0] < accuracy[1] < accuracy[2]


@pytest.mark.parametrize("name", ["letter", "shuttle", "pendigits"])
def test_cuts_are_trees_grown_directly(name):
    X, y, _, _ = sixths(name)
    tree = grow(X, y, 1000)
    for ceiling in (2000, 8000):
        ours, direct = tree.cut(ceiling).leaves(X), grow(X, y, ceiling).leaves(X)
        pairs = set(zip(ours.tolist(), direct.tolist(), strict=True))
        assert len(pairs) == len(set(ours.tolist())) == len(set(direct.tolist()))
