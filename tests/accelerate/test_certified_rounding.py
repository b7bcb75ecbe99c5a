"""Section 6 to 8 of docs/certified-proof.md: float32 in any order of summation stays within the margins."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from programs.taylor import Sum, random_sum, taylor_program

from svmcompile.accelerate.taylor.rounding import EXP, U, cubic_roundings, distance_rounding, peak, slack
from svmcompile.accelerate.taylor.sums import Local
from svmcompile.ir import nodes as ir
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_scores
from svmcompile.ir.program import Program
from svmcompile.targets.c.literals import EXP2_COEFFICIENTS, EXP2_FROM_NEAREST

single = np.float32
CASES = {  # features, vectors, gamma, scale of features, axes
    "plain": (5, 40, 0.1, 1.0, 0),
    "axes": (5, 40, 0.1, 1.0, 2),
    "many features": (60, 30, 0.01, 1.0, 3),
    "wide": (3, 30, 1e-9, 1.0, 0),
    "large features": (4, 30, 1e-12, 1e6, 2),
    "cubic": (5, 40, 0.1, 1.0, 0),
    "quartic, axes": (5, 40, 0.3, 1.0, 2),
    "quartic, large features": (4, 30, 1e-12, 1e6, 0),
}
DEGREES = {"cubic": 3, "quartic, axes": 4, "quartic, large features": 4}


@cache
def program(case: str) -> tuple[Sum, Program]:
    d, m, gamma, scale, rank = CASES[case]
    given = replace(random_sum(d, m, gamma, scale), degree=DEGREES.get(case, 0), coef0=0.7)
    return given, taylor_program(given, order=3, rank=rank)


class InSingle:
    """Float32 code as the templates have it, its sums in an order of its own."""

    def __init__(self, given: Program, random: np.random.Generator, sort: bool) -> None:
        self.node = next(node for node in given.body if isinstance(node, ir.TaylorSum))
        self.tables = {name: table.astype(single) for name, table in given.tables.items()}
        self.random, self.sort = random, sort

    def of(self, field: str) -> Any:
        return self.tables[getattr(self.node, field)]

    def dot(self, a: Any, b: Any) -> Any:
        products = a * b
        if self.sort:  # the largest first, whose roundings the small ones cannot undo
            products = products[np.argsort(-np.abs(products))]
        else:
            products = self.random.permutation(products)
        total = single(0)
        for product in products:
            total = total + product
        return total

    def scores(self, row: Any) -> tuple[list[Any], Any, Any]:
        """Scores of every order, u, and what axes leave."""
        node = self.node
        h = row.astype(single) - self.of("centres")[0]
        length = self.dot(h, h)
        u = single(node.gamma) * length
        fade = single(np.exp(-np.float64(u))) * single(1 + self.random.choice([-1, 1]) * 2e-7)
        fade = fade if node.fades else single(1)
        bias, total = self.of("bias")[0], self.of("constants")[0] + self.dot(h, self.of("slopes")[0])
        found, y, left = [bias + fade * total], h, single(0)
        if self.of("axes").ndim > 1:
            y = np.array([self.dot(h, axis) for axis in self.of("axes")[0]])
            left = max(single(1 + node.slack) * length - self.dot(y, y), single(0))
            total = total + self.of("middles")[0] * left
        total = total + self.square(y, self.of("squares")[0])
        found.append(bias + fade * total)
        at, part = 0, single(0)
        for c in range(len(y)):
            size = (c + 1) * (c + 2) // 2
            part = part + y[c] * self.square(y[: c + 1], self.of("cubes")[0][at : at + size])
            at += size
        found.append(bias + fade * (total + part))
        return found, u, left

    def square(self, y: Any, entries: Any) -> Any:
        total = single(0)
        for b in range(len(y)):
            at = b * (b + 1) // 2
            total = total + y[b] * self.dot(y[: b + 1], entries[at : at + b + 1])
        return total


@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_scores_in_float32_stay_within_the_margin(case: str, sort: bool) -> None:
    given, made = program(case)
    rows = given.rows[:25].astype(single).astype(np.float64)
    code = InSingle(made, np.random.default_rng(0), sort)
    exact = taylor_scores(At(code.node, made.tables), 0, rows).scores
    found = np.array([code.scores(row)[0] for row in rows], dtype=np.float64)
    margins = made.tables[code.node.margins][:, 0]
    share = np.abs(found - exact).max(axis=0) / margins
    assert (share <= 1).all() and share.max() > 1e-3  # and the margins are not beside the point


@pytest.mark.parametrize("case", ["axes", "many features", "large features", "quartic, axes"])
def test_what_axes_leave_is_never_too_small(case: str) -> None:
    """Rows along the axes leave nothing, but for rounding."""
    given, made = program(case)
    code = InSingle(made, np.random.default_rng(1), sort=False)
    axes, centre = made.tables[code.node.axes][0], made.tables[code.node.centres][0]
    spread = float(given.rows.std())
    for part in np.random.default_rng(2).normal(0, spread, size=(40, len(axes))):
        row = (centre + part @ axes).astype(single)
        h = row.astype(np.float64) - centre
        square = float(h @ h)
        truth = square - float(np.square(axes @ h).sum())
        left = float(code.scores(row)[2])
        assert truth - 1e-12 * square <= left <= truth + 2 * code.node.slack * square + 1e-12 * square


@pytest.mark.parametrize("case", ["plain", "many features"])
def test_u_is_rounded_no_more_than_cells_and_gaps_allow(case: str) -> None:
    given, made = program(case)
    code = InSingle(made, np.random.default_rng(3), sort=True)
    d = given.rows.shape[1]
    for row in given.rows.astype(single):
        h = row.astype(np.float64) - made.tables[code.node.centres][0]
        u = given.gamma * float(h @ h)
        assert abs(float(code.scores(row)[1]) - u) <= distance_rounding(d) * u
    assert 2 * distance_rounding(784) > 1e-5 and 2 * distance_rounding(5000) > 1e-4  # of old constants


def test_exp_times_a_power_has_its_peak_where_the_table_says() -> None:
    u = np.linspace(0, 40, 400_001)
    for q in (0.5, 1, 1.5, 2, 2.5, 3):
        assert (np.exp(-u) * u**q).max() == pytest.approx(peak(q), rel=1e-6)
        assert (np.exp(-u) * u**q).max() <= peak(q) * (1 + 1e-12)
    assert peak(0) == 1


def horner(coefficients: Any, f: Any) -> Any:
    total = np.full_like(f, coefficients[-1])
    for number in coefficients[-2::-1]:
        total = total * f + number
    return total


def in_short_chains(c: Any, f: Any) -> Any:
    """As host code has it: pairs, then pairs of pairs."""
    square = f * f
    low, high = c[1] * f + c[0], c[3] * f + c[2]
    return (c[5] * f + c[4]) * (square * square) + (high * square + low)


def test_exp2_is_as_exact_as_margins_take_it_to_be() -> None:
    f = np.linspace(-0.5, 0.5, 4_000_001).astype(single)
    truth = np.exp2(f.astype(np.float64))
    for code, numbers in (
        (horner, EXP2_COEFFICIENTS),
        (horner, EXP2_FROM_NEAREST),
        (in_short_chains, EXP2_FROM_NEAREST),
    ):
        found = code(np.array(numbers["f32"], dtype=single), f)
        assert found.dtype == single
        assert np.abs(found / truth - 1).max() <= EXP * U


def test_margins_of_numbers_that_float32_cannot_hold_decide_nothing() -> None:
    given = random_sum(3, 20, 0.3)
    tiny = Sum(given.vectors, given.weights * 1e-41, 1e-42, 0.3, given.rows)
    made = taylor_program(tiny, order=3)
    node = next(item for item in made.body if isinstance(item, ir.TaylorSum))
    found = taylor_scores(At(node, made.tables), 0, given.rows)
    assert not found.clear.any() and made.tables[node.margins].min() > 2.0**-126


def test_rows_that_are_off_beforehand_are_allowed_for() -> None:
    from dataclasses import replace

    given = random_sum(3, 20, 0.3)
    whole = replace(given.whole, input_error=(1e-3, 1e-4))
    plain, moved = (Local(one, given.rows, 8).expansion(2) for one in (given.whole, whole))
    far = given.rows + 1e-3 / np.sqrt(3)
    change = np.abs(given.values(far) - given.values(given.rows)).max()
    assert (moved.margins - plain.margins >= change).all()


def test_weights_that_cancel_still_count_in_full_offline() -> None:
    """The norm of the sum is nothing here, the rounding of its tables is not."""
    given = random_sum(3, 20, 0.3)
    twice = np.vstack([given.vectors, given.vectors])
    opposite = Sum(twice, np.concatenate([1e9 * given.weights, -1e9 * given.weights]), 0.1, 0.3, given.rows)
    assert opposite.whole.length > 1e-8 * opposite.whole.mass
    found = Local(opposite.whole, given.rows, 8).expansion(3)
    error = np.abs(opposite.values(given.rows) - 0.1).max()
    assert found.margins.min() > max(error, 1e-16 * opposite.whole.mass)


def test_slack_grows_with_features_and_axes() -> None:
    assert slack(100, 4) > slack(10, 4) > slack(10, 1) > 10 * U


def _sum(*terms: int) -> int:
    """How often the most rounded term of a sum is rounded, added up from the left; -1 stands for zero."""
    total = -1
    for term in terms:
        total = max(total, term) + (total >= 0 and term >= 0)
    return total


def _product(*factors: int) -> int:
    return -1 if min(factors) < 0 else sum(factors) + len(factors) - 1


def _four(width: int, first: int, last: int) -> int:
    """Rows first .. first + 3 of a triangle by y, as batches sum them up: tables and y are rounded once."""
    rows = [
        _product(_sum(*(_product(1, 1) for _ in range(b + 1))), 1) if b < width and b <= last else -1
        for b in range(first, first + 4)
    ]
    return _sum(_sum(*rows[:2]), _sum(*rows[2:]))


@pytest.mark.parametrize("width", range(1, 49))
def test_batches_round_no_more_often_than_margins_allow(width: int) -> None:
    firsts = range(0, width, 4)
    square = _sum(*(_four(width, first, width) for first in firsts))
    cube = _sum(
        *(_sum(*(_product(_four(width, b, c), 1) for c in range(b, width))) for b in firsts),
    )
    assert _sum(square, 0) <= 2 * width + 4
    assert _sum(cube, 0) <= cubic_roundings(width)
