"""The search: all parameters at the first ceiling, the best few at larger ones; work in parts."""

from __future__ import annotations

import numpy as np
import pytest
from dtsvm_cases import digits_rows, mixture_rows, moon_rows, options
from joblib import parallel_config

from svmcompile.accelerate.dtsvm import work
from svmcompile.accelerate.dtsvm.leaves import Leaf, fit
from svmcompile.accelerate.dtsvm.options import Numbers
from svmcompile.accelerate.dtsvm.training import Search, Tried, thetas, train_classifier
from svmcompile.errors import OptionError, ReadError

GRID = {"C": "1,10", "gamma": "0.5,5", "ceiling": 150, "validation": 0.25}


class Table(Search):
    """A search whose accuracies are given."""

    def tried(self, ceiling, chosen):
        self.workers.append((ceiling, len(chosen)))
        return [Tried(ceiling, t, self.partitions[ceiling][t.C], 1, 0.0, 0.0, 0) for t in chosen]


def best(accuracies, gain=0.005, top=2, max_ceiling=0, rows=1000):
    asked: list = []
    search = Table(type("R", (), {"X": np.zeros(rows)}), accuracies, "sum", 0, asked)
    grid = thetas(options(C="1,10,100", gamma=1))
    winner, tried = search.best(
        grid, options(ceiling=100, growth=4, max_ceiling=max_ceiling, top=top, gain=gain)
    )
    return (winner.ceiling, winner.theta.C), asked, tried


def test_only_the_best_few_see_larger_ceilings():
    levels = {100: {1: 0.9, 10: 0.8, 100: 0.7}, 400: {1: 0.902, 10: 0.95}, 1600: {10: 0.951}}
    found, asked, tried = best(levels)
    assert found == (400, 10) and asked == [(100, 3), (400, 2), (1600, 1)] and len(tried) == 6


def test_a_gain_below_the_threshold_keeps_the_smaller_ceiling():
    levels = {100: {1: 0.9, 10: 0.8, 100: 0.7}, 400: {1: 0.904, 10: 0.802}}
    assert best(levels)[0] == (100, 1)
    assert best(levels | {1600: {1: 0.9, 10: 0.8}}, gain=0.001)[0] == (400, 1)


def test_growth_ends_when_all_rows_are_covered_or_the_user_says_so():
    levels = {100: {1: 0.5, 10: 0.4, 100: 0.3}, 400: {1: 0.7, 10: 0.6}, 1600: {1: 0.9, 10: 0.8}}
    found, asked, _ = best(levels)
    assert found == (1600, 1) and asked[-1] == (1600, 2)  # 1600 covers 1000 rows; nothing above is tried
    assert best(levels, max_ceiling=400)[0] == (400, 1)
    assert best(levels, rows=100)[1] == [(100, 3)]


