"""The lemmas of docs/certified-proof.md on series, windows, cells and axes, one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from programs.taylor import Sum, random_sum, taylor_program
from scipy.special import gammainc

from svmcompile.accelerate.taylor.expansion import LEAST_REACH, CubicBasis, quadratic_axes
from svmcompile.accelerate.taylor.forms import Half, root
from svmcompile.accelerate.taylor.spectra import (
    Spectra,
    cubic_bound,
    quartic_window,
    quartics,
    remainders,
    spectra,
)
from svmcompile.accelerate.taylor.sums import Local
from svmcompile.errors import UnsupportedError
from svmcompile.ir.interpret import interpret
from svmcompile.ir.kernel import Array
from svmcompile.ir.node import At
from svmcompile.ir.polynomials import taylor_orders
from svmcompile.lower import lower
from svmcompile.optimise import optimise
from svmcompile.verification.certificate import check_rows

ORDERS = 8
GENERATOR = np.random.default_rng(0)


def points_and_weights(d: int = 3, m: int = 25) -> tuple[Array, Array]:
    """Scaled differences s and the a_i, as `spectra` takes them."""
    points = np.random.default_rng(d).normal(size=(m, d))
    return points, np.random.default_rng(m).normal(size=m) * np.exp(-0.5 * np.square(points).sum(axis=1))


def norm_of(points: Array, weights: Array) -> float:
    return float(weights @ np.exp(points @ points.T) @ weights)


def blocks(h: Array, points: Array, weights: Array, orders: int) -> Array:
    """B_n(h) for n up to `orders`, [rows, n]."""
    dots = h @ points.T
    return np.stack([dots**n @ weights / math.factorial(n) for n in range(orders + 1)], axis=1)


def on_sphere(d: int, count: int = 400) -> Array:
    h = GENERATOR.normal(size=(count, d))
    return np.asarray(h / np.linalg.norm(h, axis=1, keepdims=True))


def climbed(points: Array, weights: Array, n: int) -> Array:
    """Values of B_n after climbing up and down on the sphere."""
    found = []
    for sign in (1, -1):
        h = on_sphere(points.shape[1], 30)
        for step in np.geomspace(0.3, 1e-3, 150):
            slope = sign * ((h @ points.T) ** (n - 1) * weights) @ points
            h = h + step * slope / np.linalg.norm(slope, axis=1, keepdims=True)
            h /= np.linalg.norm(h, axis=1, keepdims=True)
        found.append((h @ points.T) ** n @ weights / math.factorial(n))
    return np.concatenate(found)


def test_lemma_1_blocks_are_orthogonal_and_add_up() -> None:
    points, weights = points_and_weights()
    squares = [
        weights @ (points @ points.T) ** n @ weights / math.factorial(n) for n in range(60)
    ]  # |W_n|^2, n!, scaled
    assert min(squares) >= 0
    assert sum(squares) == pytest.approx(norm_of(points, weights), rel=1e-12)


@pytest.mark.parametrize("p", range(5))
def test_lemma_2_remainder_of_every_order(p: int) -> None:
    points, weights = points_and_weights()
    residual = spectra(points, weights, norm_of(points, weights), ORDERS).residual
    assert (np.diff(residual) <= 0).all()
    h = on_sphere(3) * GENERATOR.uniform(0, 4, size=(400, 1))
    z2 = np.square(h).sum(axis=1)
    left = np.exp(-z2 / 2) * blocks(h, points, weights, 80)[:, p + 1 :].sum(axis=1)
    assert (np.abs(left) <= residual[p] * np.sqrt(gammainc(p + 1, z2)) * (1 + 1e-9) + 1e-15).all()
    assert (gammainc(p + 1, z2) <= z2 ** (p + 1) / math.factorial(p + 1) * (1 + 1e-12)).all()


@pytest.mark.parametrize("d, m", [(2, 10), (5, 20), (3, 60)])
@pytest.mark.parametrize("n", range(2, ORDERS + 1))
def test_lemma_3_windows_hold_what_climbing_finds(d: int, m: int, n: int) -> None:
    points, weights = points_and_weights(d, m)
    plain = spectra(points, weights, norm_of(points, weights), ORDERS, sharpen=0)
    values = climbed(points, weights, n)
    assert plain.low[n] <= values.min() and values.max() <= plain.high[n]


def test_lemma_3_holds_where_roots_lose_directions() -> None:
    """Two vectors so near that an eigenvalue of their Gram matrix is rounding alone."""
    features = np.array([[1.0, 0.0], [1.0, 1e-9]])
    half = root(features @ features.T, 2)
    assert half.matrix.shape == (2, 1) and half.lost > 0
    signs, other = np.array([1.0, -1.0]), Half.of(features)
    seen = float(np.linalg.norm(half.matrix.T @ (signs[:, None] * features), 2))
    truth = float(np.linalg.norm(features.T @ (signs[:, None] * features), 2))
    assert seen + half.unseen(other) >= truth


@pytest.mark.parametrize("gap", [1e-6, 1e-7, 3e-8, 1e-9])
def test_pairs_of_vectors_that_nearly_cancel(gap: float) -> None:
    """Their windows are as small as what roots lose: bounds once were exceeded three times here."""
    random = np.random.default_rng(0)
    one = random.normal(size=(1, 2))
    vectors = np.vstack([one, one + gap * random.normal(size=one.shape)])
    given = Sum(vectors, np.array([1e6, -1e6]), 0.0, 0.5, random.normal(size=(30, 2)))
    report = check_rows(taylor_program(given, order=3), np.vstack([given.rows, vectors]))
    assert report.ok and report.confirmed >= 30


def test_lemma_4_any_theta_and_kappa_give_the_same_quartic() -> None:
    points, weights = points_and_weights(4)
    one, other, idle = quartics(points, weights)
    h = on_sphere(4)
    first, second = np.triu_indices(4)
    products = h[:, first] * h[:, second] * np.where(first == second, 1, math.sqrt(2))
    slopes = (h @ points.T) ** 2 * (weights / 6) @ points  # T(h, h, .)
    meant = np.square(slopes).sum(axis=1)
    assert np.square(products).sum(axis=1) == pytest.approx(1)
    for theta, kappa in ((0, 0), (1, 0), (0.3, 2), (-4, 7), (9, -3)):
        matrix = theta * one + (1 - theta) * other + kappa * idle
        assert np.einsum("ri,ij,rj->r", products, matrix, products) == pytest.approx(meant, abs=1e-12)


@pytest.mark.parametrize("d", [1, 3, 6])
def test_lemmas_4_and_5_hold_what_climbing_finds(d: int) -> None:
    points, weights = points_and_weights(d)
    assert np.abs(climbed(points, weights, 3)).max() <= cubic_bound(points, weights)
    low, high = quartic_window(points, weights)
    values = climbed(points, weights, 4)
    assert low <= values.min() and values.max() <= high


@pytest.mark.parametrize("order", [1, 2, 3])
def test_lemma_6_tables_hold_in_every_place_of_every_cell(order: int) -> None:
    points, weights = points_and_weights()
    found = spectra(points, weights, norm_of(points, weights), ORDERS)
    reach, cells = 9.0, 6
    table = remainders(found, order, reach, cells, d=3)
    edges = np.linspace(0, reach, cells + 1)
    for cell in range(cells):
        inside = np.linspace(edges[cell], edges[cell + 1], 50)
        for u in np.concatenate(
            [inside, edges[cell : cell + 2] * (1 + 9e-5), edges[cell : cell + 2] * (1 - 9e-5)]
        ):
            assert (u * table[cell] >= pointwise(found, order, float(u)) * (1 - 1e-12)).all()


def pointwise(found: Spectra, order: int, u: float) -> Array:
    """The bound at one distance, on either side."""
    best = np.full(2, np.inf)
    for last in range(order, ORDERS + 1):
        blocks = np.zeros(2)
        for n in range(order + 1, last + 1):
            most = math.exp(-u) * (2 * u) ** (n / 2)
            blocks += most * np.array([-found.low[n], found.high[n]])
        best = np.minimum(best, blocks + found.residual[last] * math.sqrt(gammainc(last + 1, 2 * u)))
    return best


def test_more_features_round_more_and_bounds_say_so() -> None:
    points, weights = points_and_weights()
    found = spectra(points, weights, norm_of(points, weights), 4)
    few, many = (remainders(found, 1, 4.0, 8, d) for d in (10, 20_000))
    assert (many >= few * (1 + 2 * 20_000 * 2.0**-24 - 1e-5)).all()


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_axes_leave_no_more_than_they_say(rank: int) -> None:
    random = np.random.default_rng(rank)
    points, weights = random.normal(size=(30, 6)), random.normal(size=30)
    form = points.T @ (weights[:, None] * points)
    rows = random.normal(size=(300, 6)) * random.uniform(0, 5, size=(300, 1))
    quadratic = np.einsum("ri,ij,rj->r", rows, form, rows)
    cubic = (rows @ points.T) ** 3 @ weights
    for axes, orders in (
        (quadratic_axes(np.linalg.eigh(form), rank), [2]),
        (CubicBasis(form, points, weights, rows).axes(rank, rows), [2, 3]),
    ):
        assert axes.axes @ axes.axes.T == pytest.approx(np.eye(rank), abs=1e-12)
        y = rows @ axes.axes.T
        along = np.square(y).sum(axis=1)
        left = np.square(rows).sum(axis=1) - along
        terms = np.stack([along, left, along * left, left**2], axis=1)
        kept = np.einsum("ri,ij,rj->r", y, axes.form, y) + axes.middle * left
        for order in orders:
            whole = quadratic + (cubic if order == 3 else 0)
            own = kept + ((y @ (points @ axes.axes.T).T) ** 3 @ weights if order == 3 else 0)
            size = 1e-9 * np.abs(whole).max()
            assert (np.abs(whole - own) <= terms @ axes.loose[order - 2] + size).all()


def test_rows_on_the_edges_of_cells_are_sound_about_every_centre() -> None:
    given = random_sum(2, 30, 0.5)
    program = taylor_program(given, 3, 3)
    tables = program.tables
    rows = []
    for centre, step in zip(tables["taylor_centres"], tables["taylor_steps"], strict=True):
        edges = np.arange(17) / step / given.gamma
        rows.append(centre + np.sqrt(edges)[:, None] * on_sphere(2, 17))
    report = check_rows(program, np.vstack(rows), every_leaf=True)
    assert report.ok and report.confirmed > 40


def test_gates_change_cost_and_never_labels() -> None:
    given = random_sum(3, 40, 0.3)
    rows = np.vstack([given.rows, given.vectors, given.on_the_boundary(100)])
    labels, sure = [], []
    for gates in ((0.0, 0.0), (0.5, 0.9), (5.0, 5.0)):
        program = taylor_program(given, 2, 3, gates=gates)
        labels.append(interpret(program, rows)["label"])
        node = next(item for item in program.body if item.out == "taylor")
        sure.append(
            taylor_orders(At(node, program.tables), rows, np.zeros(len(rows), dtype=int)).sure.any(axis=1)
        )
    assert all((one == labels[0]).all() for one in labels)
    assert sure[0].sum() > sure[2].sum() and (sure[0] >= sure[1]).all() and (sure[1] >= sure[2]).all()


@pytest.mark.parametrize("rank", [0, 2])
def test_leaves_of_one_row_fit_into_float32(rank: int) -> None:
    given = random_sum(3, 20, 0.3)
    same = Sum(given.vectors, given.weights, 0.1, 0.3, np.full((5, 3), 2.0))
    assert Local(same.whole, same.rows, ORDERS).reach == LEAST_REACH
    program = taylor_program(same, 1, 3, rank)
    assert lower(optimise(program), "f32").number == "f32"
    assert check_rows(program, same.rows).confirmed == 5


@pytest.mark.parametrize(
    "change", [{"gamma": 1e-25}, {"gamma": 1e25}, {"bias": 1e20}], ids=["small", "large", "heavy"]
)
def test_sums_beyond_what_margins_cover_are_refused(change: dict[str, float]) -> None:
    given = random_sum(2, 5, 0.3)
    numbers = {"gamma": given.gamma, "bias": given.bias} | change
    with pytest.raises(UnsupportedError, match="Taylor expansions"):
        Local(Sum(given.vectors, given.weights, rows=given.rows, **numbers).whole, given.rows, ORDERS)
