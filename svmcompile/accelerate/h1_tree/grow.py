"""grow: a sample goes in, a list of half-spaces that answers it comes out.

Node after node, the direction that answers most rows without answering a hard one is taken and those rows
are dropped, until one sign is left. (Zapien Arreola, Fehr and Burkhardt, section 3.2 and 4.3.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.h1_tree.directions import Ways, directions, main_directions, perpendiculars
from svmcompile.accelerate.h1_tree.nodes import HalfSpace, PlaneList, projected, threshold
from svmcompile.accelerate.h1_tree.sample import Sample
from svmcompile.kernel import Array

Indices = NDArray[np.intp]
ANGLES = tuple(np.radians((2.0, 5.0, 12.0, 30.0)))
TURNS = 8
FINALISTS = 4  # directions that are tried on all rows, where candidates were compared on some


@dataclass(frozen=True, slots=True)
class Growth:
    """How a list grows."""

    ways: Ways = field(default_factory=Ways)
    level: int = 0  # 1: perpendicular directions at every node, 0: only where nothing else helps
    most: int = 150  # nodes
    least_gain: float = 0.0  # of the rows that count; a node that answers fewer ends the list
    sample: int = 4000  # rows that directions are made from and compared on
    turn: bool = True  # the best directions are turned for as long as that answers more rows
    mixed: bool = True  # the rest gets a sign; else rows that no node answers are left open
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A node, and the rows (of those alive) that it answers."""

    node: HalfSpace
    gain: int


def grow(sample: Sample, growth: Growth, advance: Callable[[int], None] = lambda done: None) -> PlaneList:
    """The list of a sample; `advance` is told how many rows each node has answered."""
    nodes: list[HalfSpace] = []
    generator = np.random.default_rng(growth.seed)
    alive: Indices = np.arange(len(sample))
    enough = growth.least_gain * (len(sample) if sample.counted is None else int(sample.counted.sum()))
    left = sample
    while len(nodes) < growth.most:
        found = _next_node(sample, left, growth, generator)
        if found is None or found.gain < enough:
            break
        nodes.append(found.node)
        kept = np.flatnonzero(~found.node.holds(left.points))
        advance(len(alive) - len(kept))
        alive = alive[kept]
        left = sample.some(alive)
    advance(len(alive))
    return PlaneList(tuple(nodes), majority(left) if growth.mixed else 0)


def _next_node(
    sample: Sample, left: Sample, growth: Growth, generator: np.random.Generator
) -> Candidate | None:
    """The best node for the rows left; None where the list is complete."""
    if _is_mixed(left):
        found = best_node(left, growth, generator)
        return farthest_node(left) if found is None and growth.mixed else found
    return None if growth.mixed else closing_node(sample, left, growth, generator)


def closing_node(
    sample: Sample, left: Sample, growth: Growth, generator: np.random.Generator
) -> Candidate | None:
    """A node for rows of one sign that are left, where what is not answered is not known.

    With nobody to hold it back it would answer all of space, so it heeds rows answered before.
    """
    if not len(left):
        return None
    answer = majority(left)
    rows = left.joined(sample.some(np.flatnonzero(sample.hard(answer))))
    found = best_node(rows, growth, generator, answer)
    return None if found is None else Candidate(replace(found.node, closing=True), found.gain)


def _is_mixed(sample: Sample) -> bool:
    signs = sample.signs if sample.counted is None else sample.signs[sample.counted]
    return bool((signs == 1).any() and (signs == -1).any())


def majority(sample: Sample) -> int:
    """The sign that most rows have."""
    return 1 if int(sample.signs.sum(dtype=np.int64)) >= 0 else -1


def best_node(
    sample: Sample, growth: Growth, generator: np.random.Generator, only: int = 0
) -> Candidate | None:
    """The candidate (with the answer `only`, if one is given) that answers most rows; None if none does."""
    few = _some(sample, growth.sample, generator)
    tried = [one for one in _candidates(few, growth) if only in (0, one.node.answer)]
    if few is not sample:
        ordered = sorted(tried, key=lambda one: -one.gain)[:FINALISTS]
        tried = [_judged(sample, one.node.plane, one.node.answer) for one in ordered]
    best = _best(tried)
    return best if best is not None and best.gain > 0 else None


def _best(tried: list[Candidate]) -> Candidate | None:
    return max(tried, key=lambda one: one.gain, default=None)


def _some(sample: Sample, count: int, generator: np.random.Generator) -> Sample:
    """At most so many rows that count and as many made up ones; both signs get room."""
    made_up = np.zeros(len(sample), dtype=bool) if sample.counted is None else ~sample.counted
    if max(int(made_up.sum()), int((~made_up).sum())) <= count:
        return sample
    parts = [_of_both_signs(sample, group, count, generator) for group in (~made_up, made_up)]
    return sample.some(np.sort(np.concatenate(parts)))


