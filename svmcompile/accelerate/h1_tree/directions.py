"""Directions a node may take: from the hard class towards the other one; the H1 program among them.

Hard and other rows enter; unit vectors leave. Thresholds are not decided here: whatever the
direction, a threshold beyond all hard rows makes a node that answers none of them.

Its dual is a projection: with lam >= 0, sum lam = 1 the least |sum lam_i x_i - s|^2 over the
hard rows x_i, where s is the mean of the other rows; then w = k m (p - s) for the hard class k, m other
rows and the nearest point p. Where s lies within the hull, w is zero; a reduced hull (no weight above
1 / (nu rows)) shrinks towards the mean and leaves s outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from svmcompile.accelerate.fitting.rows import fit_anyway
from svmcompile.ir.arithmetic import Array

EXACT_ROWS = 3000  # up to so many rows LIBSVM solves the program, beyond LIBLINEAR does
HULL_ROWS = 2000  # of the hard class, for the reduced hull
SMALLER = (0.6, 0.8, 0.95, 1.0)  # shares of ever smaller hulls
VANISHING = 1e-3  # |w| times the rows' size
SMALL_SPACE = 8  # features up to which every perpendicular direction is taken
PERPENDICULAR = 8  # principal directions beyond
SOLVED = 1e-9  # what a system may miss by; else it is solved by least squares, which takes far longer
ZERO = 1e-6  # of the rows' spread: a distance below it is none
STEPS = 1000
TOLERANCE = 1e-10  # of the largest squared norm


@dataclass(frozen=True, slots=True)
class Ways:
    """Which directions are tried."""

    hard_weights: tuple[float, ...] = (1e3,)
    zero_factor: float = 10.0
    reduced: tuple[float, ...] = (0.05, 0.3)
    always_reduced: bool = False  # beside the whole hull, not only in its stead
    seed: int = 0


def directions(hard: Array, other: Array, ways: Ways) -> Iterator[tuple[str, Array]]:
    """Unit vectors of both programs, remedies for zero solutions included, as they are asked for.

    Each comes with the name of the program that it solves.
    """
    for program, found in _directions(hard, other, ways):
        unit = _unit(found)
        if unit is not None:
            yield program, unit


def _directions(hard: Array, other: Array, ways: Ways) -> Iterator[tuple[str, Array | None]]:
    middle = np.concatenate([hard, other]).mean(axis=0)
    hard, other = hard - middle, other - middle
    yield "C-SVM", heavy_direction(hard, other, ways.hard_weights[0], ways)
    place = other.mean(axis=0)
    whole = projection(hard, place)
    yield "H1", whole
    for weight in ways.hard_weights[1:]:
        yield "C-SVM", heavy_direction(hard, other, weight, ways)
    if whole is None or ways.always_reduced:
        some = hard if len(hard) <= HULL_ROWS else _some(hard, HULL_ROWS, ways.seed)
        remedy = "mean" if ways.reduced == (1.0,) else "reduced hull"
        for found in reduced_directions(some, place, ways.reduced):
            yield f"H1, {remedy}", found


def reduced_directions(hard: Array, place: Array, shares: tuple[float, ...]) -> list[Array]:
    """Those of the hulls reduced by the shares; where such a hull still holds the place, of smaller ones.

    The last one is the mean, which lies elsewhere unless both means are one.
    """
    found = [one for nu in shares if (one := reduced_projection(hard, place, nu)) is not None]
    for nu in SMALLER:
        if len(found) >= len(shares):
            break
        one = reduced_projection(hard, place, nu)
        found += [] if one is None else [one]
    return found


def heavy_direction(hard: Array, other: Array, weight: float, ways: Ways) -> Array | None:
    """The linear SVM whose errors on hard rows cost `weight` times as much; less where that gives zero.

    Zero is optimal once the other class's mean lies in the hull of the hard one and the weight is
    large. Down to other / hard rows, where the reduced hull has shrunk to its mean, it is lowered.
    """
    rows = np.concatenate([hard, other])
    sides = np.repeat([-1, 1], [len(hard), len(other)])
    size = float(np.sqrt(np.square(rows).sum(axis=1).mean()))
    least = min(weight, len(other) / len(hard))
    while True:
        found = _linear_svm(rows, sides, weight, ways.seed)
        if np.sqrt(found @ found) * size >= VANISHING:
            return found
        if weight <= least or ways.zero_factor <= 1:
            return None
        weight = max(weight / ways.zero_factor, least)


def _linear_svm(rows: Array, sides: Array, weight: float, seed: int) -> Array:
    from sklearn.svm import SVC, LinearSVC

    weights = {-1: weight, 1: 1.0}
    if len(rows) <= EXACT_ROWS:
        steps = max(20_000, 20 * len(rows))
        fitted = SVC(kernel="linear", C=1.0, class_weight=weights, max_iter=steps, cache_size=100)
    else:
        fitted = LinearSVC(loss="hinge", C=1.0, class_weight=weights, random_state=seed, max_iter=100)
    return np.asarray(fit_anyway(fitted, rows, sides).coef_[0], dtype=np.float64)


def main_directions(first: Array, second: Array) -> Array:
    """Directions [some, d] worth a look beside others: all, or the main ones of rows and their means."""
    d = first.shape[1]
    if d <= SMALL_SPACE:
        return np.eye(d)
    rows = np.concatenate([first, second])
    rows = rows - rows.mean(axis=0)
    _, main = np.linalg.eigh(rows.T @ rows)
    return np.vstack([main.T[: -PERPENDICULAR - 1 : -1], second.mean(axis=0) - first.mean(axis=0)])


def perpendiculars(direction: Array, main: Array) -> list[Array]:
    """The main directions at right angles to another: a basis where they are all there are."""
    if main.shape[0] == main.shape[1]:
        complete = np.linalg.qr(np.column_stack([direction, main]))[0]
        return [complete[:, column] for column in range(1, main.shape[1])]
    across = main - np.outer(main @ direction, direction)
    return [one for one in map(_unit, across) if one is not None]


def _unit(direction: Array | None) -> Array | None:
    if direction is None:
        return None
    length = float(np.sqrt(direction @ direction))
    return direction / length if length > 1e-12 else None


def _some(rows: Array, count: int, seed: int) -> Array:
    return rows[np.sort(np.random.default_rng(seed).choice(len(rows), count, replace=False))]


def projection(hard: Array, place: Array) -> Array | None:
    """place - p, the way from the hull of the hard rows to a place; None where the hull holds it."""
    rows = hard - place
    spread = float(np.sqrt(np.square(rows).sum(axis=1).mean()))
    nearest = least_norm_weights(rows) @ rows
    away = -nearest
    return away if np.sqrt(away @ away) > ZERO * spread else None


def least_norm_weights(rows: Array) -> Array:
    """Weights of the least-norm point of the hull of some rows, by Wolfe's algorithm."""
    squares = np.einsum("ij,ij->i", rows, rows)
    least = TOLERANCE * float(squares.max())
    active = [int(squares.argmin())]
    weights = np.ones(1)
    for _ in range(STEPS):
        point = weights @ rows[active]
        along = rows @ point
        entering = int(along.argmin())
        if along[entering] >= point @ point - least or entering in active:
            break
        active, weights = _minor_cycle(rows, [*active, entering], np.append(weights, 0.0))
    out = np.zeros(len(rows))
    out[active] = weights
    return out


