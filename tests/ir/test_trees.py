"""Trees in the intermediate representation: what they mean, what they cost, what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.nodes.decisions import margins
from svmcompile.ir.program import Claim, Input, Origin, Output, Program
from svmcompile.ir.walks import leaf_depths, walk

# x0 > 0 ? (x1 > 1 ? leaf 2 : leaf 1) : leaf 0
TABLES: dict[str, NDArray[Any]] = {
    "features": np.array([0, 1], dtype=np.int32),
    "thresholds": np.array([0.0, 1.0]),
    "children": np.array([[~0, 1], [~1, ~2]], dtype=np.int32),
    "starts": np.array([0, 1, 2, 2], dtype=np.int32),
    "sums": np.array([0, 0], dtype=np.int32),
    "weights": np.array([[1.0, 0.0], [0.0, 2.0]]),
    "units": np.array([1.0, 0.5]),
    "bias": np.array([[10.0], [20.0], [30.0]]),
    "centre": np.array([1.0, 1.0]),
}
LEAVES = ("starts", "sums", "weights", "units", "bias", "centre")
ROUTE = ir.AxisRoute("leaf", "x", "features", "thresholds", "children")
VALUE = ir.LeafAffine("value", "x", "leaf", *LEAVES)


def program(*nodes: Any, **changes: Any) -> Program:
    body = nodes or (ROUTE, VALUE)
    origin = Origin("test", "0" * 64, 1, 1, "metric-tree", Claim.APPROXIMATE)
    return Program(
        Input(2),
        tuple(body),
        (Output("value", body[-1].out),),
        TABLES | changes,
        labels=None,
        origin=origin,
    )


@pytest.mark.parametrize(
    ("row", "leaf", "value"),
    [
        ((-1.0, 5.0), 0, 10 + (-1 - 1)),
        ((0.0, 5.0), 0, 10 + (0 - 1)),  # on the threshold goes left
        ((0.5, 1.0), 1, 20 + 0.5 * 2 * (1 - 1)),
        ((0.5, -1.0), 1, 20 + 0.5 * 2 * (-1 - 1)),
        ((0.5, 1.5), 2, 30),
    ],
)
def test_a_row_gets_the_function_of_its_leaf(row: Any, leaf: int, value: float) -> None:
    rows = np.array([row])
    found = interpret_values(check(program()), rows, {"leaf", "value"})
    assert (found["leaf"][0], found["value"][0, 0]) == (leaf, value)


def test_nan_goes_left_and_gives_nan() -> None:
    rows = np.array([[np.nan, 2.0], [1.0, np.nan], [1.0, np.inf]])
    found = interpret_values(check(program()), rows, {"leaf", "value"})
    assert found["leaf"].tolist() == [0, 1, 2]
    assert np.isnan(found["value"]).all()


def test_planes_are_taken_about_the_centre() -> None:
    planes = np.array([[1, 0], [0, 1]], dtype=np.int8)
    route = ir.PlaneRoute("leaf", "x", "planes", "thresholds", "children", "centre2")
    tables = {"planes": planes, "centre2": np.array([0.5, 0.5])}
    unused = {name: TABLES[name] for name in TABLES if name != "features"}
    given = replace(program(route, VALUE), tables={**unused, **tables})
    rows = np.array([[0.5, 9.0], [0.6, 1.5], [0.6, 1.6]])
    assert interpret_values(check(given), rows, {"leaf"})["leaf"].tolist() == [0, 1, 2]


def test_depths_count_the_tests_before_a_leaf() -> None:
    assert leaf_depths(TABLES["children"]).tolist() == [1, 2, 2]
    rows = np.array([[-1.0, 0.0]] * 3 + [[1.0, 0.0]])
    assert program().cost(rows).mean_flops == pytest.approx((3 * 1 + 2) / 4 + 2 + 1 * (2 * 2 + 2))
    assert program().cost().mean_flops == 2 + 2 + 6


def test_walk_ends_for_no_rows() -> None:
    assert walk(0, TABLES["children"], lambda rows, at: np.zeros(len(rows), dtype=bool)).shape == (0,)


BAD: dict[str, dict[str, Any]] = {
    "a loop": {"children": np.array([[~0, 0], [~1, ~2]], dtype=np.int32)},
    "a child before its parent": {"children": np.array([[~0, 1], [0, ~1]], dtype=np.int32)},
    "a node beyond the last": {"children": np.array([[~0, 2], [~1, ~2]], dtype=np.int32)},
    "a leaf twice": {"children": np.array([[~0, 1], [~1, ~1]], dtype=np.int32)},
    "a leaf beyond the last": {"children": np.array([[~0, 1], [~1, ~7]], dtype=np.int32)},
    "a node with two parents": {"children": np.array([[1, 1], [~0, ~1]], dtype=np.int32)},
    "a feature out of range": {"features": np.array([0, 2], dtype=np.int32)},
    "a feature below zero": {"features": np.array([0, -1], dtype=np.int32)},
    "features that are reals": {"features": np.array([0.0, 1.0])},
    "a threshold beyond float32": {"thresholds": np.array([0.1, 1.0])},
    "starts that fall": {"starts": np.array([0, 2, 1, 2], dtype=np.int32)},
    "starts that end early": {"starts": np.array([0, 1, 1, 1], dtype=np.int32)},
    "a sum out of range": {"sums": np.array([0, 1], dtype=np.int32)},
    "weights of the wrong width": {"weights": np.zeros((2, 3))},
    "a bias per tree": {"bias": np.array([1.0])},
    "no tree at all": {"children": np.zeros((0, 2), dtype=np.int32)},
    "weights that are not finite": {"weights": np.array([[np.nan, 0.0], [0.0, 2.0]])},
}


@pytest.mark.parametrize("case", BAD)
def test_what_makes_no_sense_is_refused(case: str) -> None:
    with pytest.raises(CheckError):
        check(program(**BAD[case]))


def test_margins() -> None:
    assert margins(np.array([[-2.0], [3.0]]), "sign").tolist() == [2, 3]
    assert margins(np.array([[1.0, 4.0, 2.5]]), "argmax").tolist() == [1.5]
    # Pairs (0,1), (0,2), (1,2): class 0 wins both of its pairs, the closest by 0.5.
    assert margins(np.array([[0.5, 2.0, -0.1]]), "vote").tolist() == [0.5]
    # Everyone wins once: class 0 is the first, and has lost a pair.
    assert margins(np.array([[1.0, -2.0, 3.0]]), "vote").tolist() == [-2.0]
    for rule, width in (("sign", 1), ("argmax", 3), ("vote", 3)):
        assert np.isnan(margins(np.full((1, width), np.nan), rule)).all()


def test_guard_gives_the_exact_score_to_rows_that_are_not_sure() -> None:
    nodes = (
        ROUTE,
        VALUE,
        ir.Affine("exact", "x", "slope", "constant", "zero"),
        ir.Guard("out", "value", "exact", 15.0, "sign"),
    )
    tables = {"slope": np.array([[0.0, 0.0]]), "constant": np.array([7.0]), "zero": np.zeros(2)}
    guarded = check(program(*nodes, **tables))
    rows = np.array([[-1.0, 5.0], [0.5, 1.0]])
    assert interpret(guarded, rows)["value"][:, 0].tolist() == [7.0, 20.0]
    assert "lazy %exact" in guarded.text()
    half = guarded.cost(rows).mean_flops
    assert guarded.cost(rows[1:]).mean_flops < half < guarded.cost(rows[:1]).mean_flops + 6


def test_reach_ends_the_say_of_the_leaves() -> None:
    nodes = (ROUTE, VALUE, ir.Reach("out", "x", "value", "middle", "far", 2.0))
    tables = {"middle": np.zeros(2), "far": np.array([-3.0])}
    rows = np.array([[0.0, 2.0], [0.0, 2.1], [np.nan, 9.0]])
    found = interpret(check(program(*nodes, **tables)), rows)["value"][:, 0]
    assert found[:2].tolist() == [9.0, -3.0]
    assert np.isnan(found[2])


def test_rows_close_to_a_plane_are_marked() -> None:
    route = ir.PlaneRoute("leaf", "x", "planes", "thresholds", "children", "centre2")
    unused = {name: TABLES[name] for name in TABLES if name != "features"}
    tables = {**unused, "planes": np.array([[1 / 3, 0.1], [0.1, 1.0]]), "centre2": np.zeros(2)}
    given = check(replace(program(route, VALUE), tables=tables))
    on, off = [0.3, -1.0], [0.3, 5.0]  # 0.1 - 0.1 is zero, but for rounding
    bounds = error_bounds(given, np.array([on, off], dtype=np.float32).astype(np.float64), "f32")
    assert bounds.unstable.tolist() == [True, False]
