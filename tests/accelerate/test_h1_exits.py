"""Exits before an SVM: what held-out rows prove, and how far thresholds stand back for it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from svmcompile.accelerate.fitting.calibration import allowed_errors, upper_bound
from svmcompile.accelerate.h1_tree.exits import NOTHING, Trial, calibrate, last_good
from svmcompile.accelerate.h1_tree.forest import as_stored, ruler
from svmcompile.accelerate.h1_tree.grow import Growth, grow
from svmcompile.accelerate.h1_tree.rows import Sample


def trial(shift, wrong, reach=0.5, rows=1000):
    return Trial(shift, rows, wrong, reach, 2.0)


def test_the_first_step_that_fails_ends_the_search():
    """A later step with few errors is luck that nobody proved."""
    trials = [trial(NOTHING, 0, 1.0), trial(1.0, 1), trial(0.5, 7), trial(0.0, 2)]
    assert last_good(trials, 2).shift == 1.0
    assert last_good(trials, 7).shift == 0.0
    assert last_good(trials, 0).shift == NOTHING


def test_what_is_proven_keeps_the_target():
    trials = [trial(NOTHING, 0, 1.0), trial(1.0, 1), trial(0.0, 4), trial(-0.1, 30)]
    found = calibrate(trials, 0.99, 0.8)
    assert allowed_errors(1000, 0.99, 0.8) >= 4
    assert found.shift == 0.0 and found.reached
    assert found.proven_agreement == pytest.approx(1 - upper_bound(4, 1000, 0.8))
    assert found.agreement == pytest.approx(0.996)
    assert found.proven_agreement >= 0.99


def test_too_few_rows_allow_no_error_and_nothing_exits_is_always_right():
    few = [trial(NOTHING, 0, 1.0, 50), trial(1.0, 0, 0.9, 50), trial(0.0, 1, 0.5, 50)]
    found = calibrate(few, 0.999, 0.8)
    assert found.shift == 1.0 and not found.reached
    none = calibrate(few[:1], 0.999, 0.8)
    assert none.proven_agreement == 1.0 and none.reached
    assert none.as_dict()["shift"] is None  # no infinity in a report


def test_flops_count_planes_and_the_share_that_reaches_the_svm():
    assert Trial(0.0, 10, 0, 0.25, 3.0).flops(10, 1000) == 10 + 3 * 21 + 250


def rows():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(800, 2))
    trust = points[:, 0] - 0.4 * points[:, 1] ** 2
    return Sample(points, np.where(trust > 0, 1, -1).astype(np.int8), trust)


def settled_at(sample, shifts):
    """The grown list, and the rule that sets its thresholds at several shifts."""
    found = grow(sample, Growth(mixed=False, most=12, least_gain=0.01))
    held = [node.holds(sample.points) for node in found.nodes]
    planes = np.array([node.plane for node in found.nodes])
    own = ruler(found, planes, held, sample, sample.points.mean(axis=0))
    return [own.settled(shift) for shift in shifts]


def test_lists_that_stand_back_stay_right_and_answer_fewer_rows():
    """Rows that an early node leaves are heeded by the later ones."""
    sample = rows()
    answered = []
    for one in settled_at(sample, (0.0, 0.1, 0.3, 1.0)):
        answers = one.answers(sample.points)
        assert (answers == sample.signs)[answers != 0].all()
        answered.append((answers != 0).mean())
    assert answered[0] > 0.8
    assert all(a > b for a, b in pairwise(answered))


def test_lists_that_stand_ahead_answer_more_and_err():
    sample = rows()
    at, ahead = settled_at(sample, (0.0, -0.3))
    answers = ahead.answers(sample.points)
    assert (answers != 0).sum() > (at.answers(sample.points) != 0).sum()
    assert (answers != sample.signs)[answers != 0].any()


def test_both_sides_of_a_plane_are_used():
    """Once one class is answered, the other is too: a closing node heeds what was answered before."""
    rng = np.random.default_rng(1)
    points = np.concatenate([rng.normal(size=(50, 2)) - 4, rng.normal(size=(60, 2)) + 4])
    sample = Sample(points, np.repeat([-1, 1], [50, 60]).astype(np.int8))
    found = grow(sample, Growth(mixed=False, most=12, least_gain=0.01))
    assert [node.closing for node in found.nodes] == [False, True]
    assert (found.answers(points) == sample.signs).all()
    far = np.array([[40.0, 40.0], [-40.0, -40.0]])
    assert found.answers(far).tolist() == [1, -1]


@pytest.mark.parametrize(("dtype", "number"), [("f32", np.float32), ("f16", np.float16)])
def test_planes_are_what_tables_can_hold(dtype, number):
    once = as_stored(np.random.default_rng(2).normal(size=(20, 7)), dtype)
    assert np.array_equal(once.astype(number).astype(np.float64), once)
    assert np.abs(np.linalg.norm(once, axis=1) - 1).max() < 0.01


def test_int8_planes_are_whole_numbers_of_a_unit():
    once = as_stored(np.random.default_rng(2).normal(size=(20, 7)), "i8")
    whole = once / (np.abs(once).max(axis=1, keepdims=True) / 127)
    np.testing.assert_allclose(whole, np.rint(whole), atol=1e-9)
