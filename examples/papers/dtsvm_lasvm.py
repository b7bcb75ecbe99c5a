"""LASVM, after "Fast Kernel Classifiers with Online and Active Learning" (Bordes, Ertekin, Weston, Bottou).

An online SVM: every row comes by once. PROCESS takes it in if it violates the optimality of what is there,
REPROCESS improves the worst pair and drops vectors without weight that cannot come back. In the end
REPROCESS runs until no pair is wrong by more than TAU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.dtsvm.leaves import LeafRule, Theta, votes
from svmcompile.ir.kernel import Kernel
from svmcompile.ir.pairs import pair_indices

Array = NDArray[np.float64]
TAU = 1e-3
SEEDS = 5  # rows of each class to start with
STEPS_PER_ROW = 30  # of the finish, where it does not end by itself
DEAD = 64  # vectors dropped before their places are used again


class OnlineSVM:
    """Sums over the vectors S taken in so far; weights carry the sign of their class."""

    def __init__(self, X: Array, y: Array, kernel: Kernel, C: float) -> None:
        self.X, self.y, self.kernel, self.C = X, y, kernel, C
        self.rows = np.zeros(0, np.intp)
        self.weights = self.gradients = np.zeros(0)
        self.up = self.down = np.zeros(0, bool)  # the weight may grow, may fall; neither: dropped
        self.gram = np.zeros((DEAD, DEAD))
        self.bias, self.gap, self.dropped = 0.0, np.inf, 0

    def train(self, order: NDArray[np.intp], epochs: int = 1) -> None:
        """All rows in this order, once unless more epochs are asked for, and the finish."""
        for sign in (1.0, -1.0):
            for row in order[self.y[order] == sign][:SEEDS]:
                self.insert(row, *self.look_at(row))
        for row in np.tile(order, epochs):
            self.process(row)
            self.reprocess()
        for _ in range(STEPS_PER_ROW * len(order)):
            if not self.reprocess():
                break

    def look_at(self, row: int) -> tuple[Array, float]:
        """Kernel values of a row with S, and its gradient y - f(x)."""
        values = self.kernel.values(self.X[row : row + 1], self.X[self.rows])[0]
        return values, float(self.y[row] - self.weights @ values)

    def process(self, row: int) -> None:
        """Take a row in if it makes a violating pair with a vector of S, and is not there yet."""
        if ((self.rows == row) & (self.up | self.down)).any():
            return
        values, gradient = self.look_at(row)
        top, low = self.extremes()
        positive = self.y[row] > 0
        if (gradient - self.gradients[low] if positive else self.gradients[top] - gradient) <= TAU:
            return
        new = self.insert(row, values, gradient)
        self.step(*((new, low) if positive else (top, new)))

    def reprocess(self) -> bool:
        """Improve the worst pair of S; False if no pair is wrong by more than TAU."""
        top, low = self.extremes()
        violating = bool(self.gradients[top] - self.gradients[low] > TAU)
        if violating:
            self.step(top, low)
            top, low = self.extremes()
            idle = (self.weights == 0) & (self.up | self.down)
            past = np.where(
                self.up, self.gradients <= self.gradients[low], self.gradients >= self.gradients[top]
            )
            self.drop(idle & past)
        self.gap = float(self.gradients[top] - self.gradients[low])
        self.bias = float(self.gradients[top] + self.gradients[low]) / 2
        if self.dropped > max(DEAD, len(self.rows) // 4):
            self.compact()
        return violating

    def extremes(self) -> tuple[int, int]:
        top = np.where(self.up, self.gradients, -np.inf).argmax()
        return int(top), int(np.where(self.down, self.gradients, np.inf).argmin())

    def step(self, top: int, low: int) -> None:
        """Move weight from one vector to another along the direction that gains most."""
        gram, size = self.gram, len(self.rows)
        curve = gram[top, top] + gram[low, low] - 2 * gram[top, low]
        room = min(self.bound(top, True) - self.weights[top], self.weights[low] - self.bound(low, False))
        move = min((self.gradients[top] - self.gradients[low]) / max(curve, 1e-12), room)
        for at, change in ((top, move), (low, -move)):
            self.weights[at] += change
            for side, value in ((True, self.bound(at, True)), (False, self.bound(at, False))):
                if abs(self.weights[at] - value) <= 1e-12 * self.C:
                    self.weights[at] = value
                (self.up if side else self.down)[at] = self.weights[at] != value
        self.gradients -= move * (gram[top, :size] - gram[low, :size])

    def bound(self, at: int, upper: bool) -> float:
        """A weight lies between 0 and C times the sign of its class."""
        return self.C * float(self.y[self.rows[at]]) if (self.y[self.rows[at]] > 0) == upper else 0.0

    def insert(self, row: int, values: Array, gradient: float) -> int:
        size = len(self.rows)
        if size == len(self.gram):
            grown = np.zeros((2 * size, 2 * size))
            grown[:size, :size] = self.gram
            self.gram = grown
        self.gram[size, :size] = self.gram[:size, size] = values
        self.gram[size, size] = self.kernel.values(self.X[row : row + 1], self.X[row : row + 1])[0, 0]
        positive = bool(self.y[row] > 0)
        self.rows = np.append(self.rows, row)
        self.weights, self.gradients = np.append(self.weights, 0.0), np.append(self.gradients, gradient)
        self.up, self.down = np.append(self.up, positive), np.append(self.down, not positive)
        return size

    def drop(self, gone: NDArray[np.bool_]) -> None:
        self.up &= ~gone
        self.down &= ~gone
        self.dropped += int(gone.sum())

    def compact(self) -> None:
        """Use the places of dropped vectors again."""
        kept = np.flatnonzero(self.up | self.down)
        self.gram[: len(kept), : len(kept)] = self.gram[np.ix_(kept, kept)]
        for name in ("rows", "weights", "gradients", "up", "down"):
            setattr(self, name, getattr(self, name)[kept])
        self.dropped = 0


@dataclass(frozen=True, eq=False)
class Machine:
    """One sum of many: its vectors, their weights and the bias."""

    vectors: Array
    weights: Array
    bias: float

    def values(self, kernel: Kernel, rows: Array) -> Array:
        return np.asarray(kernel.values(rows, self.vectors) @ self.weights + self.bias)


def online(X: Array, positive: NDArray[np.bool_], theta: Theta, epochs: int = 1) -> Machine:
    """The machine of one problem; a constant where its rows are of one class."""
    if positive.all() or not positive.any():
        return Machine(X[:0], np.zeros(0), 1.0 if positive.any() else -1.0)
    svm = OnlineSVM(X, np.where(positive, 1.0, -1.0), theta.kernel, theta.C)
    svm.train(np.random.default_rng(0).permutation(len(X)), epochs)
    kept = svm.weights != 0
    return Machine(X[svm.rows[kept]], svm.weights[kept], svm.bias)


def online_machines(
    X: Array, y: NDArray[np.intp], theta: Theta, rule: LeafRule, n_classes: int
) -> list[Machine]:
    """One machine for two classes, one per pair (above zero: the first), or one per class."""
    if rule == "sum":
        return [online(X, y == 1, theta)]
    if rule == "ovr":
        return [online(X, y == label, theta) for label in range(n_classes)]
    pairs = [(np.isin(y, pair), pair[0]) for pair in pair_indices(n_classes)]
    return [online(X[own], y[own] == first, theta) for own, first in pairs]


def online_labels(
    machines: list[Machine], rule: LeafRule, n_classes: int, kernel: Kernel, rows: Array
) -> NDArray[np.intp]:
    """What the machines say of rows: classes as numbers."""
    found = np.stack([one.values(kernel, rows) for one in machines], axis=1)
    if rule == "sum":
        return np.asarray(found[:, 0] > 0, np.intp)
    scores = votes(found, n_classes) if rule == "vote" else found
    return np.asarray(scores.argmax(axis=1), np.intp)
