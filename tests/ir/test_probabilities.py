"""Heads that give probabilities: what they mean, what they refuse, and how far rounding moves them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from programs.probabilities import PROGRAMS, coupled, rows
from sklearn.isotonic import IsotonicRegression

from svmcompile.errors import CheckError
from svmcompile.ir import nodes as ir
from svmcompile.ir.bounds import error_bounds
from svmcompile.ir.check import check
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import along_lines, sigmoid
from svmcompile.ir.node import run
from svmcompile.ir.pairs import couple, coupling_errors
from svmcompile.ir.store import from_bytes, to_bytes
from svmcompile.lower import lower


def pairs_of(classes: int, count: int = 300) -> NDArray[np.float64]:
    scores = 3 * np.random.default_rng(classes).normal(size=(count, classes * (classes - 1) // 2))
    return np.clip(1 / (1 + np.exp(scores)), 1e-7, 1 - 1e-7)


@pytest.mark.parametrize("classes", [2, 3, 5, 10])
def test_coupling_gives_probabilities(classes: int) -> None:
    p, nearest = couple(pairs_of(classes), classes)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert (p >= -1e-12).all() and np.isfinite(nearest).all()


def test_coupling_of_consistent_pairs_is_near_what_they_were_made_of() -> None:
    """r = p_i / (p_i + p_j) is a fixed point; the stopping rule lets it be off by a little."""
    wanted = np.random.default_rng(0).dirichlet(np.ones(4), size=100)
    pairs = np.stack(
        [wanted[:, i] / (wanted[:, i] + wanted[:, j]) for i in range(4) for j in range(i + 1, 4)], axis=1
    )
    found, _ = couple(pairs, 4)
    assert np.abs(found - wanted).max() < 0.05


def test_a_row_that_is_nan_has_nan_probabilities_and_leaves_others_alone() -> None:
    pairs = pairs_of(4)
    whole, _ = couple(pairs, 4)
    pairs[7, 2] = np.nan
    found, _ = couple(pairs, 4)
    assert np.isnan(found[7]).all()
    np.testing.assert_array_equal(np.delete(found, 7, axis=0), np.delete(whole, 7, axis=0))


@pytest.mark.parametrize("size", [1e-12, 1e-7])
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_coupling_errors_hold(classes: int, size: float) -> None:
    pairs = pairs_of(classes)
    errors = size * np.minimum(pairs, 1 - pairs)
    bound = coupling_errors(pairs, errors, classes)
    known = np.isfinite(bound).all(axis=1)
    assert known.mean() > 0.95
    random = np.random.default_rng(1)
    for _ in range(5):
        moved, _ = couple(pairs + errors * random.choice([-1.0, 1.0], pairs.shape), classes)
        off = np.abs(moved - couple(pairs, classes)[0])[known]
        assert (off <= 1.01 * bound[known] + 1e-14).all()


def test_rows_whose_number_of_sweeps_may_change_have_no_bound() -> None:
    pairs = pairs_of(3)
    assert np.isinf(coupling_errors(pairs, np.full(pairs.shape, 0.1), 3)).any()


def test_sigmoids_neither_overflow_nor_leave_their_limits() -> None:
    z = np.array([-1e308, -800.0, -1.0, 0.0, 1.0, 800.0, 1e308, np.nan])
    np.testing.assert_allclose(
        sigmoid(z, 0.0), [1, 1, 1 / (1 + np.exp(-1)), 0.5, 1 / (1 + np.e), 0, 0, np.nan]
    )
    held = sigmoid(z, 1e-7)[:-1]
    assert held.min() == 1e-7 and held.max() == 1 - 1e-7


def test_lines_are_those_of_isotonic_regression() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=60)
    model = IsotonicRegression(out_of_bounds="clip").fit(x, x + random.normal(size=60) > 0)
    at = np.concatenate([2 * random.normal(size=500), model.X_thresholds_, [-np.inf, np.inf]])
    found = along_lines(at, model.X_thresholds_, model.y_thresholds_)
    np.testing.assert_array_equal(found[:-2], model.predict(at[:-2]))
    np.testing.assert_array_equal(found[-2:], model.y_thresholds_[[0, -1]])


def test_knots_in_one_place_are_a_step() -> None:
    knots, levels = np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 0.2, 0.8, 1.0])
    found = along_lines(np.array([0.5, 1.0, 1.5]), knots, levels)
    np.testing.assert_allclose(found, [0.1, 0.2, 0.9])


def test_density_follows_libsvm() -> None:
    marks = np.linspace(-2, 2.5, 10)
    scores = np.array([-3, -2, -1.99, -1.5, 0.3, 2.49, 2.5, 2.6, np.nan])
    found = run(ir.Density("p", "s", "marks"), {"s": scores[:, None]}, {"marks": marks})
    inlier = [0.001, 0.1, 0.1, 0.2, 0.5, 0.9, 0.0, 0.999, np.nan]  # 0 at the last mark itself
    np.testing.assert_allclose(found[:, 1], inlier)
    np.testing.assert_allclose(found.sum(axis=1)[:-1], 1)


def test_shares_of_nothing() -> None:
    node = ir.Shares("out", "p", 2, 0.5)
    with np.errstate(invalid="ignore"):
        found = run(node, {"p": np.array([[0.0, 0.0, 0.2, 0.6]])}, {})
    np.testing.assert_allclose(found, [[0.5, 0.5, 0.25, 0.75]])


@pytest.mark.parametrize("name", PROGRAMS)
def test_float_programs_stay_within_their_bounds(name: str) -> None:
    program, x = PROGRAMS[name], rows()[:-2]
    meant = interpret(program, x)["probabilities"]
    found = interpret(lower(program, "f32"), x)["probabilities"]
    bound = error_bounds(program, x, "f32").probabilities
    known = np.isfinite(bound).all(axis=1)
    assert known.mean() > 0.95 and np.median(bound[known]) < 1e-5
    assert (np.abs(found - meant) <= bound)[known].all()
    assert (found != meant).any() or name == "density", "float32 rounds"


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_that_are_not_finite_have_nan_probabilities(name: str) -> None:
    found = PROGRAMS[name].predict_proba(rows())
    assert np.isnan(found[-2:]).all() and np.isfinite(found[:-2]).all()


@pytest.mark.parametrize("name", PROGRAMS)
def test_stored_and_back(name: str) -> None:
    assert from_bytes(to_bytes(PROGRAMS[name])) == PROGRAMS[name]


def broken(**tables: NDArray[np.float64]) -> None:
    program = PROGRAMS["isotonic-3"]
    check(program.replace(tables={**program.tables, **tables}))


def test_what_does_not_fit_is_refused() -> None:
    tables = PROGRAMS["isotonic-3"].tables
    broken()
    with pytest.raises(CheckError, match="knots do not rise"):
        broken(knots=tables["knots"][::-1])
    with pytest.raises(CheckError, match="not a probability"):
        broken(levels=tables["levels"] + 1)
    with pytest.raises(CheckError, match="levels rise and fall"):
        broken(levels=np.where(np.arange(len(tables["levels"])) % 2, 0.1, 0.9))
    program = coupled(3)
    outputs = tuple(out for out in program.outputs if out.name != "probabilities")
    with pytest.raises(CheckError, match="needs one probability per pair"):
        body = [ir.Couple(n.out, n.pairs, 4) if isinstance(n, ir.Couple) else n for n in program.body]
        check(program.replace(body=tuple(body), outputs=outputs))