def _of_both_signs(
    sample: Sample, group: NDArray[np.bool_], count: int, generator: np.random.Generator
) -> Indices:
    """At most so many rows of a group, half of each sign where both need the room."""
    chosen = []
    for sign in (1, -1):
        rows = np.flatnonzero(group & (sample.signs == sign))
        room = max(count // 2, count - (int(group.sum()) - len(rows)))
        chosen.append(rows if len(rows) <= room else generator.choice(rows, room, replace=False))
    return np.concatenate(chosen)


def _candidates(sample: Sample, growth: Growth) -> list[Candidate]:
    """Both programs for both hard classes, what is perpendicular to their directions, and turned ones."""
    planes: list[tuple[Array, int]] = []
    for answer in (-1, 1):  # hard class 1 first, as published
        planes += [(plane, answer) for plane in _solutions(sample, answer, growth)]
    found = _compared(sample, planes, flip=True)
    best = _best(found)
    if best is not None and best.gain == int(sample.gains(best.node.answer).sum()):
        return found  # nothing answers more
    main = main_directions(sample.points[sample.signs == 1], sample.points[sample.signs == -1])
    if growth.level == 1 or best is None or best.gain == 0:
        across = [side for plane, _ in planes for side in perpendiculars(plane, main)]
        both = [(sign * side, answer) for side in across for sign in (1, -1) for answer in (-1, 1)]
        found += _compared(sample, both, flip=False)
    if growth.turn:
        found += [
            _turned(sample, one, main) for one in sorted(found, key=lambda one: -one.gain)[:FINALISTS]
        ]
    return found


def _solutions(sample: Sample, answer: int, growth: Growth) -> list[Array]:
    """Directions of both programs, where the rows with another answer are hard."""
    hard, gains = sample.hard(answer), sample.gains(answer)
    real = hard if sample.counted is None else hard & sample.counted
    hard = real if real.any() else hard
    if not hard.any() or not gains.any():
        return []
    return directions(sample.points[hard], sample.points[gains], growth.ways)


def _compared(sample: Sample, planes: list[tuple[Array, int]], flip: bool) -> list[Candidate]:
    """Nodes with those planes; with `flip` one that answers nothing is turned round."""
    found = []
    for answer in (-1, 1):
        own = [plane for plane, of in planes if of == answer]
        if not own:
            continue
        hard, gains = sample.hard(answer), sample.gains(answer)
        along = projected(sample.points, np.array(own))
        for plane, values in zip(own, along.T, strict=True):
            one = _node(plane, answer, values[hard], values[gains])
            if one.gain == 0 and flip:
                one = _node(-plane, answer, -values[hard], -values[gains])
            found.append(one)
    return found


def _turned(sample: Sample, best: Candidate, main: Array) -> Candidate:
    """The node turned towards perpendicular directions, as long as it answers more rows."""
    for _ in range(TURNS):
        plane = best.node.plane
        turned = [
            (np.cos(angle) * plane + np.sin(angle) * side, best.node.answer)
            for side in perpendiculars(plane, main)
            for angle in (*ANGLES, *(-angle for angle in ANGLES))
        ]
        found = _best(_compared(sample, turned, flip=False))
        if found is None or found.gain <= best.gain:
            break
        best = found
    return best


def _judged(sample: Sample, plane: Array, answer: int) -> Candidate:
    along = projected(sample.points, plane[None])[:, 0]
    return _node(plane, answer, along[sample.hard(answer)], along[sample.gains(answer)])


def _node(plane: Array, answer: int, hard: Array, gains: Array) -> Candidate:
    at, reach = threshold(hard, gains)
    return Candidate(HalfSpace(plane, at, answer, reach), int((gains > at).sum()))


def farthest_node(sample: Sample) -> Candidate | None:
    """The row farthest from the mean, cut off with its copies: a ball touches its plane only there.

    Copies may have both signs; then most of them decide, and the others are lost.
    """
    middle = sample.points.mean(axis=0)
    away = sample.points - middle
    far = int(np.einsum("ij,ij->i", away, away).argmax())
    plane = away[far]
    length = float(np.sqrt(plane @ plane))
    if length == 0:
        return None
    plane = plane / length
    copies = (sample.points == sample.points[far]).all(axis=1)
    along = projected(sample.points, plane[None])[:, 0]
    at, reach = threshold(along[~copies], along[copies])
    answer = majority(sample.some(np.flatnonzero(copies)))
    gain = int((along > at).sum())
    return Candidate(HalfSpace(plane, at, answer, reach), gain) if gain else None
