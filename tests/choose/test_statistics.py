"""Bounds hold as often as they say, and parts never meet."""

from __future__ import annotations

import numpy as np
import pytest

from svmcompile.choose.statistics import (
    check_rows,
    expected,
    finalists_allowed,
    loss_bound,
    rows_needed,
    split,
)  # fmt: skip
from svmcompile.errors import OptionError
from svmcompile.statistics import interval, lower_bound, upper_bound


def test_rows_needed_are_those_of_the_binomial() -> None:
    assert rows_needed(0.995, 0.05) == 598
    assert rows_needed(0.99, 0.05) == 299
    for share in (0.9, 0.99, 0.999):
        needed = rows_needed(share, 0.05)
        assert lower_bound(needed, needed, 0.05) >= share > lower_bound(needed - 1, needed - 1, 0.05)


@pytest.mark.parametrize("share", [0.5, 0.97, 0.995])
@pytest.mark.parametrize("rows", [30, 400])
def test_lower_bound_fails_at_most_as_often_as_it_says(share: float, rows: int) -> None:
    counts = np.random.default_rng(0).binomial(rows, share, size=4000)
    bounds = {count: lower_bound(int(count), rows, 0.05) for count in np.unique(counts)}
    broken = np.mean([bounds[count] > share for count in counts])
    assert broken <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 4000)


def test_bounds_are_ordered_and_meet_at_the_ends() -> None:
    assert lower_bound(0, 10, 0.05) == 0.0
    assert upper_bound(10, 10, 0.05) == 1.0
    for same in range(11):
        assert lower_bound(same, 10, 0.05) <= same / 10 <= upper_bound(same, 10, 0.05)


def test_an_interval_halves_what_is_left_between_its_sides() -> None:
    assert interval(97, 100) == (lower_bound(97, 100, 0.025), upper_bound(97, 100, 0.025))
    assert interval(97, 100) == pytest.approx((0.9148, 0.9938), abs=1e-4)  # tables of Clopper and Pearson
    assert interval(10, 10)[1] == 1.0 and interval(0, 10)[0] == 0.0


def test_loss_bound_covers_paired_losses() -> None:
    generator = np.random.default_rng(1)
    lost, won, rows, true = 0.02, 0.01, 500, 0.01
    draws = generator.multinomial(rows, [lost, won, 1 - lost - won], size=2000)
    broken = np.mean([loss_bound(int(a), int(b), rows, 0.05) < true for a, b, _ in draws])
    assert broken <= 0.05


def test_the_promise_holds_though_the_best_of_many_is_taken() -> None:
    """Forty candidates that all miss the limit by a hair: one is promised in 5 % of the cases at most."""
    generator, limit, rows = np.random.default_rng(2), 0.98, 500
    tests = finalists_allowed(rows, limit, 0.05)
    promised = 0
    for _ in range(1000):
        choosing = generator.binomial(200, 0.9799, size=40)
        finalists = np.argsort(-choosing)[:tests]
        reporting = generator.binomial(rows, 0.9799, size=len(finalists))
        promised += any(lower_bound(int(count), rows, 0.05 / tests) >= limit for count in reporting)
    assert promised / 1000 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)


@pytest.mark.parametrize("rows", [20, 21, 100, 999, 200_000])
@pytest.mark.parametrize("needed", [0, 299, 598, 100_000])
def test_parts_do_not_meet(rows: int, needed: int) -> None:
    parts = split(rows, needed, seed=3)
    every = np.concatenate([parts.fit, parts.choose, parts.report])
    assert len(np.unique(every)) == len(every) <= rows
    assert min(map(len, (parts.fit, parts.choose, parts.report))) >= 1
    again = split(rows, needed, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip((parts.fit,), (again.fit,), strict=True))
    order = np.random.default_rng(3).permutation(rows)
    assert np.array_equal(parts.fit, order[: len(parts.fit)]), "what compile --rows draws"


def test_rows_of_their_own_report_whole() -> None:
    parts = split(100, 0, seed=0, report_rows=30)
    assert np.array_equal(parts.report, np.arange(30))
    assert len(parts.fit) + len(parts.choose) == 100


def test_too_few_rows_are_refused_with_the_number_needed() -> None:
    with pytest.raises(OptionError, match=r"takes 598 rows .* has 400 rows, of which 280"):
        check_rows(400, 280, 0.995, 0.95, "rows.npz")
    check_rows(1000, 598, 0.995, 0.95, "rows.npz")
    check_rows(10, 4, None, 0.95, "rows.npz")


def test_expected_differences_scale() -> None:
    assert expected(0, 100, 600) == 0
    assert expected(1, 100, 600) == 6
    assert expected(1, 100, 50) == 1
