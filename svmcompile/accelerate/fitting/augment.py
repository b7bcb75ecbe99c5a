"""More rows for a tree: points on the lines between neighbours, where the SVM can be asked as well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir.kernel import Array

NEIGHBOURS = 5
OVERSHOOT = 0.1  # how far beyond the two ends of a line, in its lengths
POOL = 8192  # rows among which neighbours are looked for; more are sampled
BLOCK_VALUES = 1 << 22


def augmented(
    points: Array, times: int, generator: np.random.Generator, overshoot: float = OVERSHOOT
) -> Array:
    """`times` new points per point: p + u (neighbour - p), u from -overshoot to 1 + overshoot."""
    n = len(points)
    if n < 2 or times == 0:
        return np.zeros((0, points.shape[1]))
    near = neighbours(points, min(NEIGHBOURS, n - 1), generator)
    rows = np.repeat(np.arange(n), times)
    chosen = near[rows, generator.integers(near.shape[1], size=len(rows))]
    along = generator.uniform(-overshoot, 1 + overshoot, size=(len(rows), 1))
    return np.asarray(points[rows] + along * (points[chosen] - points[rows]))


def neighbours(points: Array, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Row numbers of the nearest others, shape [points, count]."""
    n = len(points)
    pool = np.arange(n) if n <= POOL else np.sort(generator.choice(n, POOL, replace=False))
    middle = points.mean(axis=0)
    others = points[pool] - middle
    squares = np.square(others).sum(axis=1)
    found = np.empty((n, count), dtype=np.int64)
    step = max(1, BLOCK_VALUES // len(pool))
    for at in range(0, n, step):
        rows = np.arange(at, min(at + step, n))
        distances = squares - 2 * (points[rows] - middle) @ others.T
        distances[rows[:, None] == pool] = np.inf
        found[rows] = pool[np.argpartition(distances, count - 1, axis=1)[:, :count]]
    return found
