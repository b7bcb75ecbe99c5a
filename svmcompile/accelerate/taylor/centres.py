"""Centres for Taylor polynomials: rows go in, a tree with a centre for each leaf comes out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array

ROUNDS = 8  # of moving two means


@dataclass(slots=True)
class Centres:
    """A tree as `PlaneRoute` holds it, and which rows fell into each leaf."""

    parts: list[NDArray[np.intp]]
    planes: list[Array] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)
    parents: list[tuple[int, int]] = field(default_factory=lambda: [(-1, 0)])  # where each leaf hangs

    def split(self, leaf: int, plane: Array, threshold: float, right: NDArray[np.bool_]) -> None:
        """A new node in the place of a leaf, which stays on its left; the new leaf is on its right."""
        node, new = len(self.children), len(self.parts)
        above, side = self.parents[leaf]
        if above >= 0:
            self.children[above][side] = node
        self.children.append([~leaf, ~new])
        self.planes.append(plane)
        self.thresholds.append(threshold)
        self.parents[leaf] = (node, 0)
        self.parents.append((node, 1))
        self.parts.append(self.parts[leaf][right])
        self.parts[leaf] = self.parts[leaf][~right]


def grow(rows: Array, leaves: int, seed: int = 0) -> Centres:
    """Split the leaf whose rows are farthest apart, until there are so many leaves or nothing to split."""
    generator = np.random.default_rng(seed)
    tree = Centres([np.arange(len(rows))])
    parts = tree.parts
    while len(parts) < leaves:
        spread = [_spread(rows[part]) for part in parts]
        at = int(np.argmax(spread))
        if spread[at] <= 0:
            break
        plane, threshold = two_means(rows[parts[at]], generator)
        right = rows[parts[at]] @ plane > threshold
        tree.split(at, plane, threshold, right)
    return tree


def _spread(rows: Array) -> float:
    return float(np.square(rows - rows.mean(axis=0)).sum()) if len(rows) > 1 else 0.0


def two_means(rows: Array, generator: np.random.Generator) -> tuple[Array, float]:
    """The hyperplane between two means; rows fall on both of its sides."""
    first = rows[generator.integers(len(rows))]
    second = rows[np.square(rows - first).sum(axis=1).argmax()]
    for _ in range(ROUNDS):
        plane = second - first
        right = rows @ plane > 0.5 * plane @ (first + second)
        if right.all() or not right.any():
            break
        first, second = rows[~right].mean(axis=0), rows[right].mean(axis=0)
    plane = second - first
    values = rows @ plane
    threshold = 0.5 * float(plane @ (first + second))
    if not (values > threshold).any() or (values > threshold).all():
        threshold = 0.5 * float(values.min() + values.max())
    return plane, threshold
