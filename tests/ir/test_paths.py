"""PathSum: what it means, what it costs, and what is not well formed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from programs.paths import FEATURES, KERNELS, RECIPES, Recipe, path_program, path_rows

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.store import from_bytes, to_bytes
from svmcompile.ir.walks import path_evaluations, path_nodes
from svmcompile.lower import lower


def node_of(program: Any) -> Any:
    return next(node for node in program.body if isinstance(node, (ir.PathSum, ir.PackedPath)))


def by_hand(program: Any, row: Any) -> tuple[Any, int]:
    """The sums of one row, and how many kernel values it took."""
    node, tables = node_of(program), program.tables
    scale = next(item for item in program.body if item.out == node.x)
    z = (row - tables[scale.shift]) * tables[scale.factor] + tables[scale.offset]
    values: list[float] = []
    computed = at = 0
    while at >= 0:
        pick = int(tables[node.picks][at])
        if pick >= 0:
            computed += 1
            values.append(float(node.kernel.values(z[None], tables[node.vectors][pick][None])[0, 0]))
        else:
            values.append(values[-1 - pick])
        at = int(tables[node.children][at][int(values[-1] > tables[node.thresholds][at])])
    leaf = -1 - at
    weights = tables[node.weights][tables[node.starts][leaf] : tables[node.starts][leaf + 1]]
    return tables[node.bias][leaf] + np.array(values) @ weights, computed


@pytest.mark.parametrize("name", RECIPES)
def test_the_meaning_is_a_walk(name: str) -> None:
    program, rows = path_program(RECIPES[name]), path_rows(200)
    walked = [by_hand(program, row) for row in rows]
    np.testing.assert_allclose(interpret(program, rows)["scores"], [s for s, _ in walked], rtol=1e-12)
    cost = program.cost(rows)
    assert cost.mean_kernel_evaluations == pytest.approx(np.mean([count for _, count in walked]))
    assert cost.max_kernel_evaluations >= max(count for _, count in walked)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("number", ["f32", "f64"])
def test_machine_form_stays_within_the_bounds(name: str, number: Any) -> None:
    program, rows = path_program(RECIPES[name]), path_rows(2000)
    machine = lower(program, number)
    bounds = error_bounds(program, rows, number)
    steady = ~bounds.unstable
    assert steady.mean() > 0.99
    gap = np.abs(interpret(machine, rows)["scores"] - interpret(program, rows)["scores"])
    assert (gap <= bounds.scores)[steady].all()
    assert machine.cost(rows).mean_kernel_evaluations == pytest.approx(
        program.cost(rows).mean_kernel_evaluations, rel=1e-3
    )


def test_a_row_on_a_threshold_is_unstable_and_goes_left() -> None:
    program = path_program(Recipe(nodes=1))
    node, row = node_of(program), path_rows(1)
    scale = next(item for item in program.body if item.out == node.x)
    z = (row - program.tables[scale.shift]) * program.tables[scale.factor]
    value = node.kernel.values(z, program.tables[node.vectors])[0, program.tables[node.picks][0]]
    moved = program.replace(tables={**program.tables, node.thresholds: np.array([value])})
    assert error_bounds(moved, row, "f32").unstable.all()
    left = program.replace(tables={**program.tables, node.thresholds: np.array([value + 1.0])})
    assert (interpret(moved, row)["scores"] == interpret(left, row)["scores"]).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_give_nan(bad: float) -> None:
    program, rows = path_program(RECIPES["large"]), path_rows(FEATURES)
    rows[np.arange(FEATURES), np.arange(FEATURES)] = bad
    for one in (program, lower(program, "f32")):
        assert np.isnan(interpret(one, rows)["scores"]).all()


def test_a_stored_program_comes_back() -> None:
    program = path_program(RECIPES["three classes"])
    assert from_bytes(to_bytes(program)) == program
    assert "path_sum" in program.text()


def damaged(field: str, change: Any) -> Any:
    program = path_program(RECIPES["large"])
    name = getattr(node_of(program), field)
    table = program.tables[name].copy()
    change(table)
    return program.replace(tables={**program.tables, name: table})


@pytest.mark.parametrize(
    "field, change, message",
    [
        ("children", lambda t: t.__setitem__((3, 0), 1), "after its parent"),
        ("children", lambda t: t.__setitem__((0, 0), t[0, 1]), "not one parent"),
        ("picks", lambda t: t.__setitem__(0, -1), "picks what is not there"),
        ("picks", lambda t: t.__setitem__(5, 1000), "picks what is not there"),
        ("starts", lambda t: t.__setitem__(1, 99), "starts do not rise"),
        ("starts", lambda t: t.__setitem__(1, t[2]), "weighs values not met"),
    ],
)
def test_what_is_not_well_formed(field: str, change: Any, message: str) -> None:
    with pytest.raises(CheckError, match=message):
        check(damaged(field, change))


@pytest.mark.parametrize("field", ["picks", "thresholds", "weights", "vectors"])
def test_tables_must_fit_each_other(field: str) -> None:
    program = path_program(RECIPES["rbf"])
    name = getattr(node_of(program), field)
    table = program.tables[name]
    cut = table[:, :-1] if field in ("vectors", "weights") else table[:-1]
    with pytest.raises(CheckError, match=f"{field} @"):
        check(program.replace(tables={**program.tables, name: cut}))


def test_the_kernel_must_make_sense() -> None:
    program = path_program(RECIPES["rbf"])
    node = node_of(program)
    odd = replace(node, kernel=replace(KERNELS["poly"], degree=-1))
    with pytest.raises(CheckError, match="degree"):
        check(program.replace(body=tuple(odd if item is node else item for item in program.body)))


def test_ways_and_what_they_cost() -> None:
    children = np.array([[1, -1], [-2, 2], [-3, -3]])
    assert path_nodes(children) == [[0], [0, 1], [0, 1, 2]]
    assert path_evaluations(np.array([4, 2, -1]), children)[:3].tolist() == [1, 2, 2]
