"""Pairs of classes in LIBSVM's order: sums, votes, the tournament that settles one, and coupling.

The iteration of coupling stops as soon as it is near enough, so that its results are those of LIBSVM
only if every step is. Written for numbers that may have an imaginary part: an imaginary change of a pair
too small to matter comes out as the derivative of every class with respect to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.arithmetic import Array
from svmcompile.ir.kinds import Flags, Wholes
from svmcompile.ir.node import need

UNSURE = -1  # the label of rows that must be settled in another way
Numbers = NDArray[Any]  # float64 or complex128
TOLERANCE = 0.005  # over the number of classes
SWEEPS = 100  # at most, or as many as there are classes


def pair_indices(n_classes: int) -> list[tuple[int, int]]:
    """The pairs (i, j), i < j, in LIBSVM's order."""
    return [(i, j) for i in range(n_classes) for j in range(i + 1, n_classes)]


def class_counts(counts: tuple[int, ...]) -> None:
    """Vectors of two classes or more."""
    need(len(counts) >= 2 and min(counts) >= 0, "two or more classes needed")


def pair_count(n_classes: int) -> int:
    """How many pairs so many classes have."""
    need(n_classes >= 2, "two or more classes needed")
    return n_classes * (n_classes - 1) // 2


def pair_table(n_classes: int) -> NDArray[np.int64]:
    """Where the pair of two classes stands, in either order."""
    table = np.zeros((n_classes, n_classes), dtype=np.int64)
    table[np.triu_indices(n_classes, 1)] = np.arange(n_classes * (n_classes - 1) // 2)
    return np.asarray(table + table.T)


def classes_of(pairs: int) -> int:
    """How many classes have so many pairs; 0 if none."""
    k = math.isqrt(2 * pairs) + 1
    return k if k * (k - 1) // 2 == pairs else 0


def pair_number(first: Any, second: Any, n_classes: int) -> Any:
    """Where the pairs (first, second) stand in LIBSVM's order."""
    return first * (2 * n_classes - first - 1) // 2 + second - first - 1


def favour(n_classes: int) -> NDArray[np.float64]:
    """[classes, pairs]: 1 where a class is the pair's first, -1 where it is its second, else 0."""
    first, second = np.triu_indices(n_classes, 1)
    own = np.arange(n_classes)[:, None]
    return np.asarray((own == first).astype(np.float64) - (own == second))


def class_slices(counts: tuple[int, ...]) -> list[slice]:
    """Where the vectors of each class stand."""
    ends = np.cumsum(counts)
    return [slice(int(end) - count, int(end)) for count, end in zip(counts, ends, strict=True)]


def pair_weights(weights: Array, counts: tuple[int, ...]) -> Array:
    """LIBSVM's coefficients [k - 1, n] spread out to one row per pair of classes."""
    groups, pairs = class_slices(counts), pair_indices(len(counts))
    dense = np.zeros((len(pairs), weights.shape[1]))
    for row, (i, j) in enumerate(pairs):
        dense[row, groups[i]] = weights[j - 1, groups[i]]
        dense[row, groups[j]] = weights[i, groups[j]]
    return dense


def pair_sums(values: NDArray[Any], weights: NDArray[Any], counts: tuple[int, ...]) -> NDArray[Any]:
    """Sums per pair from kernel values [rows, n] and weights [n, k - 1]."""
    partial = [values[:, group] @ weights[group] for group in class_slices(counts)]
    pairs = pair_indices(len(counts))
    return np.stack([partial[i][:, j - 1] + partial[j][:, i] for i, j in pairs], axis=1)


def count_votes(pairs: NDArray[Any], n_classes: int) -> NDArray[np.int64]:
    """Votes [rows, classes]: a pair above zero counts for its first class, else for its second."""
    votes = np.zeros((len(pairs), n_classes), dtype=np.int64)
    for column, (i, j) in enumerate(pair_indices(n_classes)):
        votes[:, i] += pairs[:, column] > 0
        votes[:, j] += ~(pairs[:, column] > 0)
    return votes


def vote(pairs: NDArray[Any], n_classes: int) -> NDArray[np.intp]:
    """The class with most votes, the first of several."""
    return np.asarray(np.argmax(count_votes(pairs, n_classes), axis=1))


@dataclass(frozen=True, slots=True)
class Match:
    """The label of each row and the pairs that were met on the way to it."""

    label: NDArray[np.int64]  # [rows], UNSURE where a pair was
    met: NDArray[np.bool_]  # [rows, pairs]


def champions(guess: NDArray[np.int64], signs: NDArray[np.int64], n_classes: int) -> Match:
    """Settle votes; signs [rows, pairs] are 1 for the first of a pair, -1 for the second, 0 if unsure."""
    label, champion, pairs = np.full(len(guess), UNSURE), guess.copy(), pair_table(n_classes)
    met, beaten = np.zeros(signs.shape, dtype=bool), np.zeros((len(guess), n_classes), dtype=bool)
    active = np.arange(len(guess))
    while len(active):
        following, unsure = _defend(active, champion, signs, pairs, met, beaten)
        won = (following < 0) & ~unsure
        label[active[won]] = champion[active[won]]
        next_one = ~won & ~unsure
        active, following = active[next_one], following[next_one]
        again = beaten[active, following]
        # A class that has been beaten would become champion: all pairs are settled, and vote.
        rows = active[again]
        met[rows] = True
        sure = (signs[rows] != 0).all(axis=1)
        label[rows] = np.where(sure, vote(signs[rows], n_classes), UNSURE)
        active, following = active[~again], following[~again]
        champion[active] = following
    return Match(label, met)


def _defend(
    active: Wholes, champion: Wholes, signs: Wholes, pairs: Wholes, met: Flags, beaten: Flags
) -> tuple[Wholes, Flags]:
    """Who beats the champion of each row (-1 for nobody), and rows where a pair is unsure."""
    winner = np.full(len(active), -1)
    unsure = np.zeros(len(active), dtype=bool)
    for rival in range(len(pairs)):
        own = champion[active]
        pair = pairs[own, rival]
        meets = (winner < 0) & ~unsure & (own != rival) & ~met[active, pair]
        sign = np.where(own < rival, 1, -1) * signs[active, pair]
        met[active[meets], pair[meets]] = True
        unsure |= meets & (sign == 0)
        lost = meets & (sign < 0)
        winner[lost] = rival
        beaten[active[meets & (sign > 0)], rival] = True
        beaten[active[lost], own[lost]] = True
    return winner, unsure


def sweeps_of(n_classes: int) -> int:
    """How many sweeps are allowed."""
    return max(SWEEPS, n_classes)


def pair_matrix(pairs: Numbers, n_classes: int) -> Numbers:
    """Q of each row: Q[t, t] = sum_j r[j, t]^2, Q[t, j] = -r[j, t] r[t, j]."""
    r = np.zeros((len(pairs), n_classes, n_classes), dtype=pairs.dtype)
    for column, (i, j) in enumerate(pair_indices(n_classes)):
        r[:, i, j], r[:, j, i] = pairs[:, column], 1.0 - pairs[:, column]
    q = -r * r.transpose(0, 2, 1)
    for t in range(n_classes):
        q[:, t, t] = (r[:, :, t] * r[:, :, t]).sum(axis=1)
    return np.asarray(q)


def couple(pairs: Numbers, n_classes: int) -> tuple[Numbers, Numbers]:
    """Probabilities of classes, and how near a row's stopping rule came to deciding otherwise."""
    q = pair_matrix(pairs, n_classes)
    p = np.full((len(pairs), n_classes), 1.0 / n_classes, dtype=pairs.dtype)
    nearest = np.full(len(pairs), np.inf, dtype=pairs.dtype)
    active: NDArray[np.bool_] = np.asarray(np.isfinite(pairs).all(axis=1))
    p[~active] = np.nan
    for _ in range(sweeps_of(n_classes)):
        rows = np.flatnonzero(active)
        if not len(rows):
            break
        qp, pqp = _products(q[rows], p[rows])
        gap = _largest(qp - pqp[:, None]) - TOLERANCE / n_classes
        closer = np.abs(gap.real) < np.abs(nearest[rows].real)
        nearest[rows] = np.where(closer, gap, nearest[rows])
        active[rows] = gap.real >= 0
        on = gap.real >= 0
        p[rows[on]] = _sweep(q[rows[on]], p[rows[on]], qp[on], pqp[on])
    return p, nearest


def _products(q: Numbers, p: Numbers) -> tuple[Numbers, Numbers]:
    qp = np.einsum("rtj,rj->rt", q, p)
    return qp, np.einsum("rt,rt->r", p, qp)


def _largest(errors: Numbers) -> Numbers:
    """The largest absolute value of each row; a change of sign turns the imaginary part too."""
    sizes = np.where(errors.real < 0, -errors, errors)
    place = sizes.real.argmax(axis=1)
    return np.asarray(sizes[np.arange(len(sizes)), place])


def _sweep(q: Numbers, p: Numbers, qp: Numbers, pqp: Numbers) -> Numbers:
    """One class after the other moves to where it fits best, and all are scaled to add up to one."""
    p, qp = p.copy(), qp.copy()
    for t in range(p.shape[1]):
        own = q[:, t, t]
        step = (pqp - qp[:, t]) / own
        scale = 1.0 + step
        p[:, t] += step
        pqp = (pqp + step * (step * own + 2.0 * qp[:, t])) / scale / scale
        qp = (qp + step[:, None] * q[:, t]) / scale[:, None]
        p /= scale[:, None]
    return p


def coupling_errors(pairs: NDArray[np.float64], errors: NDArray[np.float64], n_classes: int) -> Numbers:
    """How far errors of pairs can move the classes; infinite where they may change the number of sweeps."""
    small = 1e-30
    found = np.zeros((len(pairs), n_classes))
    reach = np.zeros(len(pairs))
    for column in range(pairs.shape[1]):
        moved = pairs.astype(np.complex128)
        moved[:, column] += 1j * small
        p, nearest = couple(moved, n_classes)
        found += np.abs(p.imag / small) * errors[:, column : column + 1]
        reach += np.abs(nearest.imag / small) * errors[:, column]
    _, nearest = couple(pairs, n_classes)
    return np.where((np.abs(nearest) <= reach)[:, None], np.inf, found)
