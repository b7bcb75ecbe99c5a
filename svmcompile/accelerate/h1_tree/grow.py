"""grow: a sample goes in, a list of half-spaces that answers it comes out, and no node too many.

Node after node, the direction that answers most rows without answering a hard one is taken and those rows
are dropped, until one sign is left. (Zapien Arreola, Fehr and Burkhardt, section 3.2 and 4.3.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import in_blocks
from svmcompile.accelerate.h1_tree.directions import Ways, directions, main_directions, perpendiculars
from svmcompile.accelerate.h1_tree.rows import Sample, Signs
from svmcompile.ir.arithmetic import Array

Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]
ANGLES = tuple(np.radians((2.0, 5.0, 12.0, 30.0)))
TURNS = 8
FINALISTS = 4  # directions that are tried on all rows, where candidates were compared on some
PACE = 20  # nodes that tell how fast a list goes on


@dataclass(frozen=True, slots=True)
class How:
    """How the direction of a plane was found: what the report's Table 4.1 has of each node."""

    program: str  # that gave it, or gave the one it is made of
    sign: int = 1  # -1: turned round
    perpendicular: bool = False  # to what the program gave
    turned: bool = False  # step by step


@dataclass(frozen=True, slots=True, eq=False)
class HalfSpace:
    """Rows with plane . x > threshold get the answer; no hard row went beyond `reach` when it was set."""

    plane: Array
    threshold: float
    answer: int  # 1 or -1
    reach: float
    how: How = How("none")
    closing: bool = False  # rows that earlier nodes answered held it back as well

    def holds(self, points: Array) -> Flags:
        return np.asarray(points @ self.plane > self.threshold)


@dataclass(frozen=True, slots=True, eq=False)
class PlaneList:
    """Half-spaces in their order; rows none of them holds get the rest (0: nobody knows)."""

    nodes: tuple[HalfSpace, ...]
    rest: int

    def answers(self, points: Array) -> NDArray[np.int64]:
        """What the list says of each row."""
        out = np.full(len(points), self.rest, dtype=np.int64)
        for node in reversed(self.nodes):
            out[node.holds(points)] = node.answer
        return out


def threshold(hard: Array, gains: Array, noise: float = 0.0) -> tuple[float, float]:
    """(threshold, reach) from projections: halfway from the last hard row to the first row beyond it.

    Without a row beyond, the last hard row itself. With `noise` the last hard row that counts is the
    first before which rows are pure enough.
    """
    reach = _impure(hard, gains, noise) if noise else float(hard.max(initial=-np.inf))
    beyond = gains[gains > reach]
    if not len(beyond):
        return reach, reach
    first = float(beyond.min())
    if reach == -np.inf:
        return float(np.nextafter(first, -np.inf)), reach
    middle = reach + (first - reach) / 2
    return (middle if middle < first else reach), reach


def _impure(hard: Array, gains: Array, noise: float) -> float:
    """The hard row beyond which most rows lie, of which no larger share than `noise` is hard."""
    last = np.sort(hard)[::-1]
    wrong = np.searchsorted(-last, -last, side="left")  # hard rows beyond each, without its equals
    right = len(gains) - np.searchsorted(np.sort(gains), last, side="right")
    pure = np.flatnonzero(wrong <= noise * (wrong + right))
    return float(last[pure[-1]]) if len(pure) else -np.inf