def _minor_cycle(rows: Array, active: list[int], weights: Array) -> tuple[list[int], Array]:
    """Moves to the least point of the affine hull; rows whose weight falls to zero leave on the way."""
    while True:
        wanted = _affine_weights(rows[active])
        if (wanted > 0).all():
            return active, wanted
        falling = wanted <= 0
        share = weights[falling] / (weights[falling] - wanted[falling])
        weights = weights + min(1.0, float(share.min())) * (wanted - weights)
        kept = weights > 1e-14
        kept[np.flatnonzero(falling)[share.argmin()]] = False
        active = [row for row, keep in zip(active, kept, strict=True) if keep]
        weights = weights[kept] / weights[kept].sum()
        if len(active) == 1:
            return active, np.ones(1)


def _affine_weights(rows: Array) -> Array:
    """Weights that sum to one and make the norm least, of any sign."""
    count = len(rows)
    system = np.ones((count + 1, count + 1))
    system[0, 0] = 0.0
    gram = rows @ rows.T
    system[1:, 1:] = gram / max(float(np.trace(gram)) / count, 1e-300)
    right = np.zeros(count + 1)
    right[0] = 1.0
    try:
        found = np.linalg.solve(system, right)
    except np.linalg.LinAlgError:
        found = np.full(count + 1, np.nan)
    if not np.abs(system @ found - right).max() < SOLVED:  # rows that depend on each other
        found = np.linalg.lstsq(system, right, rcond=None)[0]
    return np.asarray(found[1:])


def reduced_projection(hard: Array, place: Array, nu: float) -> Array | None:
    """`projection` with the reduced hull; LIBSVM's one-class program is this projection."""
    from sklearn.svm import OneClassSVM

    rows = hard - place
    spread = float(np.sqrt(np.square(rows).sum(axis=1).mean()))
    if spread == 0:
        return None
    share = float(np.clip(nu, 1 / len(rows), 1.0))
    if share == 1:
        away = -rows.mean(axis=0)
        return away if np.sqrt(away @ away) > ZERO * spread else None
    fitted = OneClassSVM(kernel="linear", nu=share, tol=1e-4, max_iter=20 * len(rows) + 1000)
    away = -np.asarray(fit_anyway(fitted, rows / spread).coef_[0])
    length = float(np.sqrt(away @ away))
    # LIBSVM's weights sum to nu times the rows.
    return away if length > 1e-4 * share * len(rows) else None
