"""Front end and fallback of certified are chosen together: never what is predicted to cost more."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.ir import nodes as ir
from svmcompile.ir.interpret import interpret_values
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import jet_blocks, taylor_orders
from svmcompile.ir.program import Program

ROOM = 3000


@cache
def clouds() -> tuple[Any, SVC]:
    """Two clouds that overlap about a curved border."""
    random = np.random.default_rng(0)
    X = random.normal(size=(260, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * X[:, 3] ** 3 + random.normal(0, 0.5, len(X)) > 0
    return X, SVC(gamma=0.15, C=3.0).fit(X, y)


@cache
def compiled(fallback: str, tune: str = "flops") -> Program:
    X, model = clouds()
    return sc.compile(model, method="certified", X=X, tune=tune, fallback=fallback, max_bytes=ROOM)


def has_jets(program: Program) -> bool:
    return any(isinstance(node, ir.JetSum) for node in program.body)


@pytest.mark.parametrize("tune", ["flops", "portable"])
def test_auto_takes_what_is_predicted_to_cost_least(tune: str) -> None:
    costs = {kind: compiled(kind, tune).origin.details["cost"] for kind in ("direct", "anytime", "jets")}
    chosen = compiled("auto", tune)
    assert chosen.origin.details["cost"] <= min(costs.values()) * (1 + 1e-9)
    assert has_jets(chosen) and costs["jets"] < costs["direct"]


def test_jets_save_what_they_promise_and_no_label_changes() -> None:
    _, model = clouds()
    rows = np.random.default_rng(1).normal(size=(3000, 5)).astype(np.float32).astype(np.float64)
    plain, jets = compiled("direct"), compiled("jets")
    assert jets.cost(rows).mean_flops < plain.cost(rows).mean_flops
    assert (jets.predict(rows) == model.predict(rows)).all()


def test_host_code_meets_all_vectors_so_jets_are_not_chosen_for_it() -> None:
    assert not has_jets(compiled("auto", "host"))


def test_the_report_tells_the_share_and_cost_of_every_block() -> None:
    details = compiled("jets").origin.details
    stages = {stage["stage"]: stage for stage in details["stages"]}
    ends = compiled("jets").tables["jet_ends"]
    blocks = [stages[f"block {at + 1}"] for at in range(len(ends))]
    assert sum(stage["share"] for stage in stages.values()) == pytest.approx(1, abs=1e-4)
    assert all(block["cost"] > 0 for block in blocks) and sum(block["share"] for block in blocks) > 0
    assert details["undecided"] == pytest.approx(
        sum(block["share"] for block in blocks) + stages["the sum"]["share"], abs=1e-4
    )


@pytest.mark.parametrize("most", [1200, ROOM, 6000])
def test_jets_and_front_end_share_the_memory(most: int) -> None:
    X, model = clouds()
    program = sc.compile(
        model, method="certified", X=X, tune="flops", fallback="jets", max_bytes=most, force=True
    )
    own = ("taylor_", "leaf_", "jet_")
    beside = ("jet_vectors", "jet_weights", "jet_bias", "jet_rounding", "leaf_centre")
    tables = [
        table
        for name, table in program.tables.items()
        if name.startswith(own) and name not in beside and table.size > 1
    ]
    assert has_jets(program) and 4 * sum(table.size for table in tables) <= most


def test_jets_that_do_not_fit_are_told() -> None:
    X, model = clouds()
    program = sc.compile(
        model, method="certified", X=X, tune="flops", fallback="jets", max_bytes=300, force=True
    )
    assert program.origin.details["emitted"] == "exact" and "raise max_bytes" in program.origin.notes[-1]
    with_direct = sc.compile(model, method="certified", X=X, tune="flops", max_bytes=300, force=True)
    assert with_direct.origin.details["emitted"] == "taylor" and not has_jets(with_direct)


def test_a_given_number_of_blocks_is_made() -> None:
    X, model = clouds()
    for blocks in (2, 5):
        program = sc.compile(
            model, method="certified", X=X, tune="flops", fallback="jets", blocks=blocks, max_bytes=ROOM
        )
        assert len(program.tables["jet_ends"]) == blocks - 1


def test_kernel_values_are_counted_for_the_rows_that_come_to_them() -> None:
    rows = np.random.default_rng(1).normal(size=(500, 5)).astype(np.float32).astype(np.float64)
    program = compiled("jets")
    front = next(node for node in program.body if isinstance(node, ir.TaylorSum))
    jets = next(node for node in program.body if isinstance(node, ir.JetSum))
    seen = interpret_values(program, rows, {front.x, front.leaf})
    left = ~taylor_orders(At(front, program.tables), seen[front.x], seen[front.leaf]).sure.any(axis=1)
    stop = jet_blocks(At(jets, program.tables), seen[front.x][left]).stop
    n = len(program.tables[jets.weights])
    ends = np.array([*program.tables[jets.ends], n, 2 * n])  # at last the exact sum as well
    assert program.cost(rows).mean_kernel_evaluations == pytest.approx(ends[stop].sum() / len(rows))
