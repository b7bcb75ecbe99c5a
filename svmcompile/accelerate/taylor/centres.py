"""Centres for Taylor polynomials: rows go in, a tree with a centre for each leaf comes out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from svmcompile.kernel import Array

ROUNDS = 8  # of moving two means


@dataclass(slots=True)
class Centres:
    """A tree as `PlaneRoute` holds it, and the centre and reach of each leaf."""

    centres: Array  # [leaves, d]
    reaches: Array  # [leaves]: distance of the farthest row
    planes: list[Array] = field(default_factory=list)
    thresholds: list[float] = field(default_factory=list)
    children: list[list[int]] = field(default_factory=list)


def grow(rows: Array, leaves: int, seed: int = 0) -> Centres:
    """Split the leaf whose rows are farthest apart, until there are so many leaves or nothing to split."""
    generator = np.random.default_rng(seed)
    tree = Centres(np.zeros((0, 0)), np.zeros(0))
    parts: list[NDArray[np.intp]] = [np.arange(len(rows))]
    parents: list[tuple[int, int] | None] = [None]  # where each leaf hangs
    while len(parts) < leaves:
        spread = [_spread(rows[part]) for part in parts]
        at = int(np.argmax(spread))
        if spread[at] <= 0:
            break
        plane, threshold = _two_means(rows[parts[at]], generator)
        right = rows[parts[at]] @ plane > threshold
        _split(tree, parents, at, len(parts))
        tree.planes.append(plane)
        tree.thresholds.append(threshold)
        parts.append(parts[at][right])
        parts[at] = parts[at][~right]
    tree.centres = np.array([rows[part].mean(axis=0) for part in parts])
    tree.reaches = np.array(
        [
            np.sqrt(np.square(rows[part] - centre).sum(axis=1).max())
            for part, centre in zip(parts, tree.centres, strict=True)
        ]
    )
    return tree


def _split(tree: Centres, parents: list[tuple[int, int] | None], leaf: int, new: int) -> None:
    """A new node in the place of a leaf, which stays on its left; the new leaf is on its right."""
    node = len(tree.children)
    above = parents[leaf]
    if above is not None:
        tree.children[above[0]][above[1]] = node
    tree.children.append([~leaf, ~new])
    parents[leaf] = (node, 0)
    parents.append((node, 1))


def _spread(rows: Array) -> float:
    return float(np.square(rows - rows.mean(axis=0)).sum()) if len(rows) > 1 else 0.0


def _two_means(rows: Array, generator: np.random.Generator) -> tuple[Array, float]:
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
