"""Training: minibatches with falling steps (Adam), while features are dropped.

Kingma and Ba, "Adam" (2015). The features that stay are those with the largest weights (hard
thresholding, as in ProtoNN): all at first, then ever fewer, at last as many as are wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.proto.network import Floats, Loss, Prototypes
from svmcompile.accelerate.proto.sizes import Sizes
from svmcompile.ir.whole_numbers import NIBBLE_HIGH, NIBBLE_LOW

BATCH = 256
RATE = 0.05  # of the typical size of a part, at first
MOMENTUM, SQUARES = 0.9, 0.999
DROPS = (0.1, 0.7)  # shares of the steps between which features are dropped, by the same share each time
DROP_EVERY = 50  # steps
START_ROWS = 5000  # that principal directions are taken from
NEAREST_ROWS = 1000  # that the width is chosen by
JUDGED_ROWS = 20_000  # that starts are judged by
PASSES, LEAST_STEPS, MOST_WORK = 40, 2000, 8e10  # times that each row is seen, and products at most
STARTS, STARTS_WORK = 6, 4e10  # trainings that the best is taken of at most, and their products
UNITS = np.linspace(1 / 16, 1 / 7, 25)  # of weights of four bits, as shares of the largest
FINALS, FINALS_WORK = 3, 1.6e11  # the same of those that sizes are judged by at last


@dataclass(frozen=True, eq=False)
class Lesson:
    """Rows and what is to be said of them."""

    rows: Floats  # [n, features], about their mean
    targets: Floats  # [n, outputs]
    loss: Loss

    @cached_property
    def spread(self) -> Floats:
        return np.asarray(self.rows.var(axis=0))

    @cached_property
    def directions(self) -> Floats:
        """Principal directions, the widest first."""
        some = self.rows[:START_ROWS].astype(np.float64)
        return np.asarray(np.linalg.eigh(some.T @ some)[1].T[::-1])

    def some(self, at: NDArray[np.intp]) -> Lesson:
        return Lesson(self.rows[at], self.targets[at], self.loss)


@dataclass(frozen=True, eq=False)
class Trained:
    """What was learned, on the features that are read."""

    network: Prototypes
    columns: NDArray[np.intp]

    def scores(self, rows: Floats) -> Floats:
        return self.network.scores(rows[:, self.columns])

    def loss(self, lesson: Lesson) -> float:
        """The mean loss of some rows."""
        some = lesson.some(np.arange(min(len(lesson.rows), JUDGED_ROWS)))
        return self.network.loss(some.rows[:, self.columns], some.targets, lesson.loss)[0]


def usual_steps(lesson: Lesson, sizes: Sizes) -> int:
    """Steps that see every row often, fewer where each takes long."""
    wanted = PASSES * len(lesson.rows) // BATCH
    return max(LEAST_STEPS, min(wanted, steps_within(MOST_WORK, lesson, sizes)))


def steps_within(work: float, lesson: Lesson, sizes: Sizes) -> int:
    """Steps that so many products are enough for, at least one."""
    by_vector = sizes.rank + lesson.targets.shape[1]
    by_row = sizes.rank * lesson.rows.shape[1] + sizes.vectors * by_vector
    return max(1, int(work / (BATCH * by_row)))


def affordable(most: int, work: float, lesson: Lesson, sizes: Sizes, steps: int) -> int:
    """How many trainings of so many steps so many products are enough for."""
    return max(1, min(most, steps_within(work, lesson, sizes) // steps))


def train(lesson: Lesson, sizes: Sizes, steps: int, seed: int) -> Trained:
    """Prototypes of these sizes, the best of several starts; the same for the same seed."""
    starts = range(affordable(STARTS, STARTS_WORK, lesson, sizes, steps))
    known = [train_once(lesson, sizes, steps, seed, start) for start in starts]
    return min(known, key=lambda one: one.loss(lesson))


def train_once(lesson: Lesson, sizes: Sizes, steps: int, seed: int, start: int = 0) -> Trained:
    """What one start leads to."""
    random = np.random.default_rng((seed, start))
    network = _start(lesson, sizes, random)
    trained = _descend(lesson, network, sizes.columns, steps, random)
    return _in_four_bits(trained, lesson) if sizes.four_bits else trained


def nibbles(projection: Floats, unit: float) -> Floats:
    """The nearest projection of whole numbers of four bits times a unit; larger weights are cut off."""
    levels = np.clip(np.round(projection / unit), NIBBLE_LOW, NIBBLE_HIGH)
    return np.asarray(levels * unit, dtype=projection.dtype)


def _in_four_bits(trained: Trained, lesson: Lesson) -> Trained:
    """The same with weights of the projection in the unit that moves projected rows least."""
    projection, spread = trained.network.projection, lesson.spread[trained.columns]
    units = UNITS * (float(np.abs(projection).max()) or 1.0)
    found = [nibbles(projection, unit) for unit in units]
    off = [float((np.square(one - projection) @ spread).sum()) for one in found]
    return replace(trained, network=replace(trained.network, projection=found[int(np.argmin(off))]))


def _start(lesson: Lesson, sizes: Sizes, random: np.random.Generator) -> Prototypes:
    """Principal directions, with rows for prototypes that are about one apart from the nearest row."""
    rows, directions = lesson.rows, lesson.directions[: sizes.rank]
    at = rows @ directions.T.astype(rows.dtype)
    chosen = random.choice(len(rows), sizes.vectors, replace=sizes.vectors > len(rows))
    scale = 1 / np.sqrt(_nearest(at[:NEAREST_ROWS].astype(np.float64), at[chosen].astype(np.float64)))
    own = lesson.targets[chosen]
    parts = directions * scale, at[chosen] * scale, own - own.mean(axis=0), np.zeros(own.shape[1])
    return Prototypes(*(part.astype(rows.dtype) for part in parts))


def _nearest(at: Floats, vectors: Floats) -> float:
    """The typical squared distance from a row to the nearest prototype that is another row."""
    apart = np.square(at).sum(axis=1)[:, None] + np.square(vectors).sum(axis=1) - 2 * at @ vectors.T
    apart[apart < 1e-9 * np.square(at).sum(axis=1).max(initial=0.0)] = np.inf
    nearest = apart.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    return float(np.median(nearest)) if len(nearest) else 1.0


def _descend(
    lesson: Lesson, start: Prototypes, wanted: int, steps: int, random: np.random.Generator
) -> Trained:
    rows, targets, spread = lesson.rows, lesson.targets, lesson.spread
    columns = np.arange(rows.shape[1])
    parts = list(start.parts)
    rates = [RATE * _size(part) for part in parts[:2]] + [RATE, RATE]
    means, squares = ([np.zeros_like(part) for part in parts] for _ in range(2))
    order, batch, next_row = random.permutation(len(rows)), min(BATCH, len(rows)), 0
    for step in range(steps):
        if next_row + batch > len(order):
            order, next_row = random.permutation(len(rows)), 0
        picked = order[next_row : next_row + batch]
        next_row += batch
        seen = rows[picked][:, columns]
        gradients = Prototypes(*parts).loss(seen, targets[picked], lesson.loss)[1]
        fall = 0.5 * (1 + np.cos(np.pi * step / steps))
        for k, gradient in enumerate(gradients):
            means[k] += (1 - MOMENTUM) * (gradient - means[k])
            squares[k] += (1 - SQUARES) * (np.square(gradient) - squares[k])
            size = np.sqrt(squares[k] / (1 - SQUARES ** (step + 1))) + 1e-8
            move = rates[k] * fall / (1 - MOMENTUM ** (step + 1)) * (means[k] / size)
            parts[k] = parts[k] - move.astype(parts[k].dtype)
        room = _room(step / steps, rows.shape[1], wanted)
        if room < len(columns) and (step % DROP_EVERY == 0 or room == wanted):
            kept = _largest(parts[0], spread[columns], room)
            columns = columns[kept]
            parts[0], means[0], squares[0] = (part[:, kept] for part in (parts[0], means[0], squares[0]))
    kept = _largest(parts[0], spread[columns], wanted)
    return Trained(Prototypes(parts[0][:, kept], parts[1], parts[2], parts[3]), columns[kept])


def _size(part: Floats) -> float:
    return float(np.sqrt(np.square(part - part.mean()).mean())) or 1.0


def _room(share: float, features: int, wanted: int) -> int:
    """How many features may be read after this share of the steps."""
    done = min(max((share - DROPS[0]) / (DROPS[1] - DROPS[0]), 0.0), 1.0)
    room: float = features * (wanted / features) ** done
    return round(room)


def _largest(projection: Floats, spread: Floats, count: int) -> NDArray[np.intp]:
    """The features that move the projection most, in their order."""
    order = np.argsort(-np.square(projection).sum(axis=0) * spread, kind="stable")
    return np.sort(order[:count])