def test_the_report_holds_everything_tried_and_the_winner_is_what_is_trained():
    X, y = mixture_rows()
    trained = train_classifier(X, y, 4, options(**GRID, refit=False, min_leaf=0))
    first = [one for one in trained.tried if one.ceiling == 150]
    assert {(one.theta.C, one.theta.kernel.gamma) for one in first} == {
        (1, 0.5), (10, 0.5), (1, 5), (10, 5)
    }  # fmt: skip
    assert trained.chosen in trained.tried
    held = np.random.default_rng(0).permutation(len(X))[: len(X) // 4]
    accuracy = (trained.model.predict(X[held]) == y[held]).mean()
    assert accuracy == pytest.approx(trained.chosen.accuracy, abs=2 / len(held))  # kernels shared or not


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_change_nothing(backend):
    X, y = moon_rows()
    alone = train_classifier(X, y, 2, options(**GRID))
    with parallel_config(backend=backend, n_jobs=2):
        shared = train_classifier(X, y, 2, options(**GRID))
    assert [one.as_dict() for one in alone.tried] == [one.as_dict() for one in shared.tried]
    for one, other in zip(alone.model.leaves, shared.model.leaves, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


def test_a_second_start_goes_on_from_the_checkpoint(tmp_path, monkeypatch):
    X, y = mixture_rows()
    given = options(C=1, gamma=0.5, ceiling=200, max_ceiling=200, checkpoint=tmp_path / "kept")
    calls = []

    def counted(task):
        if len(calls) == 4:
            raise KeyboardInterrupt
        calls.append(task)
        return fit(task)

    monkeypatch.setattr("svmcompile.accelerate.dtsvm.training.fit_leaf", counted)
    with pytest.raises(KeyboardInterrupt):
        train_classifier(X, y, 4, given)
    kept = list((tmp_path / "kept").glob("leaf-*.checkpoint"))
    assert 3 <= len(kept) <= 4  # the last one may not have been handed over yet
    monkeypatch.setattr(
        "svmcompile.accelerate.dtsvm.training.fit_leaf", lambda task: (calls.append(task), fit(task))[1]
    )
    again = train_classifier(X, y, 4, given)
    assert len(calls) == 4 + again.model.tree.n_leaves - len(kept)
    plain = train_classifier(X, y, 4, options(C=1, gamma=0.5, ceiling=200, max_ceiling=200))
    for one, other in zip(again.model.leaves, plain.model.leaves, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)
        assert one.counts == other.counts and one.converged is other.converged and one.size == other.size


def test_other_work_never_meets_a_checkpoint_and_damage_is_named(tmp_path):
    X, y = mixture_rows()
    given = {"C": 1, "gamma": 0.5, "ceiling": 400, "max_ceiling": 400, "checkpoint": tmp_path}
    train_classifier(X, y, 4, options(**given))
    names = {item.name for item in tmp_path.iterdir()}
    train_classifier(X, y, 4, options(**(given | {"C": 2})))
    more = {item.name for item in tmp_path.iterdir()}
    assert len(more) > len(names)
    stored = {item: item.read_bytes() for item in tmp_path.iterdir()}
    for damage in (lambda _: b"nonsense", lambda _: b"", lambda whole: whole[:-1], _one_bit_changed):
        for item, whole in stored.items():
            item.write_bytes(damage(whole))
        with pytest.raises(ReadError, match="remove the file"):
            train_classifier(X, y, 4, options(**given))


def _one_bit_changed(whole):
    """In the middle, where arrays are."""
    changed = bytearray(whole)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


def test_results_come_in_the_order_of_the_tasks():
    sizes = [1, 5, 3]
    found = work.Workers().results("", lambda at: at * 10, Leaf, lambda at: at, sizes)
    assert found == [0, 10, 20]


def test_where_classes_are_boxes_nearly_all_rows_cost_nothing():
    """Like the paper's shuttle set: most rows in pure leaves, less than two vectors met, labels right."""
    X = np.random.default_rng(0).random((6000, 4))
    y = np.select([X[:, 0] < 0.7, X[:, 1] < 0.9, X[:, 2] + X[:, 3] < 1], [0, 1, 2], 3)
    trained = train_classifier(X, y, 4, options(C=10, gamma=1, ceiling=400, max_ceiling=400))
    figures = trained.model.figures(X)
    assert figures["pure_share"] > 0.97 and figures["nesv"] < 2
    assert (trained.model.predict(X) == y).mean() >= 0.999


def test_larger_ceilings_do_not_lose_accuracy_where_classes_are_many():
    """Like the paper's letter set: a class absent from a leaf is lost there."""
    X, y = digits_rows()
    given = options(C=10, gamma=0.5, ceiling=100, min_leaf=0, validation=0.3)
    trained = train_classifier(X, y, 10, given)
    levels = {one.ceiling: one.accuracy for one in trained.tried}
    assert levels[100] < levels[400] < levels[1600] and trained.chosen.ceiling == 1600
    assert trained.model.tree.n_leaves == 2  # 1,797 rows are more than 1,600


def test_numbers_are_lists_or_powers_of_ten():
    assert Numbers("0.1..1e2").values == (0.1, 1.0, 10.0, 100.0)
    assert Numbers("1, 2.5,1").values == (1.0, 2.5) and Numbers(3).values == (3.0,)
    assert Numbers((1, 10)).values == (1.0, 10.0) and str(Numbers("1..100")) == "1,10,100"
    for wrong in ("", "a", "1..b", [], "nan", None):
        with pytest.raises(OptionError, match="not a list of numbers"):
            Numbers(wrong)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"mode": "ovo"}, "mode='ovo' is unknown"),
        ({"kernel": "precomputed"}, "cannot be trained"),
        ({"C": 0}, "C must be above 0"),
        ({"ceiling": 0}, "ceiling must be at least 1"),
        ({"growth": 1}, "growth must be at least 2"),
        ({"validation": 1}, "validation must be between 0 and 1"),
        ({"gain": float("nan")}, "gain must be at least 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(given, words):
    X, y = moon_rows()
    with pytest.raises(OptionError, match=words):
        train_classifier(X, y, 2, options(**given))
