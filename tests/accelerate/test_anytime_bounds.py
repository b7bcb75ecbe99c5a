"""anytime: the bounds in real numbers, the orderings, and the embedding."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from anytime_cases import KINDS, hard_rows, machine, readings, sum_of

from svmcompile.accelerate.bounds.options import ORDERINGS, AnytimeOptions
from svmcompile.accelerate.bounds.order import Factor, MinWz, Sgma, order_basis, order_candidates
from svmcompile.accelerate.bounds.stages import Readings, embed
from svmcompile.accelerate.bounds.sums import Sum, merge_vectors
from svmcompile.ir.kernel import Array, Kernel
from svmcompile.ir.stages import self_kernel
from svmcompile.model.svm import SVM


def plain_gaps(found: Readings) -> Array:
    """Gaps in real numbers: no margins."""
    return np.asarray(found.basis.residuals * np.sqrt(found.left))


def points_of(kind: str) -> tuple[Any, Array]:
    X, model = machine(kind)
    svm, _ = sum_of(model)
    rows = hard_rows(model, X, count=60)
    return model, np.concatenate([svm.prepared(rows), svm.vectors])


@pytest.mark.parametrize("ordering", ORDERINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_holds_the_value_and_narrows(kind: str, ordering: str) -> None:
    model, points = points_of(kind)
    own, found = readings(model, points, points[:80], ordering=ordering)
    f, gaps = own.products(points) + own.bias, plain_gaps(found)
    length = np.sqrt(self_kernel(own.kernel, points))[:, None]
    # Float64 rounding, as `Basis` states it: of a length that is nearly zero the root is what counts.
    slips = found.basis.residuals * np.sqrt(found.basis.skew) + found.basis.drift
    allowed = length * (slips + 1e-9 * (1 + found.basis.norm))
    assert (np.abs(found.scores - f[:, None]) <= gaps + allowed).all()
    allowed = allowed[:, 1:]
    assert (allowed < 1e-3 * (1 + found.basis.norm) * length).all()
    assert (np.diff(gaps, axis=1) <= allowed).all()
    assert (np.diff(found.scores - gaps, axis=1) >= -allowed).all()
    assert (np.diff(found.scores + gaps, axis=1) <= allowed).all()


@pytest.mark.parametrize("kind", KINDS)
def test_margins_only_widen_and_fewer_coordinates_too(kind: str) -> None:
    model, points = points_of(kind)
    _, found = readings(model, points)
    most = len(found.basis)
    gaps = [found.gaps(known) for known in (most, 8, 0)]
    assert (plain_gaps(found) <= gaps[0]).all()
    left = found.left[:, :9]
    assert (np.sqrt(left) * found.basis.residuals[:9] <= gaps[1][:, :9]).all()
    assert (gaps[2] >= found.basis.residuals * np.sqrt(found.left[:, :1])).all()


def test_nothing_is_left_at_the_end() -> None:
    svm, own = sum_of(machine("rbf")[1])
    found = order_basis(own, svm.vectors[:0], AnytimeOptions(pivot_tol=1e-12)).basis
    total = np.abs(own.weights).sum()
    floor = 2 * np.sqrt((2 * len(own.weights) + 12) * 1.2e-16) * total
    assert found.residuals[-1] <= floor
    assert (np.diff(found.residuals) <= 0).all()


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e4])
def test_scale_does_not_matter(factor: float) -> None:
    svm, own = sum_of(machine("rbf")[1])
    larger = Sum(own.kernel, own.vectors, own.weights * factor, own.bias * factor)
    one, other = (order_basis(s, svm.vectors[:0], AnytimeOptions()) for s in (own, larger))
    assert (one.picks == other.picks).all()
    assert np.allclose(
        other.basis.projection, factor * one.basis.projection, rtol=1e-9, atol=1e-12 * factor
    )


def brute_force(own: Sum, count: int) -> list[int]:
    """min-wz by a new factorisation for every candidate of every step."""
    order: list[int] = []
    for _ in range(count):
        left = {i: embed(own, own.vectors[[*order, i]]) for i in range(len(own.weights)) if i not in order}
        lengths = {i: float(np.square(one.projection).sum()) for i, one in left.items()}
        order.append(max(lengths, key=lambda i: lengths[i]))
    return order


def small_sum(seed: int, kernel: Kernel) -> Sum:
    random = np.random.default_rng(seed)
    return Sum(kernel, random.normal(size=(14, 3)), random.normal(size=14), 0.3)


@pytest.mark.parametrize("kernel", [Kernel("rbf", 0.4), Kernel("poly", 0.5, 1.0, 3)])
def test_greedy_steps_equal_brute_force(kernel: Kernel) -> None:
    own = small_sum(0, kernel)
    found = order_basis(own, own.vectors[:0], AnytimeOptions(k_max=6, pivot_tol=1e-12))
    assert found.picks.tolist() == brute_force(own, 6)
    assert np.allclose(found.basis.residuals[0], found.basis.norm)


def test_sgma_equals_brute_force() -> None:
    own = small_sum(3, Kernel("rbf", 0.4))
    gram = own.kernel.values(own.vectors, own.vectors)
    found = order_candidates(Factor(own, own.vectors, 5, 1e-12), Sgma(gram))
    order: list[int] = []
    for _ in range(5):
        rest = gram - gram[:, order] @ np.linalg.solve(gram[np.ix_(order, order)], gram[order])
        shares = np.array(
            [np.square(rest[i]).sum() / rest[i, i] if i not in order else -1 for i in range(14)]
        )
        order.append(int(shares.argmax()))
    assert found == order


@pytest.mark.parametrize("ordering", ["min-wz", "original"])
def test_dependent_vectors_stay_out_of_the_basis(ordering: str) -> None:
    own = small_sum(1, Kernel("rbf", 0.4))
    twice = Sum(own.kernel, np.repeat(own.vectors, 2, axis=0), np.repeat(own.weights, 2) / 2, own.bias)
    found = order_basis(twice, own.vectors[:0], AnytimeOptions(ordering=ordering))
    assert len(found.basis) <= 14
    assert (1 / np.diag(found.basis.coordinates) ** 2 >= 1e-4).all()


def test_other_points_come_in_with_the_59_trick() -> None:
    own = small_sum(2, Kernel("rbf", 0.4))
    rows = np.random.default_rng(0).normal(size=(300, 3))
    found = order_basis(own, rows, AnytimeOptions(ordering="min-wzn"))
    assert (found.picks < 0).any()
    assert found.basis.residuals[5] <= 1.1 * order_basis(own, rows, AnytimeOptions()).basis.residuals[5]
    nothing = replace(own, weights=np.zeros(14))
    assert order_candidates(Factor(nothing, own.vectors, 14, 1e-4), MinWz()) == []


def test_equal_vectors_are_merged() -> None:
    svm, _ = sum_of(machine("rbf")[1])
    double = replace(
        svm, vectors=np.tile(svm.vectors, (2, 1)), coefficients=np.tile(svm.coefficients / 2, (1, 2))
    )
    one: SVM = merge_vectors(double)
    assert (one.vectors == svm.vectors).all() and np.allclose(one.coefficients, svm.coefficients)
    assert merge_vectors(svm) is svm
