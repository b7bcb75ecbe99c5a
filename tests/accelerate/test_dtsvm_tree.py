"""The tree: ceilings, cuts, float32 routing, small leaves."""

from __future__ import annotations

import numpy as np
import pytest
from dtsvm_cases import digits_rows, mixture_rows
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from svmcompile.accelerate.dtsvm.tree import (
    class_counts,
    floor_float32,
    grow,
    merged,
    single_leaf,
    without_small_leaves,
)


def groups(tree, X):
    """The partition a tree makes, whatever its leaves are called."""
    at = tree.leaves(X)
    return {frozenset(np.flatnonzero(at == leaf).tolist()) for leaf in np.unique(at)}


@pytest.mark.parametrize("ceiling", [100, 250, 400, 1000])
def test_a_cut_is_the_tree_grown_with_that_ceiling(ceiling):
    X, y = mixture_rows()
    cut, direct = grow(X, y, 50).cut(ceiling), grow(X, y, ceiling)
    assert groups(cut, X) == groups(direct, X)
    assert sorted(cut.leaf_sizes) == sorted(direct.leaf_sizes)


@pytest.mark.parametrize("rows", [digits_rows, mixture_rows])
@pytest.mark.parametrize("ceiling", [60, 300])
def test_a_node_is_split_if_and_only_if_it_is_above_the_ceiling(rows, ceiling):
    X, y = rows()
    tree = grow(X, y, ceiling)
    assert (tree.sizes > ceiling).all()
    at = tree.leaves(X)
    np.testing.assert_array_equal(np.bincount(at, minlength=tree.n_leaves), tree.leaf_sizes)
    for leaf in np.flatnonzero(tree.leaf_sizes > ceiling):  # only where nothing can be gained
        assert len(np.unique(y[at == leaf])) == 1 or len(np.unique(X[at == leaf], axis=0)) == 1


def test_mixed_duplicates_above_the_ceiling_stay_together():
    X, y = np.zeros((50, 2)), np.arange(50) % 2
    assert grow(X, y, 10).n_leaves == 1


def test_rows_that_no_single_split_parts_are_split_all_the_same():
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    X, y = np.repeat(corners, 10, axis=0), np.repeat([0, 1, 1, 0], 10)
    tree = grow(X, y, 5)
    assert tree.n_leaves == 4 and (tree.leaf_sizes == 10).all()


def test_where_no_split_gains_halves_are_as_equal_as_can_be():
    """Classes alternate in both features, so that no split gains; the second feature has even halves."""
    grid = np.array([(a, b) for a in range(4) for b in range(4)], dtype=float)
    X = np.repeat(grid, np.where(grid[:, 0] < 2, 6, 2), axis=0)
    y = ((X[:, 0] + X[:, 1]) % 2).astype(int)
    tree = grow(X, y, len(X) - 1)
    assert tree.features.tolist() == [1] and tree.thresholds.tolist() == [1.5]
    assert tree.leaf_sizes.tolist() == [32, 32]
    only = grow(X[:, :1], np.arange(len(X)) % 2, len(X) - 1)  # one feature: 24 rows have the value 0
    assert only.thresholds.tolist() == [0.5] and only.leaf_sizes.tolist() == [24, 40]


def test_splits_that_gain_nothing_may_stand_below_others_and_above_them():
    """Three features: the first parts off a class, the others do so only together."""
    cube = np.array([(a, b, c) for a in (0, 1) for b in range(4) for c in range(4)], dtype=float)
    X = np.repeat(cube, 5, axis=0)
    y = np.where(X[:, 0] == 0, 2, (X[:, 1] + X[:, 2]) % 2).astype(int)
    for ceiling in (5, 20, 40):
        tree = grow(X, y, ceiling)
        at = tree.leaves(X)
        np.testing.assert_array_equal(np.bincount(at, minlength=tree.n_leaves), tree.leaf_sizes)
        for leaf in np.flatnonzero(tree.leaf_sizes > ceiling):
            assert len(np.unique(y[at == leaf])) == 1
        assert all((pair[pair >= 0] > node).all() for node, pair in enumerate(tree.children))
        assert groups(grow(X, y, 5).cut(ceiling), X) == groups(tree, X)


def test_leaves_are_those_of_scikit_learn():
    X, y = mixture_rows()
    theirs = DecisionTreeClassifier(criterion="entropy", min_samples_split=101, random_state=0)
    theirs.fit(X.astype(np.float32), y)
    tree, other = grow(X, y, 100), theirs.apply(X.astype(np.float32))
    pairs = set(zip(tree.leaves(X).tolist(), other.tolist(), strict=True))
    assert len(pairs) == tree.n_leaves == theirs.get_n_leaves()


def test_rows_on_a_threshold_go_left_and_the_next_number_right():
    X, y = mixture_rows()
    tree = grow(X, y, 400)
    feature, threshold = tree.features[0], np.float32(tree.thresholds[0])
    rows = np.zeros((2, X.shape[1]), dtype=np.float32)
    rows[:, feature] = threshold, np.nextafter(threshold, np.float32(np.inf))
    top = tree.without(np.arange(len(tree.features)) > 0)
    np.testing.assert_array_equal(top.leaves(rows), [0, 1])


@given(st.floats(-1e30, 1e30), st.integers(-2, 2))
def test_rounded_thresholds_compare_alike(threshold, steps):
    """`x <= t` in float64 and `x <= floor(t)` in float32 are the same for float32 numbers."""
    rounded = floor_float32(np.array([threshold]))[0]
    assert np.float32(rounded) == rounded <= threshold
    x = np.float32(threshold)
    for _ in range(abs(steps)):
        x = np.nextafter(x, np.float32(np.inf if steps > 0 else -np.inf))
    assert (float(x) <= threshold) == (x <= np.float32(rounded))


def test_a_tree_of_one_leaf_routes_everything_there():
    assert single_leaf(7).leaves(np.zeros((3, 2))).tolist() == [0, 0, 0]
    X, y = mixture_rows()
    assert grow(X, y, len(X)).n_leaves == 1
    assert grow(X, y, 100).cut(len(X)).n_leaves == 1


def test_small_leaves_join_the_leaf_beside_them():
    X, y = mixture_rows()
    tree = grow(X, y, 40)
    joined = without_small_leaves(tree, X, y, 4, 40, min_leaf=20)
    assert 1 < joined.n_leaves < tree.n_leaves and joined.leaf_sizes.sum() == len(X)
    at = joined.leaves(X)
    np.testing.assert_array_equal(np.bincount(at, minlength=joined.n_leaves), joined.leaf_sizes)
    counts = class_counts(at, y, joined.n_leaves, 4)
    beside = {~child for pair in joined.children for child in pair if (pair < 0).all()}
    small = [leaf for leaf in beside if joined.leaf_sizes[leaf] < 20 and (counts[leaf] > 0).sum() > 1]
    parents = {~c: node for node, pair in enumerate(joined.children) for c in pair if c < 0}
    assert all(joined.sizes[parents[leaf]] > 60 for leaf in small)  # too large to join
    assert without_small_leaves(tree, X, y, 4, 40, min_leaf=0) is tree


def test_nothing_small_nothing_joined():
    X, y = mixture_rows()
    tree = grow(X, y, 300)
    same = merged(tree, np.zeros(tree.n_leaves, dtype=bool), 10_000)
    assert groups(same, X) == groups(tree, X)
