"""Sums of leaves in the intermediate representation: what they mean, what they cost, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from programs.leaves import RECIPES, Recipe, leaf_program, leaf_rows

from svmcompile.errors import CheckError, ReadError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.leaf_layout import LOWEST
from svmcompile.ir.program import Claim, Input, Labels, Origin, Output, Program
from svmcompile.ir.store import from_bytes, to_bytes
from svmcompile.lower import lower

# x0 > 0 ? leaf 1 : leaf 0. Leaf 0 knows the classes 0 and 2, leaf 1 knows class 1 alone.
TABLES: dict[str, NDArray[Any]] = {
    "features": np.array([0], dtype=np.int32),
    "thresholds": np.array([0.0]),
    "children": np.array([[~0, ~1]], dtype=np.int32),
    "vectors": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
    "starts": np.array([0, 3, 3], dtype=np.int32),
    "members": np.array([0, 2, 1], dtype=np.int32),
    "firsts": np.array([0, 2, 3], dtype=np.int32),
    "counts": np.array([1, 2, 0], dtype=np.int32),
    "weights": np.array([2.0, 3.0, -1.0]),
    "bias": np.array([0.5]),
}
NAMES = ("vectors", "starts", "members", "firsts", "counts", "weights", "bias")
ROUTE = ir.AxisRoute("leaf", "x", "features", "thresholds", "children")
ROWS = np.array([[-1.0, 2.0], [-1.0, -2.0], [1.0, 5.0]])


def toy(rule: Any = "vote", classes: int = 3, **changes: Any) -> Program:
    sums = ir.LeafSums("sums", "x", "leaf", *NAMES, Kernel("linear"), rule, classes)
    head: ir.Node = ir.ArgMax("label", "sums")
    if rule == "sum":
        head = ir.Threshold("label", "sums", True, 1, 0)
    origin = Origin("test", "0" * 64, 3, 1, "dtsvm", Claim.APPROXIMATE)
    labels = Labels(tuple(range(classes)), "<i8")
    outputs = (Output("scores", "sums"), Output("label", "label"))
    return Program(Input(2), (ROUTE, sums, head), outputs, TABLES | changes, labels, origin)


def test_votes_within_the_leaf() -> None:
    """f = 0.5 + 2 x0 + 3 x1 - (x0 + x1): above zero counts for class 0, else for class 2."""
    scores = interpret(check(toy()), ROWS)["scores"]
    assert scores.tolist() == [[1, -1, 0], [0, -1, 1], [-1, 0, -1]]
    assert interpret(toy(), ROWS)["label"].tolist() == [0, 2, 1]


def test_the_largest_sum_of_the_leaf() -> None:
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 0.0])  # [vectors, classes of the leaf]
    program = check(toy("ovr", weights=weights, bias=np.array([0.5, -0.5])))
    scores = interpret(program, ROWS)["scores"]
    assert scores.tolist() == [[0.5, LOWEST, -0.5], [-3.5, LOWEST, -4.5], [LOWEST, 0.0, LOWEST]]
    assert interpret(program, ROWS)["label"].tolist() == [0, 0, 1]


def test_one_sum_and_a_constant() -> None:
    changes = {"members": np.array([0, 1, 1], dtype=np.int32), "bias": np.array([0.5, 7.0])}
    scores = interpret(check(toy("sum", 2, **changes)), ROWS)["scores"]
    assert scores[:, 0].tolist() == [0.5 - 2 + 6 - 1, 0.5 - 2 - 6 + 3, 7.0]


def test_rows_that_are_not_finite_give_nan_in_constant_leaves_too() -> None:
    rows = np.array([[np.nan, 0.0], [1.0, np.inf], [-np.inf, 0.0]])
    found = interpret(toy(), rows)
    assert np.isnan(found["scores"]).all()
    assert found["label"].tolist() == [0, 0, 0]


def test_cost_is_what_the_rows_meet() -> None:
    """Two rows of three fall into the leaf with three vectors."""
    cost = check(toy()).cost(ROWS)
    assert cost.mean_kernel_evaluations == 2.0
    assert cost.max_kernel_evaluations == 3
    assert toy().cost(ROWS[2:]).mean_kernel_evaluations == 0.0


def test_lowered_programs_cost_the_same() -> None:
    """What fills up a block is no kernel value that anyone asked for."""
    for case, recipe in RECIPES.items():
        program = leaf_program(recipe)
        rows = leaf_rows(recipe, program, 500)
        for profile in ("portable", "host"):
            found = lower(program, "f32", profile).cost(rows)  # type: ignore[arg-type]
            assert found.mean_kernel_evaluations == program.cost(rows).mean_kernel_evaluations, case
            assert found.max_kernel_evaluations == program.cost().max_kernel_evaluations, case


@pytest.mark.parametrize("case", RECIPES)
@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_lowering_keeps_the_meaning(case: str, profile: Any, number: Any) -> None:
    program = leaf_program(RECIPES[case])
    rows = leaf_rows(RECIPES[case], program, 2000)
    lowered = lower(program, number, profile)
    meant, found = interpret(program, rows), interpret(lowered, rows)
    bounds = error_bounds(program, rows, number)
    steady = ~bounds.unstable
    assert (np.abs(found["scores"] - meant["scores"]) <= bounds.scores)[steady].all()
    assert (found["label"] == meant["label"])[steady].all()
    leaf = interpret_values(program, rows, ["leaf"])["leaf"]
    assert (interpret_values(lowered, rows, ["leaf"])["leaf"] == leaf).all()


def test_ties_of_votes_are_no_matter_of_rounding() -> None:
    """Whole numbers tie everywhere alike: the first class wins, and the row is not excused."""
    recipe = Recipe("vote", classes=5, leaves=4, pure=0.0)
    program = leaf_program(recipe)
    rows = leaf_rows(recipe, program, 2000)
    votes = np.sort(interpret(program, rows)["scores"], axis=1)
    tied = votes[:, -1] == votes[:, -2]
    assert tied.mean() > 0.05
    assert (~error_bounds(program, rows, "f64").unstable)[tied].mean() > 0.99


@pytest.mark.parametrize("case", ["two classes", "votes", "one against others", "votes, all pure"])
def test_stored_and_listed(case: str) -> None:
    program = leaf_program(RECIPES[case])
    for one in (program, lower(program, "f32", "host"), lower(program, "f64")):
        again = from_bytes(to_bytes(one))
        assert again == one
        assert again.text() == one.text()
    assert f"rule='{RECIPES[case].rule}'" in program.text()


def changed(name: str, place: int, value: int) -> dict[str, Any]:
    table = TABLES[name].copy()
    table[place] = value
    return {name: table}


HOSTILE = {
    "a start beyond the vectors": changed("starts", 1, 4),
    "a start below zero": changed("starts", 0, -1),
    "starts that fall": changed("starts", 1, -3),
    "an end before the last vector": changed("starts", 2, 2),
    "a class that is not there": changed("members", 1, 3),
    "a class below zero": changed("members", 0, -1),
    "classes not ascending": changed("members", 0, 2),
    "a first beyond the classes": changed("firsts", 1, 4),
    "a leaf without a class": changed("firsts", 1, 3),
    "a count below zero": {"counts": np.array([-1, 4, 0], dtype=np.int32)},
    "counts that are not the leaf's": changed("counts", 0, 2),
    "counts of a constant": {"counts": np.array([1, 1, 1], dtype=np.int32)},
    "vectors of a constant": {
        "counts": np.array([1, 1, 1], dtype=np.int32),
        "starts": np.array([0, 2, 3], dtype=np.int32),
    },
    "weights missing": {"weights": TABLES["weights"][:2]},
    "weights left over": {"weights": np.ones(4)},
    "a bias missing": {"bias": np.zeros(0)},
    "another width": {"vectors": np.ones((3, 5))},
    "a leaf too many": {"starts": np.array([0, 3, 3, 3], dtype=np.int32)},
    "fractions": {"members": np.array([0.0, 2.0, 1.0])},
}


@pytest.mark.parametrize("case", HOSTILE)
def test_tables_that_do_not_fit_are_refused(case: str) -> None:
    check(toy())
    with pytest.raises(CheckError):
        check(toy(**HOSTILE[case]))
    with pytest.raises(ReadError):
        from_bytes(to_bytes(toy(**HOSTILE[case])))


def test_rules_and_kernels_that_make_no_sense_are_refused() -> None:
    node = toy().body[1]
    assert isinstance(node, ir.LeafSums)
    with pytest.raises(CheckError, match="two classes"):
        check(toy("sum", 3))
    with pytest.raises(CheckError, match="too few or too many"):
        check(toy("vote", 1))
    given = ir.LeafSums("sums", "x", "leaf", *NAMES, Kernel("precomputed"), "vote", 3)
    with pytest.raises(CheckError, match="precomputed"):
        check(toy().replace(body=(ROUTE, given, toy().body[2])))


@pytest.mark.parametrize("profile", ["portable", "host"])
@pytest.mark.parametrize("rule", ["sum", "vote", "ovr"])
def test_no_number_of_a_machine_table_may_be_another(rule: str, profile: Any) -> None:
    """Any entry of an index table, one up or far out: refused, or without a place it could lead to."""
    recipe = Recipe(rule, classes=2 if rule == "sum" else 4, leaves=4, most=9)
    machine = lower(leaf_program(recipe), "f32", profile)
    node = next(n for n in machine.body if isinstance(n, ir.PackedLeaves))
    for name in (node.starts, node.firsts, node.ends, node.places, node.bias_firsts, node.members):
        for place in range(len(machine.tables[name])):
            table = machine.tables[name].astype(np.int32)
            table[place] = 30_000
            with pytest.raises(CheckError):
                check(machine.replace(tables={**machine.tables, name: table}))
            table[place] = -1
            with pytest.raises(CheckError):
                check(machine.replace(tables={**machine.tables, name: table}))
