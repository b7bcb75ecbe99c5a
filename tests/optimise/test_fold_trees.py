"""A scaling before a tree goes into the tree, and the meaning stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programs.routes import FEATURES, RECIPES, tree_program, tree_rows

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import nearest_float32
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret, interpret_values
from svmcompile.ir.program import Program
from svmcompile.optimise import optimise

SCALED = [case for case in RECIPES if "reach" not in case and "quadratic" not in case]


def behind_a_scaling(program: Program, factor: float = 2.0, mean: float = 0.25) -> Program:
    """The same tree of features that are first scaled."""
    tables = {
        "first_shift": np.full(FEATURES, mean),
        "first_factor": np.full(FEATURES, factor),
        "first_offset": np.full(FEATURES, 0.5),
    }
    scale = ir.Scale("scaled", "x", "first_shift", "first_factor", "first_offset")
    body: list[Any] = [scale]
    for node in program.body:
        body.append(replace(node, x="scaled") if getattr(node, "x", "") == "x" else node)
    return check(program.replace(body=tuple(body), tables={**program.tables, **tables}))


@pytest.mark.parametrize("case", SCALED)
def test_meaning_stays(case: str) -> None:
    plain = tree_program(RECIPES[case])
    program = behind_a_scaling(plain)
    rows = (tree_rows(RECIPES[case], plain, 5000, "f64") - 0.5) / 2 + 0.25
    folded = optimise(program)
    bounds = error_bounds(program, rows, "f64")
    steady = ~bounds.unstable
    difference = np.abs(interpret(folded, rows)["scores"] - interpret(program, rows)["scores"])
    assert steady.mean() > 0.85  # rows put on a threshold may round to either side
    assert (difference <= 4 * bounds.scores + 1e-12)[steady].all()


@pytest.mark.parametrize("case", ["axis", "plane", "axis guarded", "axis some pairs"])
def test_the_way_to_a_leaf_does_without_the_scaling(case: str) -> None:
    folded = optimise(behind_a_scaling(tree_program(RECIPES[case])))
    readers = [node for node in folded.body if getattr(node, "x", "") == "x"]
    assert any(isinstance(node, (ir.AxisRoute, ir.PlaneRoute)) for node in readers)
    assert any(isinstance(node, ir.LeafAffine) for node in readers)


def test_rounded_tables_keep_their_scaling() -> None:
    folded = optimise(behind_a_scaling(tree_program(RECIPES["plane int8"])))
    route = next(node for node in folded.body if isinstance(node, ir.PlaneRoute))
    assert folded.tables[route.planes].dtype == np.int8
    assert route.x != "x"


def test_a_falling_scaling_stays_before_single_features() -> None:
    folded = optimise(behind_a_scaling(tree_program(RECIPES["axis"]), factor=-2.0))
    assert next(node for node in folded.body if isinstance(node, ir.AxisRoute)).x != "x"


def test_thresholds_that_float32_cannot_tell_apart_stay_scaled() -> None:
    """Features near a million that differ by a thousandth: float32 would merge them."""
    program = tree_program(RECIPES["axis"])
    folded = optimise(behind_a_scaling(program, factor=1000.0, mean=float(nearest_float32(np.array(1e6)))))
    assert next(node for node in folded.body if isinstance(node, ir.AxisRoute)).x != "x"
    rows = 1e6 + np.random.default_rng(1).normal(size=(2000, FEATURES)) / 1000
    leaves = interpret_values(folded, rows, {"leaf"})["leaf"]
    assert len(np.unique(leaves)) > 3
