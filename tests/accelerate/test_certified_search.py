"""The search of certified: its bounds hold, a hopeless one ends early, a limit keeps the best."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.svm import SVC

import svmcompile as sc
from svmcompile.accelerate.bounds import sums
from svmcompile.accelerate.certified.growth import Growth
from svmcompile.accelerate.taylor import forms
from svmcompile.accelerate.taylor.forms import Forms, extremes, largest, monomials, norm
from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kernel import Kernel
from svmcompile.progress import Limit, TimeIsUp, attempt, kept_within


def spectrum_of(kind: str, count: int = 60) -> Array:
    """A symmetric matrix with a spectrum that is hard to see the ends of."""
    random = np.random.default_rng(0)
    values = {
        "spread": random.normal(size=count),
        "one far": np.r_[np.full(count - 1, 1e-3), -5.0],
        "crowded": 1.0 - 1e-9 * random.random(count),
        "zero": np.zeros(count),
        "decaying": 10.0 ** -np.arange(count),
    }[kind]
    turn = np.linalg.qr(random.normal(size=(count, count)))[0]
    matrix = turn @ np.diag(values) @ turn.T
    return np.asarray(0.5 * (matrix + matrix.T))


@pytest.mark.parametrize("kind", ["spread", "one far", "crowded", "zero", "decaying"])
def test_no_eigenvalue_is_beyond_the_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = spectrum_of(kind)
    values = np.linalg.eigvalsh(matrix)
    width = values[-1] - values[0] + 1e-9
    monkeypatch.setattr(forms, "SMALL", 4)
    low, high = extremes(matrix)
    assert values[0] - 0.02 * width <= low <= values[0] + 1e-12
    assert values[-1] - 1e-12 <= high <= values[-1] + 0.02 * width
    assert largest(matrix) == high
    assert np.abs(values).max() <= norm(matrix) + 1e-12 <= 1.02 * np.abs(values).max() + 1e-6


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_products_of_coordinates_are_a_power_of_the_dot_product(degree: int) -> None:
    points = np.random.default_rng(0).normal(size=(9, 3))
    found = monomials(points, degree)
    assert np.allclose(found @ found.T, (points @ points.T) ** degree)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_windows_by_products_and_by_cholesky_factors_are_the_same(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(1)
    points, weights = random.normal(size=(150, 3)), random.normal(size=150)
    plain = Forms(points, weights).window(n)
    monkeypatch.setattr(Forms, "_is_short", lambda *all: False)
    factored = Forms(points, weights).window(n)
    assert plain and factored
    assert np.allclose(plain, factored, rtol=1e-4)


def test_a_search_that_cannot_pay_ends_early_and_tells_what_is_in_the_way() -> None:
    X, y = make_classification(500, 20, n_informative=10, class_sep=0.5, random_state=0)
    program = sc.compile(SVC(C=10.0, gamma=0.2).fit(X, y), method="certified", X=X)
    details = program.origin.details
    assert details["emitted"] != "taylor" and details["choice"]["leaves"] <= 2
    assert details["in_the_way"]["above_order_3"] > 0.1
    assert any("in the way: " in note for note in program.origin.notes)


def test_when_the_time_is_up_the_best_so_far_is_emitted(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_moons(200, noise=0.2, random_state=0)
    model, limit, split = SVC(gamma=0.5).fit(X, y), Limit(), Growth.split

    def split_once(growth: Growth) -> bool:
        if len(growth.leaves) > 1:
            limit.stop()
        return split(growth)

    monkeypatch.setattr(Growth, "split", split_once)
    with kept_within(limit):
        program = sc.compile(model, method="certified", X=X, force=True, max_bytes=9000)
    assert program.origin.details["choice"]["leaves"] <= 2 and limit.is_up
    assert "broken off when the time was up" in program.origin.notes[-1]
    assert (program.predict(X) == model.predict(X)).all()
    with kept_within(limit):
        program = sc.compile(model, method="certified", X=X, force=True)
    assert any("before the first polynomials" in note for note in program.origin.notes)


def test_work_is_broken_off_in_attempts_alone() -> None:
    limit, done = Limit(), list[int]()

    def search() -> None:
        done.append(1)
        limit.stop()
        done.append(2)

    assert attempt(lambda: None)
    with kept_within(limit):
        assert attempt(lambda: done.append(0))
        assert not attempt(search)
        limit.stop()  # not within an attempt
        assert not attempt(search)
    assert done == [0, 1]
    with pytest.raises(TimeIsUp), kept_within(Limit(can_stop=True)):
        Limit(can_stop=True).stop()


def test_many_vectors_give_the_same_norm_and_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each two of them are multiplied once, in several blocks."""
    random = np.random.default_rng(0)
    vectors, weights = random.normal(size=(300, 20)), random.normal(size=300)
    one = sums.Sum(Kernel("rbf", 0.02), vectors, weights, 0.0)
    plain, window = one.squared_norm(), Forms(vectors, weights).window(3)
    for module, name in ((sums, "MANY_PRODUCTS"), (forms, "MOST_FEATURES")):
        monkeypatch.setattr(module, name, 100)
        monkeypatch.setattr(module, "BLOCK_VALUES", 30_000)
    assert one.squared_norm() == pytest.approx(plain, rel=1e-12) and plain != one.squared_norm()
    found = Forms(vectors, weights).window(3)
    assert window is not None and found is not None
    assert found == pytest.approx(window, rel=1e-3) and found[2] == pytest.approx(window[2], rel=1e-12)
