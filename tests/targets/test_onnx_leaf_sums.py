"""Sums of leaves in ONNX: the interpreter's labels on every row that rounding cannot change."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from programs.leaves import RECIPES, Recipe, leaf_program, leaf_rows
from programs.trees import spoilt
from targets.onnx_cases import NUMBERS, PRECISIONS, agree, content, outputs

from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.interpret import interpret
from svmcompile.targets.onnx.nodes import leaves as onnx_leaf_sums

ROWS = 12_000
each_precision = pytest.mark.parametrize("precision", PRECISIONS)
each_form = pytest.mark.parametrize("looped", [False, True], ids=["unrolled", "looped"])
FORMS = [  # that are emitted: many leaves are looped in any case
    pytest.param(case, looped, id=f"{'looped' if looped else 'unrolled'}-{case}")
    for case, recipe in RECIPES.items()
    for looped in (False, True)
    if looped or recipe.leaves <= onnx_leaf_sums.MOST_UNROLLED
]
PROGRAMS = {case: leaf_program(recipe) for case, recipe in RECIPES.items()}


@pytest.fixture(autouse=True)
def form(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program in both forms, whatever the number of its leaves."""
    if "looped" in request.fixturenames:
        most = 0 if request.getfixturevalue("looped") else 10**6
        monkeypatch.setattr(onnx_leaf_sums, "MOST_UNROLLED", most)


@each_precision
@pytest.mark.parametrize(("case", "looped"), FORMS)
def test_scores_and_labels_of_leaves(case: str, looped: bool, precision: str) -> None:
    """Rows on thresholds and next to them are among them, and none is excused for its leaf."""
    program = PROGRAMS[case]
    rows = leaf_rows(RECIPES[case], program, ROWS)
    assert agree(program, rows, precision) < 0.01 * ROWS


@each_precision
@pytest.mark.parametrize("case", ["two classes", "votes", "one against others", "all pure"])
@each_form
def test_any_number_of_rows(case: str, looped: bool, precision: str) -> None:
    program = PROGRAMS[case]
    rows = leaf_rows(RECIPES[case], program, 100)
    for count in (0, 1, 3):
        agree(program, rows[:count], precision)


@each_precision
@pytest.mark.parametrize("case", ["two classes", "votes", "one against others", "votes, linear"])
@each_form
def test_rows_that_are_not_finite(case: str, looped: bool, precision: str) -> None:
    program = PROGRAMS[case]
    rows = spoilt(np.random.default_rng(0), leaf_rows(RECIPES[case], program, 500))
    found = outputs(program, rows, precision)
    meant = interpret(program, rows)
    bad = ~np.isfinite(rows).all(axis=1)
    assert 0 < bad.mean() < 1
    assert np.isnan(found["scores"][bad]).all()
    assert (found["label"] == meant["label"])[bad | ~error_bounds(program, rows, "f32").unstable].all()


@each_form
def test_the_reference_evaluator_agrees(looped: bool) -> None:
    """The graph means the same to another run time."""
    program = PROGRAMS["votes"]
    rows = leaf_rows(RECIPES["votes"], program, 37).astype(np.float32)
    model = onnx.load_from_string(content(program, "f32"))
    label = ReferenceEvaluator(model).run(["label"], {"X": rows})[0]
    steady = ~error_bounds(program, rows.astype(np.float64), "f32").unstable
    assert (label == interpret(program, rows.astype(np.float64))["label"])[steady].all()


def test_many_leaves_are_looped_and_few_are_not() -> None:
    few, many = (leaf_program(Recipe(leaves=count, most=3, pure=0.0)) for count in (60, 70))
    assert [_kinds(program).count("Loop") for program in (few, many)] == [0, 1]
    assert len(_kinds(many)) < len(_kinds(few)) / 5


def test_constant_leaves_are_gathered() -> None:
    kinds = _kinds(PROGRAMS["all pure"])
    assert "NonZero" not in kinds
    assert kinds.count("Gather") == 1  # the scores of the leaf


def _kinds(program: Any) -> list[str]:
    model = onnx.load_from_string(content(program, "f32"))
    return [node.op_type for node in model.graph.node]


@each_form
def test_order_and_number_of_rows_do_not_matter(looped: bool) -> None:
    program = PROGRAMS["votes"]
    rows = leaf_rows(RECIPES["votes"], program, 1000).astype(NUMBERS["f32"])
    whole = outputs(program, rows, "f32")["scores"]
    order = np.random.default_rng(1).permutation(len(rows))
    assert (outputs(program, rows[order], "f32")["scores"] == whole[order]).all()
    parts = [outputs(program, rows[at : at + 7], "f32")["scores"] for at in range(0, 70, 7)]
    assert (np.concatenate(parts) == whole[:70]).all()
