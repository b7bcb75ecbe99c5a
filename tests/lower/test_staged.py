"""Bounded sums in blocks: stages come no earlier than asked, bounds are no smaller, labels stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

from svmcompile.ir.arithmetic import Number
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.layout import by_rows, in_blocks
from svmcompile.ir.node import At
from svmcompile.ir.nodes import BoundedSum, BoundedVote, Node
from svmcompile.ir.program import Program
from svmcompile.ir.stages import estimate_of, stages
from svmcompile.lower import bounded as staging
from svmcompile.lower import lower
from tests.programs.bounded import bounded_program, vote_program

NUMBERS: tuple[Number, ...] = ("f32", "f64")


def found(program: Program, *kinds: type[Node]) -> Any:
    return next(node for node in program.body if isinstance(node, kinds))


def moons(**options: Any) -> tuple[Program, Any]:
    X, y = make_moons(300, noise=0.2, random_state=0)
    return bounded_program(SVC(gamma=3.0).fit(X, y), **options), X.astype(np.float32).astype(np.float64)


@pytest.mark.parametrize(("size", "lanes"), [(1, 1), (7, 1), (5, 4), (16, 16), (33, 16)])
def test_triangles_go_into_blocks_and_back(size: int, lanes: int) -> None:
    packed = np.random.default_rng(0).normal(size=size * (size + 1) // 2)
    whole = size + -size % lanes
    back = by_rows(in_blocks(packed, size, lanes), whole, lanes)
    assert np.array_equal(back[: len(packed)], packed)
    assert not back[len(packed) :].any()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("coordinates", [None, 0, 5, 16, 20])
@pytest.mark.parametrize("block", [1, 3, 16, 24])
def test_stages_at_blocks_are_no_surer_than_their_sum_allows(
    block: int, coordinates: int | None, number: Number
) -> None:
    """Every interval of the machine program holds the sum, as those of the math program do."""
    program, X = moons(block=block, coordinates=coordinates, basis=50)
    exact = interpret_values(program, X, {"exact"})["exact"]
    machine = lower(program, number, "host")
    staged = found(machine, BoundedSum)
    told = staged.plain(At(staged, machine.tables))
    held = stages(told, interpret_values(machine, X, {staged.x})[staged.x])
    assert (np.abs(held.scores - exact) <= held.errors).all()
    asked = program.tables[found(program, BoundedSum).ends]
    assert held.ends[-2] >= asked[-1] and held.ends[0] >= asked[0]


def test_a_stage_by_coordinates_can_be_told_by_estimates() -> None:
    program, X = moons(block=5, basis=50)
    node = found(program, BoundedSum)
    values = node.kernel.values(X, program.tables[node.vectors])
    scores = stages(At(node, program.tables), X).scores
    for stage, end in enumerate(program.tables[node.ends]):
        told = values[:, :end] @ estimate_of(At(node, program.tables), stage) + program.tables[node.bias]
        assert np.allclose(told, scores[:, stage], atol=1e-9)


@pytest.mark.parametrize("number", NUMBERS)
def test_bounds_are_rounded_upwards(number: Number) -> None:
    program, _ = moons(block=4)
    machine = lower(program, number, "portable")
    staged = found(machine, BoundedSum)
    told = staged.plain(At(staged, machine.tables))
    node = found(program, BoundedSum)
    for name in ("residuals", "slacks", "margins", "rounding"):
        held, meant = getattr(told, name), program.tables[getattr(node, name)]
        assert (held >= meant).all() and np.allclose(held, meant, rtol=1e-5)


@pytest.mark.parametrize("block", [3, 4, 24])
def test_few_copies_of_many_vectors(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the bases of all pairs would take too much, they end sooner, with a stage asked for."""
    monkeypatch.setattr(staging, "NEAR_NUMBERS", 1)
    monkeypatch.setattr(staging, "MOST_COPIES", 0)
    X, y = load_iris(return_X_y=True)
    model = SVC(gamma=3.0).fit(X, y)
    program = vote_program(model, block=block, basis=60)
    machine = lower(program, "f32", "host")
    node = found(machine, BoundedVote)
    sizes = np.diff(machine.tables[node.starts].astype(np.int64))
    asked = np.diff(program.tables[found(program, BoundedVote).starts].astype(np.int64))
    assert sizes.max() < asked.max() and sizes.min() >= 16
    labels = machine.labels.array()[interpret_values(machine, X, {"label"})["label"]]  # type: ignore[union-attr]
    assert (labels == model.predict(X)).all()


def test_values_need_no_exact_sum() -> None:
    program, _ = moons(tolerance=0.1)
    assert any(node.out == "exact" for node in program.body)
    machine = lower(program, "f32", "host")
    assert not any(node.out.startswith("exact") for node in machine.body)
