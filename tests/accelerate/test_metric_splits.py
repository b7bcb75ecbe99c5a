"""Splits: both sides have rows, planes part their pair, thresholds are float32 numbers between rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from metric_cases import points

from svmcompile.accelerate.metric_tree.grow import (
    ALL_PAIRS,
    AxisSplitter,
    PlaneSplitter,
    between,
    farthest_pair,
)

FLOATS = st.floats(-(2.0**99), 2.0**99, width=32)
GRIDS = arrays.arrays(
    np.float64, st.tuples(st.integers(2, 20), st.integers(1, 3)), elements=st.integers(-3, 3)
)


@given(GRIDS, st.sampled_from(["midpoint", "median"]))
def test_both_sides_have_rows_and_all_equal_rows_stay(grid, at):
    split = PlaneSplitter(grid, at).split(np.arange(len(grid)))
    if (grid == grid[0]).all():
        assert split is None
        return
    assert split is not None
    assert 0 < split.right.sum() < len(grid)
    assert np.array_equal(grid @ split.plane > split.threshold, split.right)
    assert np.linalg.norm(split.plane) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("n", [50, ALL_PAIRS + 200])
def test_pair_stays_parted_on_data_shifted_by_a_million(n):
    places = points(n, 4) * 1e-3 + 1e6
    split = PlaneSplitter(places, "midpoint").split(np.arange(n))
    u, v = split.pair
    assert not split.right[u] and split.right[v]
    assert places[v] @ split.plane > split.threshold > places[u] @ split.plane


def test_rows_on_the_plane_go_with_u_and_rounding_cannot_move_them():
    places = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.3], [0.0, -0.2], [1e-3, 0.1]])
    split = PlaneSplitter(places, "midpoint").split(np.arange(5))
    u = split.pair[0]
    on_plane = split.right[[2, 3]]
    assert (on_plane == split.right[u]).all()
    assert np.abs(places @ split.plane - split.threshold).min() > 1e-6


def test_farthest_pair_of_few_is_exact_and_of_many_nearly():
    from scipy.spatial.distance import pdist

    few, many = points(ALL_PAIRS, 3), points(ALL_PAIRS * 3, 3)
    for places, share in ((few, 1), (many, 0.9)):
        u, v = farthest_pair(places)
        assert np.linalg.norm(places[u] - places[v]) >= share * pdist(places).max() * (1 - 1e-12)


def test_median_halves_the_rows():
    places = points(101, 3)
    assert PlaneSplitter(places, "median").split(np.arange(101)).right.sum() in (50, 51)


def test_axis_split_finds_where_the_targets_jump():
    places = points(200, 5)
    targets = np.stack([places[:, 3] > 0.4, places[:, 3] <= 0.4], axis=1) * 2.0
    split = AxisSplitter(places, targets, np.ones(200)).split(np.arange(200))
    assert split.feature == 3
    assert np.array_equal(split.right, places[:, 3] > 0.4)
    assert np.float32(split.threshold) == split.threshold


def test_axis_split_follows_the_weights():
    places = np.arange(100.0)[:, None]
    targets = np.where(places < 20, 0.0, 1.0) + np.where(places < 70, 0.0, 3.0)
    for weights, border in ((np.ones(100), 70), (np.where(places[:, 0] < 60, 1.0, 1e-6), 20)):
        split = AxisSplitter(places, targets, weights).split(np.arange(100))
        assert border - 1 <= split.threshold < border


def test_features_that_float32_cannot_tell_apart_are_left():
    places = np.array([[1e9, 0.0], [1e9 + 1, 0.0], [1e9 + 2, 0.0]])
    assert AxisSplitter(places, np.array([[0.0], [1.0], [5.0]]), np.ones(3)).split(np.arange(3)) is None


@given(FLOATS, FLOATS)
def test_threshold_lies_between(first, second):
    low, high = sorted((first, second))
    if low < high:
        found = between(low, high)
        assert low <= found < high
        assert float(np.float32(found)) == found
