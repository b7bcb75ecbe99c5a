"""Lists of half-spaces: thresholds, growth, pruning, and rows that contradict each other."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_circles

from svmcompile.accelerate.h1_tree.directions import Ways
from svmcompile.accelerate.h1_tree.grow import Growth, HalfSpace, PlaneList, grow, prune, threshold
from svmcompile.accelerate.h1_tree.rows import Sample

PAPER = Growth(ways=Ways(reduced=()), turn=False)


def signs(flags):
    return np.where(flags, 1, -1).astype(np.int8)


def xor():
    points = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    return Sample(points, signs(points[:, 0] * points[:, 1] > 0))


def ring():
    points, inside = make_circles(200, noise=0.05, factor=0.5, random_state=0)
    return Sample(points, signs(inside == 1))


def spirals():
    turn = np.linspace(0.5, 2.5, 60) * np.pi
    arm = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
    return Sample(np.vstack([arm, -arm]), np.repeat([1, -1], 60).astype(np.int8))


def interleaved():
    points = np.arange(30.0)[:, None]
    return Sample(points, signs(np.arange(30) // 3 % 2 == 0))


SETS = {"xor": xor, "ring": ring, "spirals": spirals, "interleaved": interleaved}


def test_the_threshold_lies_between_hard_rows_and_what_is_answered():
    at, reach = threshold(np.array([0.0, 1.0]), np.array([-5.0, 3.0, 2.0, 0.5]))
    assert (at, reach) == (1.5, 1.0)
    assert threshold(np.array([0.0, 4.0]), np.array([3.0])) == (4.0, 4.0)  # nothing is answered
    one = np.nextafter(1.0, 2.0)
    at, _ = threshold(np.array([1.0]), np.array([one]))
    assert 1.0 <= at < one  # neighbours among numbers are parted as well


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("growth", [Growth(), PAPER], ids=["default", "paper"])
def test_consistent_labels_are_learnt_without_error(name, growth):
    sample = SETS[name]()
    found = grow(sample, Growth(growth.ways, most=len(sample), turn=growth.turn))
    assert len(found.nodes) <= len(sample)
    assert (found.answers(sample.points) == sample.signs).all()
    assert (prune(found, sample).answers(sample.points) == sample.signs).all()


@pytest.mark.parametrize("name", SETS)
def test_no_node_answers_a_hard_row(name):
    sample, left = SETS[name](), np.ones(len(SETS[name]()), dtype=bool)
    for node in grow(sample, Growth()).nodes:
        answered = node.holds(sample.points) & left
        assert answered.any()
        assert (sample.signs[answered] == node.answer).all()
        left &= ~answered


@pytest.mark.parametrize("name", SETS)
def test_mirrored_labels_mirror_the_list(name):
    sample = SETS[name]()
    one, other = grow(sample, PAPER), grow(Sample(sample.points, -sample.signs), PAPER)
    assert one.rest == -other.rest
    assert [node.answer for node in one.nodes] == [-node.answer for node in other.nodes]
    for a, b in zip(one.nodes, other.nodes, strict=True):
        np.testing.assert_allclose(a.plane, b.plane, atol=1e-6)
        np.testing.assert_allclose(a.threshold, b.threshold, atol=1e-6)


def test_copies_with_both_labels_cost_the_fewer_of_them():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(60, 2))
    points = np.vstack([points, np.repeat(points[:5], 3, axis=0)])
    labels = np.concatenate([np.ones(60), -np.ones(15)]).astype(np.int8)
    sample = Sample(points, labels)
    for growth in (Growth(), PAPER):
        found = grow(sample, growth)
        assert int((found.answers(points) != labels).sum()) == 5  # of four copies each, one is lost
        assert int((prune(found, sample).answers(points) != labels).sum()) <= 5


def test_pruning_never_adds_errors_and_leaves_a_node():
    for name in SETS:
        sample = SETS[name]()
        idle = HalfSpace(np.ones(sample.points.shape[1]), 1000.0, 1, 1000.0)
        found = grow(sample, PAPER)
        padded = PlaneList((idle, *found.nodes, idle), found.rest)
        pruned = prune(padded, sample)
        assert len(pruned.nodes) <= len(found.nodes)
        assert (pruned.answers(sample.points) == sample.signs).all()
    one_sided = Sample(np.zeros((3, 1)), np.ones(3, dtype=np.int8))
    assert len(prune(PlaneList((idle, idle), 1), one_sided).nodes) == 1


def test_tolerance_prunes_more():
    sample = xor()
    found = grow(sample, PAPER)
    loose = prune(found, sample, 0.2)
    assert len(loose.nodes) < len(prune(found, sample).nodes)
    assert (loose.answers(sample.points) != sample.signs).mean() <= 0.2


def test_rows_within_the_band_are_never_answered():
    rng = np.random.default_rng(2)
    points = rng.normal(size=(400, 2))
    trust = points[:, 0] + 0.3 * points[:, 1] ** 2
    sample = Sample(points, signs(trust > 0), trust, None, 0.4)
    found = grow(sample, Growth(most=12, least_gain=0.01, mixed=False))
    answers = found.answers(points)
    assert (answers != 0).mean() > 0.5
    assert (answers[np.abs(trust) <= 0.4] == 0).all()
    assert (answers == sample.signs)[answers != 0].all()


def test_made_up_rows_hold_back_but_do_not_count():
    points = np.array([[-2.0], [-1.0], [1.0], [2.0], [0.6], [1.5]])
    labels = np.array([-1, -1, 1, 1, -1, -1], dtype=np.int8)
    counted = np.array([True] * 4 + [False] * 2)
    sample = Sample(points, labels, labels.astype(float), counted)
    found = grow(sample, Growth(mixed=False, most=3))
    assert found.answers(points).tolist()[2:4] != [1, 1]  # 1.0 lies among made-up rows of the other sign
    assert found.answers(np.array([[2.5]])).tolist() == [1]


def test_a_list_for_few_rows_heeds_all_of_them():
    """Directions come from some rows, thresholds from all."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(5000, 3))
    sample = Sample(points, signs(points @ [1.0, 2.0, 0.5] + 0.2 * points[:, 0] ** 2 > 0))
    found = grow(sample, Growth(sample=300))
    assert (found.answers(points) == sample.signs).all()
    assert len(found.nodes) <= Growth().most