def projected(points: Array, planes: NDArray[Any], block: int = 1 << 22) -> Array:
    """points . planes [rows, planes], in blocks that bound what is made on the way."""
    step = max(1, block // max(1, planes.shape[0]))
    return in_blocks(lambda block: block @ planes.T, points, step)


@dataclass(frozen=True, slots=True)
class Growth:
    """How a list grows."""

    ways: Ways = field(default_factory=Ways)
    level: int = 0  # 1: perpendicular directions at every node, 0: only where nothing else helps
    most: int = 150  # nodes
    least_gain: float = 0.0  # of the rows that count; a node that answers fewer ends the list
    noise: float = 0.0  # share of the rows a node answers that may be hard
    sample: int = 4000  # rows that directions are made from and compared on
    turn: bool = True  # the best directions are turned for as long as that answers more rows
    stored: Callable[[Array], Array] = lambda planes: planes  # planes as tables will hold them
    mixed: bool = True  # the rest gets a sign; else rows that no node answers are left open
    closing: bool = False  # a complete list gets one more node, for the rest that is left
    gives_up: bool = False  # ends a list that would not be complete with the most nodes
    seed: int = 0


Aim = tuple[Array, int, How]  # a direction, what its node would answer, and how it was found


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
    left, sizes = sample, [len(sample)]
    while len(nodes) < growth.most and not (growth.gives_up and _is_hopeless(sizes, growth.most)):
        found = _next_node(sample, left, nodes, growth, generator)
        if found is None or found.gain < enough:
            break
        nodes.append(found.node)
        kept = np.flatnonzero(~found.node.holds(left.points))
        advance(len(alive) - len(kept))
        alive = alive[kept]
        left = sample.some(alive)
        sizes.append(len(alive))
    advance(len(alive))
    return PlaneList(tuple(nodes), majority(left) if growth.mixed else 0)


def _is_hopeless(sizes: list[int], most: int) -> bool:
    """Whether, at the pace of the last nodes, rows would be left after all nodes; of rows left so far."""
    if len(sizes) <= PACE:
        return False
    pace = (sizes[-1 - PACE] - sizes[-1]) / PACE
    return pace * (most + 1 - len(sizes)) < sizes[-1]


def closed(found: PlaneList, sample: Sample, growth: Growth) -> PlaneList:
    """The list with a node for the sign that its rest has, which leaves the space between open."""
    held = [node.holds(sample.points) for node in found.nodes]
    left = sample.some(np.flatnonzero(~np.any(held, axis=0)))
    if _is_mixed(left):
        return found
    last = closing_node(sample, left, list(found.nodes), growth, np.random.default_rng(growth.seed))
    return found if last is None or last.gain == 0 else PlaneList((*found.nodes, last.node), found.rest)


def _next_node(
    sample: Sample, left: Sample, nodes: list[HalfSpace], growth: Growth, generator: np.random.Generator
) -> Candidate | None:
    """The best node for the rows left; None where the list is complete."""
    if _is_mixed(left):
        found = best_node(left, growth, generator)
        return farthest_node(left, growth) if found is None and growth.mixed else found
    return None if growth.mixed else closing_node(sample, left, nodes, growth, generator)


def closing_node(
    sample: Sample, left: Sample, nodes: list[HalfSpace], growth: Growth, generator: np.random.Generator
) -> Candidate | None:
    """A node for rows of one sign that are left, where what is not answered is not known.

    With nobody to hold it back it would answer all of space, so it heeds rows answered before. The
    other side of an earlier plane will often do.
    """
    if not len(left):
        return None
    answer = majority(left)
    rows = left.joined(sample.some(np.flatnonzero(sample.hard(answer))))
    other_sides = [(-node.plane, answer, replace(node.how, sign=-node.how.sign)) for node in nodes]
    found = _best(_compared(rows, other_sides, growth, flip=False))
    if found is None or not _is_complete(rows, found):
        both = (found, best_node(rows, growth, generator, answer))
        found = _best([one for one in both if one is not None])
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
        tried = [_judge(sample, one.node, growth.noise) for one in ordered]
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


def _of_both_signs(sample: Sample, group: Flags, count: int, generator: np.random.Generator) -> Indices:
    """At most so many rows of a group, half of each sign where both need the room."""
    chosen = []
    for sign in (1, -1):
        rows = np.flatnonzero(group & (sample.signs == sign))
        room = max(count // 2, count - (int(group.sum()) - len(rows)))
        chosen.append(rows if len(rows) <= room else generator.choice(rows, room, replace=False))
    return np.concatenate(chosen)


def _candidates(sample: Sample, growth: Growth) -> list[Candidate]:
    """Both programs for both hard classes, what is perpendicular to their directions, and turned ones."""
    found = _solutions(sample, growth)
    best = _best(found)
    if not found or (best is not None and _is_complete(sample, best)):
        return found
    main = main_directions(sample.points[sample.signs == 1], sample.points[sample.signs == -1])
    if growth.level == 1 or best is None or best.gain == 0:
        across = [
            (side, replace(one.node.how, perpendicular=True))
            for one in found
            for side in perpendiculars(_unit(one.node.plane), main)
        ]
        both = [
            (sign * side, answer, replace(how, sign=sign))
            for side, how in across
            for sign in (1, -1)
            for answer in _answers(sample)
        ]
        found += _compared(sample, both, growth, flip=False)
    if growth.turn:
        ordered = sorted(found, key=lambda one: -one.gain)[:FINALISTS]
        found += [_turned(sample, one, main, growth) for one in ordered]
    return found


def _is_complete(sample: Sample, one: Candidate) -> bool:
    """Whether it answers all that it could."""
    return one.gain == int(sample.gains(one.node.answer).sum())


def _solutions(sample: Sample, growth: Growth) -> list[Candidate]:
    """Nodes of both programs for both answers; the search ends with one that nothing can surpass."""
    found: list[Candidate] = []
    for answer in _answers(sample):
        hard, gains = sample.hard(answer), sample.gains(answer)
        real = hard if sample.counted is None else hard & sample.counted
        hard = real if real.any() else hard
        if not hard.any() or not gains.any():
            continue
        for program, plane in directions(sample.points[hard], sample.points[gains], growth.ways):
            found += _compared(sample, [(plane, answer, How(program))], growth, flip=True)
            if answer == majority(sample) and _is_complete(sample, found[-1]):
                return found
    return found


def _answers(sample: Sample) -> tuple[int, int]:
    """Both answers; of equal candidates the first wins, so their order depends on rows, not on names."""
    total = int(sample.signs.sum(dtype=np.int64)) or int(sample.signs[0])
    return (1, -1) if total > 0 else (-1, 1)


def _compared(sample: Sample, aims: list[Aim], growth: Growth, flip: bool) -> list[Candidate]:
    """Nodes with those directions; with `flip` one that answers nothing is turned round."""
    found = []
    for answer in _answers(sample):
        own = [(plane, how) for plane, of, how in aims if of == answer]
        if not own:
            continue
        planes = growth.stored(np.array([plane for plane, _ in own]))
        hard, gains = sample.hard(answer), sample.gains(answer)
        along = projected(sample.points, planes)
        for plane, (_, how), values in zip(planes, own, along.T, strict=True):
            one = _node(plane, answer, how, values[hard], values[gains], growth.noise)
            if one.gain == 0 and flip:
                turned = replace(how, sign=-1)
                one = _node(-plane, answer, turned, -values[hard], -values[gains], growth.noise)
            found.append(one)
    return found


def _unit(plane: Array) -> Array:
    return plane / np.sqrt(plane @ plane)


def _turned(sample: Sample, best: Candidate, main: Array, growth: Growth) -> Candidate:
    """The node turned towards perpendicular directions, as long as it answers more rows."""
    for _ in range(TURNS):
        plane, how = _unit(best.node.plane), replace(best.node.how, turned=True)
        turned = [
            (np.cos(angle) * plane + np.sin(angle) * side, best.node.answer, how)
            for side in perpendiculars(plane, main)
            for angle in (*ANGLES, *(-angle for angle in ANGLES))
        ]
        found = _best(_compared(sample, turned, growth, flip=False))
        if found is None or found.gain <= best.gain:
            break
        best = found
    return best


def _judge(sample: Sample, node: HalfSpace, noise: float) -> Candidate:
    """The node with a threshold for this sample."""
    along = projected(sample.points, node.plane[None])[:, 0]
    hard, gains = along[sample.hard(node.answer)], along[sample.gains(node.answer)]
    return _node(node.plane, node.answer, node.how, hard, gains, noise)


def _node(plane: Array, answer: int, how: How, hard: Array, gains: Array, noise: float) -> Candidate:
    at, reach = threshold(hard, gains, noise)
    lost = int((hard > at).sum()) if noise else 0
    return Candidate(HalfSpace(plane, at, answer, reach, how), int((gains > at).sum()) - lost)


def farthest_node(sample: Sample, growth: Growth) -> Candidate | None:
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
    plane = growth.stored(plane[None] / length)[0]
    copies = (sample.points == sample.points[far]).all(axis=1)
    along = projected(sample.points, plane[None])[:, 0]
    at, reach = threshold(along[~copies], along[copies])
    answer = majority(sample.some(np.flatnonzero(copies)))
    gain = int((along > at).sum())
    return Candidate(HalfSpace(plane, at, answer, reach, How("farthest row")), gain) if gain else None


def prune(found: PlaneList, sample: Sample, tolerance: float = 0.0) -> PlaneList:
    """Drops a node if the errors on the sample do not grow, or by at most that share of the rows.

    What is dropped may make another node idle, so it goes over the list until nothing changes.
    """
    rows = sample.real
    holds = [node.holds(rows.points) for node in found.nodes]
    allowed = _errors(found.nodes, holds, rows.signs, found.rest) + int(tolerance * len(rows))
    kept = list(range(len(found.nodes)))
    while True:
        before = len(kept)
        for index in sorted(kept, reverse=True):
            if len(kept) == 1:
                break
            without = [one for one in kept if one != index]
            nodes, some = [found.nodes[one] for one in without], [holds[one] for one in without]
            if _errors(nodes, some, rows.signs, found.rest) <= allowed:
                kept = without
        if len(kept) == before:
            return PlaneList(tuple(found.nodes[one] for one in kept), found.rest)


def _errors(nodes: Sequence[HalfSpace], holds: list[Flags], signs: Signs, rest: int) -> int:
    """Rows that get another sign than theirs."""
    said = np.full(len(signs), rest, dtype=np.int8)
    for node, held in zip(reversed(nodes), reversed(holds), strict=True):
        said[held] = node.answer
    return int((said != signs).sum())
