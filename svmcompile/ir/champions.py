"""The champion rule: signs of pairs go in; the label, and which pairs were met, come out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.pairs import pair_indices, pair_table

UNSURE = -1  # the label of rows that must be settled in another way


@dataclass(frozen=True, slots=True)
class Match:
    """The label of each row and the pairs that were met on the way to it."""

    label: NDArray[np.int64]  # [rows], UNSURE where a pair was
    met: NDArray[np.bool_]  # [rows, pairs]


def champions(guess: NDArray[np.int64], signs: NDArray[np.int64], n_classes: int) -> Match:
    """Settle votes; signs [rows, pairs] are 1 for the first of a pair, -1 for the second, 0 if unsure."""
    rows = len(guess)
    pairs = pair_table(n_classes)
    label, champion = np.full(rows, UNSURE), guess.copy()
    met = np.zeros(signs.shape, dtype=bool)
    beaten = np.zeros((rows, n_classes), dtype=bool)
    active = np.arange(rows)
    while len(active):
        following, unsure = _defend(active, champion, signs, pairs, met, beaten)
        won = (following < 0) & ~unsure
        label[active[won]] = champion[active[won]]
        next_one = ~won & ~unsure
        active, following = active[next_one], following[next_one]
        again = beaten[active, following]
        _vote(active[again], signs, pairs, met, label)
        active, following = active[~again], following[~again]
        champion[active] = following
    return Match(label, met)


def _defend(
    active: NDArray[np.int64],
    champion: NDArray[np.int64],
    signs: NDArray[np.int64],
    pairs: NDArray[np.int64],
    met: NDArray[np.bool_],
    beaten: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
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
        winner[meets & (sign < 0)] = rival
        beaten[active[meets & (sign > 0)], rival] = True
        lost = meets & (sign < 0)
        beaten[active[lost], own[lost]] = True
    return winner, unsure


def _vote(
    rows: NDArray[np.int64],
    signs: NDArray[np.int64],
    pairs: NDArray[np.int64],
    met: NDArray[np.bool_],
    label: NDArray[np.int64],
) -> None:
    """Settle all pairs of some rows."""
    votes = np.zeros((len(rows), len(pairs)), dtype=np.int64)
    for i, j in pair_indices(len(pairs)):
        first = signs[rows, pairs[i, j]] > 0
        votes[:, i] += first
        votes[:, j] += ~first
    sure = (signs[rows] != 0).all(axis=1)
    met[rows] = True
    label[rows] = np.where(sure, votes.argmax(axis=1), UNSURE)