def test_noise_lets_a_node_answer_some_hard_rows():
    hard, gains = np.array([0.0, 3.0, 3.0, 9.0]), np.array([1.0, 2.0, 4.0, 5.0, 6.0, 7.0])
    assert threshold(hard, gains, 0.25) == (3.5, 3.0)  # 9 lies beyond, one in five
    assert threshold(hard, gains, 0.1) == (9.0, 9.0)
    assert threshold(hard, gains, 0.49) == (0.5, 0.0)  # three of nine
    assert threshold(hard, gains, 0.0) == (9.0, 9.0)


def test_noise_makes_lists_of_noisy_labels_short_and_better():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(2000, 2))
    truth = signs(points[:, 0] + points[:, 1] ** 2 > 0.5)
    labels = np.where(rng.random(2000) < 0.1, -truth, truth).astype(np.int8)
    train = Sample(points[:1000], labels[:1000])
    strict, loose = (grow(train, Growth(most=40, noise=noise)) for noise in (0.0, 0.2))
    right = [(one.answers(points[1000:]) == truth[1000:]).mean() for one in (strict, loose)]
    assert len(loose.nodes) < len(strict.nodes) == 40
    assert right[1] > max(0.8, right[0] + 0.05)


@pytest.mark.filterwarnings("error")
def test_rows_of_one_sign_need_no_node_in_many_dimensions():
    points = np.random.default_rng(0).normal(size=(50, 40))
    found = grow(Sample(points, np.ones(50, dtype=np.int8)), Growth(mixed=False))
    assert len(found.nodes) <= 1
