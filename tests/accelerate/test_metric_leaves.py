"""Leaves: closed-form leave-one-out equals refits; corrections do not hurt; narrow tables stay close."""

from __future__ import annotations

import numpy as np
import pytest
from metric_cases import machine, points, tree

from svmcompile.accelerate.fitting.field import Field
from svmcompile.accelerate.fitting.rows import narrow
from svmcompile.accelerate.metric_tree.build import Form
from svmcompile.accelerate.metric_tree.leaves import Fitter, Ridge, Sample, products
from svmcompile.errors import OptionError
from svmcompile.read import read

OBLIQUE = Form("oblique", "midpoint", "ridge", 0.0, 8)


def refit(places, residuals, weights, penalty):
    """Slopes and offset by plain weighted least squares with a penalty of given size."""
    share = weights / weights.sum()
    z, r = places - share @ places, residuals - share @ residuals
    slopes = np.linalg.solve(
        z.T @ (z * weights[:, None]) + penalty * np.eye(z.shape[1]), z.T @ (r * weights[:, None])
    )
    return slopes, share @ residuals - share @ places @ slopes


@pytest.mark.parametrize("n", [4, 6, 7, 40], ids="{} rows".format)
def test_leave_one_out_equals_refits(n):
    d, strength = 6, 0.1
    places, residuals = points(n, d), points(n, 2, seed=1)
    weights = np.random.default_rng(2).uniform(0.1, 2, n)
    found = Ridge.of(places, residuals, weights, strength)
    z = places - weights @ places / weights.sum()
    penalty = (1 if n < d else strength) * (weights[:, None] * z**2).sum() / d
    slopes, offset = refit(places, residuals, weights, penalty)
    np.testing.assert_allclose(found.slopes, slopes.T, atol=1e-10)
    np.testing.assert_allclose(found.offset, offset, atol=1e-10)
    for row in range(n):
        rest = np.arange(n) != row
        slopes, offset = refit(places[rest], residuals[rest], weights[rest], penalty)
        left_out = residuals[row] - places[row] @ slopes - offset
        np.testing.assert_allclose(found.left_out[row], left_out, atol=1e-8)


def test_identical_rows_have_no_slope_to_correct():
    found = Ridge.of(np.ones((5, 3)), points(5, 1), np.ones(5), 0.1)
    assert not found.slopes.any() and np.isfinite(found.left_out).all()


@pytest.mark.parametrize("quadratic", [False, True])
def test_expansion_meets_value_and_slope_at_its_place(quadratic):
    model, _ = machine("poly", 3)
    field = Field(read(model))
    centre, place = np.full(3, 0.5), np.array([0.3, -0.2, 0.7])
    leaf = Fitter(field, centre, False, quadratic, 0.1, False).taylor(place[None])[0]

    def value(h):
        return (products(h[None]) if quadratic else h[None])[0] @ leaf.weights.T + leaf.bias

    np.testing.assert_allclose(value(place), field.values((place + centre)[None])[0], atol=1e-10)
    away = 1e-3 * np.array([1.0, -2.0, 0.5])
    error = np.abs(value(place + away) - field.values((place + away + centre)[None])[0]).max()
    assert error < (1e-6 if quadratic else 1e-4)


def test_only_pairs_of_classes_seen_get_a_function():
    model, X = machine(classes=4)
    fitter = Fitter(Field(read(model)), np.zeros(3), True, False, 0.1, True)
    assert fitter.listed(np.array([1, 3, 1])).tolist() == [4]  # (1, 3) of 01 02 03 12 13 23
    rows = Sample(X[:5], Field(read(model)).values(X[:5]), np.array([1, 3, 1, 1, 3]), np.ones(5), None)
    leaf, left_out = fitter.fit(rows)
    assert leaf.sums.tolist() == [4] and leaf.weights.shape == (1, 3)
    others = [0, 1, 2, 3, 5]
    np.testing.assert_allclose(leaf.bias[others], rows.sums.mean(axis=0)[others])
    np.testing.assert_allclose(left_out[0, others], rows.sums[1:].mean(axis=0)[others])


@pytest.mark.parametrize(("dtype", "bits"), [("f16", 10), ("i8", 7)])
def test_narrow_rows_are_close_and_say_what_they_miss(dtype, bits):
    rows = points(50, 8)
    rows[3] = 0
    found = narrow(rows, dtype, "rows")
    stands_for = found.stored.astype(np.float64) * found.units[:, None]
    np.testing.assert_allclose(stands_for + found.missed, rows, atol=1e-15)
    assert (np.abs(found.missed) <= np.abs(rows).max(axis=1, keepdims=True) * 2.0**-bits).all()


@pytest.mark.parametrize("size", [1e6, 1e-7])
def test_weights_beyond_float16_are_refused(size):
    with pytest.raises(OptionError, match="use dtype=i8"):
        narrow(size * points(4, 4), "f16", "leaf weights")


@pytest.mark.parametrize("dtype", ["f16", "i8"])
def test_narrow_trees_agree_as_well_as_wide_ones(dtype):
    model, X = machine(n=2000, d=4)
    to_come = points(4000, 4, seed=5)
    wide, narrowed = (tree(model, X, OBLIQUE, dtype=kind)[0] for kind in ("f32", dtype))
    meant = model.predict(to_come)
    shares = [((one.part.sums(to_come)[:, 0] > 0) == meant).mean() for one in (wide, narrowed)]
    assert abs(shares[0] - shares[1]) < 0.003
    assert narrowed.part.bytes < wide.part.bytes
