"""Fronts: put together as readers do, they keep names, widths, digests, and say what does not fit."""

from __future__ import annotations

import numpy as np
import pytest

from svmcompile.accelerate.bounds.margins import row_error
from svmcompile.ir import nodes as ir
from svmcompile.model.front import (
    IDENTITY,
    Front,
    chain,
    clip,
    fill,
    join,
    missing,
    normalize,
    pick,
    powers,
    project,
    scale,
)
from svmcompile.model.svm import digest

ROWS = np.random.default_rng(0).normal(size=(20, 3))


def halves(width: int) -> Front:
    return scale(np.zeros(width), np.full(width, 0.5))


def mixed() -> Front:
    """A join within a branch of a join, behind a scaling and before another."""
    inner = join([pick(np.array([2, 0]), 3), IDENTITY], 3)
    outer = join([halves(3).then(inner), clip(-1.0, 1.0), project(np.ones((1, 3)), ROWS[0], np.ones(1))], 3)
    return chain([scale(ROWS[1], np.ones(3)), outer, halves(9)])


def test_names_count_on() -> None:
    front = mixed()
    assert [node.out for node in front.nodes if not node.out.startswith("map")] == [
        f"z{n}" for n in range(9)
    ]
    assert len(set(front.tables)) == len(front.tables)
    assert front.out == front.nodes[-1].out == "z8"
    assert (front.takes, front.gives) == (3, 9)


def test_rows_go_through_all_branches() -> None:
    x = ROWS - ROWS[1]
    branches = [x[:, [2, 0]] / 2, x / 2, np.clip(x, -1, 1), (x - ROWS[0]).sum(axis=1, keepdims=True) + 1]
    np.testing.assert_allclose(mixed().run(ROWS), np.hstack(branches) / 2, rtol=1e-12, atol=1e-15)


def test_other_centres_and_names_are_the_same_function() -> None:
    front = mixed()
    other = front.in_float32().uncentred()
    assert not other.tables[other.of_kind(ir.Affine)[0].centre].any()
    np.testing.assert_allclose(other.run(ROWS), front.run(ROWS), rtol=1e-6, atol=1e-6)
    there = front.reading("row", "own_")
    assert there.out == "own_z8" and there.nodes[0].out == "own_z0"
    assert ir.operands(there.nodes[0]) == ("row",) and ir.table_names(there.nodes[0])[0] == "own_shift0"


def test_sources_lead_back_where_branches_share_no_column() -> None:
    columns = join([pick(np.array([2]), 3), pick(np.array([0, 1]), 3).then(halves(2))], 3)
    front = chain([scale(ROWS[0], np.array([2.0, 4.0, 0.5])), columns])
    np.testing.assert_allclose(front.source(front.run(ROWS)), ROWS, rtol=1e-12, atol=1e-15)
    squares = powers(np.array([[0, 0], [1, 3], [0, 2]]), 3)
    np.testing.assert_allclose(squares.source(squares.run(ROWS))[:, 1], ROWS[:, 1])


def test_a_digest_tells_places_and_numbers_apart() -> None:
    fronts = [
        mixed(),
        mixed().then(clip(0.0, 1.0)),
        join([join([IDENTITY, IDENTITY], 3), IDENTITY], 3),
        join([IDENTITY, IDENTITY, IDENTITY], 3),
        fill(np.ones(3), True, 0.0),
        fill(np.ones(3), False, 0.0),
        missing(True, 0.0),
    ]
    assert len({digest(front.parts()) for front in fronts}) == len(fronts)
    assert digest(mixed().parts()) == digest(mixed().parts())
    assert {
        "shift0",
        "join1",
        "factor1.0.0",
        "join1.0.1",
        "columns1.0.1.0.0",
        "clip1.1.0",
    } <= mixed().parts().keys()


@pytest.mark.parametrize(
    "front, problem",
    [
        (scale(np.ones(2), np.ones(3)), "step 0 (scale): 2 shifts for 3 factors"),
        (scale(np.array([np.nan]), np.ones(1)), "step 0 (scale): shift hold a NaN or an infinity"),
        (pick(np.array([3]), 3), "step 0 (pick): a column is not among the 3 features"),
        (halves(3).then(halves(4)), "step 1 (scale): takes 4 features and is given 3"),
        (join([IDENTITY, halves(4)], 3), "step 0.1.0 (scale): takes 4 features and is given 3"),
        (
            project(np.ones((2, 3)), np.ones(3), np.ones(1)),
            "step 0 (project): weights have shape (2, 3), not (1, 3)",
        ),
        (halves(2).then(pick(np.arange(0), 2)), "step 1 (pick): leaves no features"),
    ],
)
def test_what_does_not_fit_is_said(front: Front, problem: str) -> None:
    assert list(front.problems()) == [problem]


def test_rounding_is_bounded_unless_features_are_summed() -> None:
    assert row_error(chain([halves(3), join([IDENTITY, halves(3)], 3), halves(6)]), 3).relative < 1e-6
    summed = join([project(np.ones((2, 3)), np.ones(3), np.ones(2)), IDENTITY], 3)
    for front in (summed, summed.then(halves(5)), normalize("l2", 1e-9).then(halves(3))):
        assert row_error(front, 3).relative == np.inf
