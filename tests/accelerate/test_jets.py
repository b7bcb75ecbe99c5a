"""Section 11 of docs/certified-proof.md: what is certain after a block is certain, in any arithmetic."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from programs.jets import jet_sum, jets_of, jets_program
from programs.taylor import Sum, random_sum
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from svmcompile.accelerate.taylor import jets as making
from svmcompile.accelerate.taylor.jets import jet_node, order_vectors
from svmcompile.accelerate.taylor.sums import Local
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import jet_blocks
from svmcompile.ir.program import Program

single = np.float32
CASES = {  # features, vectors, gamma, scale of features
    "plain": (5, 60, 0.1, 1.0),
    "narrow": (3, 40, 2.0, 1.0),
    "many features": (70, 30, 0.01, 1.0),
    "wide": (3, 30, 1e-9, 1.0),
    "large features": (4, 30, 1e-12, 1e6),
}


@cache
def made(case: str) -> Sum:
    return random_sum(*CASES[case])


@cache
def moons() -> tuple[Any, SVC, Sum]:
    X, y = make_moons(200, noise=0.2, random_state=0)
    model = SVC(gamma=2.0, C=20.0).fit(X, y)
    return X, model, Sum.of(model, X)


def queries(given: Sum) -> Any:
    """Rows, rows far away, and both sides of where the sum is zero."""
    far = given.rows[:20] * np.geomspace(2, 1e3, 20)[:, None]
    return np.vstack([given.rows, far, given.on_the_boundary(40)])


@pytest.mark.parametrize("case", CASES)
def test_the_sum_is_within_the_interval_after_each_block(case: str) -> None:
    given = made(case)
    node, tables = jet_node(jets_of(given, 5))
    rows = queries(given)
    found = jet_blocks(At(node, tables), rows)
    error = found.scores - given.values(rows)[:, None]
    assert (error[found.inside] <= found.gaps[found.inside, :, 0]).all()
    assert (-error[found.inside] <= found.gaps[found.inside, :, 1]).all()
    assert found.inside[: len(given.rows)].all() and not found.inside.all()


@pytest.mark.parametrize("order", ["other way round", "by chance"])
def test_any_order_of_the_vectors_will_do(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def other(local: Local, gram: Any, parts: int) -> Any:
        picks, ends = order_vectors(local, gram, parts)
        return (picks[::-1] if order == "other way round" else np.arange(len(picks))), ends

    given, sizes = made("plain"), []
    for one in (order_vectors, other):
        monkeypatch.setattr(making, "order_vectors", one)
        node, tables = jet_node(jets_of(given, 5))
        found = jet_blocks(At(node, tables), queries(given))
        error = np.abs(found.scores - given.values(queries(given))[:, None])
        assert (error[found.inside] <= found.gaps[found.inside].max(axis=2)).all()
        sizes.append(found.gaps[found.inside].mean())
    assert sizes[0] < sizes[1]  # and the greedy one has the smaller bounds


def test_the_order_takes_every_vector_once_and_parts_alike() -> None:
    given = made("plain")
    local = Local(given.whole, given.rows, 0)
    order, ends = order_vectors(local, Kernel("rbf", given.gamma).values(given.vectors, given.vectors), 7)
    assert sorted(order) == list(range(60)) and len(ends) == 6
    assert np.ptp(np.diff([0, *ends, 60])) <= 1
    few = Kernel("rbf", 1.0).values(given.vectors[:2], given.vectors[:2])
    two = random_sum(5, 2, 0.1)
    assert order_vectors(Local(two.whole, two.rows, 0), few, 10)[1] == [1]


class InSingle:
    """Float32 code as the template has it, its sums in an order of its own."""

    def __init__(self, program: Program, random: np.random.Generator) -> None:
        self.node = jet_sum(program)
        self.tables = {
            name: table.astype(single) if table.dtype.kind == "f" else table
            for name, table in program.tables.items()
        }
        self.random = random

    def of(self, field: str) -> Any:
        return self.tables[getattr(self.node, field)]

    def total(self, terms: Any) -> Any:
        found = single(0)
        for term in self.random.permutation(terms):
            found = found + term
        return found

    def fade(self, u: Any) -> Any:
        return single(np.exp(-np.float64(u))) * single(1 + self.random.choice([-1, 1]) * 1.4e-7)

    def blocks(self, row: Any) -> tuple[list[Any], list[Any]]:
        """Scores after each jet and after all vectors, and sums of absolute terms."""
        x, h = row.astype(single), row.astype(single) - self.of("centre")
        gamma = single(self.node.kernel.gamma)
        u = gamma * self.total(h * h)
        fade, before = self.fade(u), 0
        total, spread, scores, spreads = np.float64(self.of("bias")[0]), 0.0, [], []
        for jet, end in enumerate([*self.of("ends"), len(self.of("weights"))]):
            for at in range(before, end, 32):
                terms = np.array([self.term(x, i, gamma) for i in range(at, min(at + 32, end))])
                total, spread = total + self.total(terms), spread + self.total(np.abs(terms))
            before = end
            scores.append(
                single(total) + fade * self.jet(h, jet) if end < len(self.of("weights")) else total
            )
            spreads.append(spread)
        return scores, spreads

    def term(self, x: Any, i: int, gamma: Any) -> Any:
        return self.of("weights")[i] * self.fade(gamma * self.total(np.square(x - self.of("vectors")[i])))

    def jet(self, h: Any, jet: int) -> Any:
        found = self.of("constants")[jet] + self.total(h * self.of("slopes")[jet])
        rows = np.split(self.of("squares")[jet], np.cumsum(np.arange(1, len(h))))
        return found + self.total([h[b] * self.total(row * h[: b + 1]) for b, row in enumerate(rows)])


@pytest.mark.parametrize("case", [case for case in CASES if case != "many features"])
def test_float32_code_stays_within_the_margins(case: str) -> None:
    given = made(case)
    program = jets_program(given, 3)
    node, code = jet_sum(program), InSingle(program, np.random.default_rng(0))
    rows = given.rows[:12].astype(single).astype(np.float64)
    exact = jet_blocks(At(node, program.tables), rows)
    by_sum, once = program.tables[node.rounding]
    margins = np.append(program.tables[node.margins], once)
    for row, truth in zip(rows, exact.scores, strict=True):
        scores, spreads = code.blocks(row)
        share = np.abs(np.array(scores, dtype=np.float64) - truth) / (margins + by_sum * np.array(spreads))
        assert (share <= 1).all()


@pytest.mark.parametrize("parts", [2, 5, 9])
def test_blocks_change_the_cost_and_never_a_label(parts: int) -> None:
    _, _, given = moons()
    program, rows = jets_program(given, parts), queries(given)
    assert (interpret(program, rows)["label"] == (given.values(rows) > 0)).all()
    node = jet_sum(program)
    stop = jet_blocks(At(node, program.tables), rows).stop
    cost, most = program.cost(given.rows), len(given.weights)
    assert cost.max_kernel_evaluations >= most
    assert cost.mean_kernel_evaluations < most if parts > 2 else (stop >= 0).all()


def test_rows_that_are_not_finite_are_never_sure() -> None:
    _, _, given = moons()
    program = jets_program(given)
    odd = np.array([[np.nan, 0.0], [np.inf, 0.0], [1e200, -1e200]])
    found = jet_blocks(At(jet_sum(program), program.tables), odd)
    assert (found.stop == found.scores.shape[1]).all()
