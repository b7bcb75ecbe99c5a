"""What the original means, in more digits than double, and what its own double sums may be off by.

Everything here is written from scikit-learn's and LIBSVM's definitions and shares no code with svmcompile.
LIBSVM takes distances by differences, for dense and sparse rows alike.
"""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np

U, LEAST = 2.0**-53, 2.0**-1021
MOST_DOUBTS = 10  # sums of a row that rounding may turn, beyond which any label is taken to be possible
CHUNK_NUMBERS = 4_000_000
Wide = np.longdouble


def has_digits() -> bool:
    """Whether numpy's longdouble is longer than a double here."""
    return bool(np.finfo(Wide).nmant >= 63)


def possible(model: Any, rows: Any, labels: Any) -> Any:
    """For each row, whether the original may give that label: beyond its own rounding, which are wrong?"""
    width = max(1, CHUNK_NUMBERS // max(1, _machines(model)[0][0].support_vectors_.size))
    parts = [
        _possible(model, rows[at : at + width], labels[at : at + width])
        for at in range(0, len(rows), width)
    ]
    return np.concatenate([*parts, np.zeros(0, dtype=bool)])


def _possible(model: Any, rows: Any, labels: Any) -> Any:
    values, slack = sums(model, rows)
    machine = model[-1] if hasattr(model, "steps") else model
    if hasattr(machine, "estimators_"):
        place = np.searchsorted(machine.classes_, labels)[:, None]
        if values.shape[1] == 1:
            values, slack = np.hstack([-values, values]) / 2, np.hstack([slack, slack]) / 2
        own = np.take_along_axis(values + slack, place, 1)[:, 0]
        return own >= (values - slack).max(axis=1)
    if not hasattr(machine, "classes_"):
        values, slack = values[:, 0], slack[:, 0]
        return np.where(labels > 0, values + slack >= 0, values - slack <= 0)
    place = np.searchsorted(machine.classes_, labels)
    return np.array([_wins(*row, len(machine.classes_)) for row in zip(place, values, slack, strict=True)])


def _wins(label: int, values: Any, slack: Any, classes: int) -> bool:
    """Whether a class can win the vote of LIBSVM when each sum has any value within its slack."""
    doubts = np.flatnonzero(np.abs(values) <= slack)
    if len(doubts) > MOST_DOUBTS:
        return True
    pairs, signs = list(combinations(range(classes), 2)), values > 0
    for turned in product((False, True), repeat=len(doubts)):
        signs[doubts] = turned
        votes = np.bincount(
            [i if won else j for (i, j), won in zip(pairs, signs, strict=True)], minlength=classes
        )
        if int(votes.argmax()) == label:
            return True
    return False


def sums(model: Any, rows: Any) -> tuple[Any, Any]:
    """Decision values [rows, sums] as LIBSVM signs them, and what double may have lost of each."""
    z, moved = np.asarray(rows, dtype=Wide), np.zeros(rows.shape)
    if hasattr(model, "steps"):
        scaler = model[0]
        z = (z - scaler.mean_.astype(Wide)) / scaler.scale_.astype(Wide)
        moved = 3 * U * np.abs(z).astype(np.float64)
    found = [_machine_sums(one, sign, z, moved) for one, sign in _machines(model)]
    values, slack = (np.concatenate(part, axis=1) for part in zip(*found, strict=True))
    return values, slack


def _machines(model: Any) -> list[tuple[Any, int]]:
    """LIBSVM's machines of a model, and the sign of their sums: one-vs-rest's speak for their class."""
    machine = model[-1] if hasattr(model, "steps") else model
    return [(one, -1) for one in machine.estimators_] if hasattr(machine, "estimators_") else [(machine, 1)]


def _machine_sums(machine: Any, sign: int, z: Any, moved: Any) -> tuple[Any, Any]:
    kernel, off = _kernel(machine, z, machine.support_vectors_.astype(Wide), moved)
    weights, bias = _weights(machine), machine._intercept_.astype(Wide)
    count = machine.support_vectors_.shape[0]
    size = np.abs(kernel) @ np.abs(weights).T + np.abs(bias)
    # Below the normal numbers of double a sum is no more than rounding: code may flush them to zero.
    slack = off @ np.abs(weights).T + (count + 4) * U * size + LEAST * (1 + np.abs(weights).sum(axis=1))
    return sign * (kernel @ weights.T + bias), slack


def _weights(machine: Any) -> Any:
    """One row per pair of classes, in LIBSVM's order."""
    own = machine._dual_coef_.astype(Wide)
    if not hasattr(machine, "classes_") or len(machine.classes_) == 2:
        return own
    ends = np.cumsum(machine._n_support)
    parts = [slice(end - count, end) for end, count in zip(ends, machine._n_support, strict=True)]
    rows = []
    for i, j in combinations(range(len(parts)), 2):
        row = np.zeros(own.shape[1], dtype=Wide)
        row[parts[i]], row[parts[j]] = own[j - 1, parts[i]], own[i, parts[j]]
        rows.append(row)
    return np.array(rows)


def _kernel(machine: Any, z: Any, vectors: Any, moved: Any) -> tuple[Any, Any]:
    """Kernel values, and what double loses of them; features are off by `moved` before."""
    gamma, d = Wide(machine._gamma), z.shape[1]
    if machine.kernel == "rbf":
        square, shifted = (np.zeros((len(z), len(vectors)), dtype=Wide) for _ in range(2))
        for j in range(d):
            h = z[:, j, None] - vectors[None, :, j]
            square += h * h
            shifted += (2 * np.abs(h) + moved[:, j, None]) * moved[:, j, None]
        exponent = gamma * ((d + 5) * U * square + shifted)
        values = np.exp(-gamma * square)
        return values, values * np.expm1(np.minimum(exponent, 700)) + 2 * U * values
    t = gamma * (z @ vectors.T) + machine.coef0
    sizes = gamma * (np.abs(z) @ np.abs(vectors).T)
    off = (d + 4) * U * sizes + gamma * (moved @ np.abs(vectors).T) + 2 * U * abs(machine.coef0)
    degree = machine.degree
    return t**degree, degree * off * (np.abs(t) + off) ** (degree - 1) + 2 * degree * U * np.abs(
        t
    ) ** degree
