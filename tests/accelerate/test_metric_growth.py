"""Growth: leaves part the rows, limits hold, the published tree meets the SVM at every row."""

from __future__ import annotations

import numpy as np
import pytest
from metric_cases import KERNELS, bench, machine, moons, points, tree

from svmcompile.accelerate.fitting.rows import augmented, neighbours
from svmcompile.accelerate.metric_tree.build import PUBLISHED, Form
from svmcompile.accelerate.metric_tree.grow import DEPTH, Grower, Limits, PlaneSplitter, arranged

AXIS = Form("axis", "gradient-axis", "ridge", 0.002, 16)
OBLIQUE = Form("oblique", "midpoint", "ridge", 0.0, 8)
MEDIAN = Form("median", "median", "ridge", 0.0, 8)
QUADRATIC = Form("quadratic", "midpoint", "quadratic", 0.0, 8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("leaf", ["taylor", "quadratic"])
def test_published_tree_meets_the_svm_at_its_rows(kernel, classes, leaf):
    model, X = machine(kernel, classes)
    X = np.concatenate([X, X[:30]])  # duplicates share a leaf
    built, sample = tree(model, X, Form("published", "midpoint", leaf, -1.0, 1))
    assert built.n_leaves == 120
    np.testing.assert_allclose(
        built.part.sums(X), sample.sums, rtol=0, atol=1e-9 * np.abs(sample.sums).max()
    )


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_published_tree_on_a_grid_full_of_ties(shift):
    grid = np.stack(np.meshgrid(np.arange(9.0), np.arange(9.0)), axis=-1).reshape(-1, 2) + shift
    from sklearn.svm import SVC

    model = SVC(gamma=0.1).fit(grid, np.abs(grid - shift - 4).sum(axis=1) > 4)
    built, sample = tree(model, grid)
    assert built.n_leaves == 81
    np.testing.assert_allclose(built.part.sums(grid), sample.sums, atol=1e-8)


@pytest.mark.parametrize("form", [PUBLISHED, AXIS, OBLIQUE, MEDIAN, QUADRATIC], ids=lambda form: form.name)
def test_leaves_part_the_rows(form):
    model, X, _ = moons()
    shop = bench(model)
    sample = shop.sample(X, True)
    seen = []
    original = arranged

    def watched(root):
        seen.append(original(root))
        return seen[0]

    import svmcompile.accelerate.metric_tree.build as module

    module.arranged, found = watched, None
    try:
        found = shop.build(form, sample)
    finally:
        module.arranged = original
    rows = np.concatenate([branch.rows for branch in seen[0].leaves])
    assert np.array_equal(np.sort(rows), np.arange(len(X)))
    assert all(len(branch.rows) for branch in seen[0].leaves)
    assert found.n_leaves == len(seen[0].leaves) == len(seen[0].children) + 1
    inner = seen[0].children[seen[0].children >= 0]
    assert (inner > np.nonzero(seen[0].children >= 0)[0]).all()  # children come after their parent


@pytest.mark.parametrize("form", [PUBLISHED, AXIS, OBLIQUE, MEDIAN], ids=lambda form: form.name)
def test_identical_rows_make_one_leaf(form):
    model, X = machine()
    built, sample = tree(model, np.repeat(X[:1], 50, axis=0), form)
    assert built.n_leaves == 1
    np.testing.assert_allclose(built.part.sums(X[:1]), sample.sums[:1], atol=1e-9)


@pytest.mark.parametrize("form", [AXIS, OBLIQUE, PUBLISHED], ids=lambda form: form.name)
def test_limits_hold_and_more_leaves_are_no_worse(form):
    model, X, _ = moons()
    meant = model.predict(X)
    shares = []
    for most in (2, 6, 12):
        built = tree(model, X, form, max_leaves=most)[0]
        assert built.n_leaves <= most
        shares.append(((built.part.sums(X)[:, 0] > 0) == meant).mean())
    assert shares[0] < shares[2] and shares[2] > 0.9
    for most in (400, 1000):
        assert tree(model, X, form, max_bytes=most)[0].part.bytes <= most


def test_depth_is_capped():
    places = (1.5 ** np.arange(600.0))[:, None]  # each split takes off few rows
    limits = Limits(-1.0, 1, 0, 0, 0, 0, lambda leaf: 0)
    found = arranged(Grower(PlaneSplitter(places, "midpoint"), None, limits).grow(600))
    assert max(branch.depth for branch in found.leaves) == DEPTH
    assert sum(len(branch.rows) for branch in found.leaves) == 600


def test_median_tree_is_as_deep_as_it_must_be():
    model, _ = machine()
    built = tree(model, points(300, 3), Form("median", "median", "taylor", -1.0, 1))[0]
    assert built.max_depth == 9  # 2^8 < 300 <= 2^9


def test_risk_stops_later_than_counted_errors():
    model, X, _ = moons()
    plain, careful = (
        tree(model, X, Form("axis", "gradient-axis", "ridge", 0.002, 16, 0, r))[0] for r in (0, 1)
    )
    assert careful.n_leaves > plain.n_leaves


def test_new_rows_lie_between_neighbours():
    generator = np.random.default_rng(0)
    clusters = np.concatenate([points(40, 2), points(40, 2) + 1000])
    near = neighbours(clusters, 5, generator)
    assert ((near < 40) == (np.arange(80) < 40)[:, None]).all()
    assert (near != np.arange(80)[:, None]).all()
    more = augmented(clusters, 4, generator)
    assert more.shape == (320, 2)
    assert ((more < 20).all(axis=1) | (more > 980).all(axis=1)).all()
    assert augmented(clusters[:1], 4, generator).shape == (0, 2)
