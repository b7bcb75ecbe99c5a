"""Lists for every score, and as tables: rows of all classes go in, lists fit for a program come out.

Thresholds are set anew, node after node, for the rows left. They may stand back from hard rows by some
share of their plane's spread. Rows that a node then leaves to the next are heeded there, so that every list
of that kind is right on the rows it was grown from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.accelerate.fitting.rows import narrow, spread
from svmcompile.accelerate.h1_tree.directions import Ways
from svmcompile.accelerate.h1_tree.grow import (
    Flags,
    Growth,
    HalfSpace,
    PlaneList,
    closed,
    grow,
    prune,
    threshold,
)
from svmcompile.accelerate.h1_tree.options import DTYPES, EXIT_NODES, LIST_NODES, PAIR_NODES, ListOptions
from svmcompile.accelerate.h1_tree.rows import Pair, Rows, Sample
from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import Array, nearest_float32
from svmcompile.ir.kernel import SPARSE_ZEROS
from svmcompile.ir.kinds import Order
from svmcompile.ir.node import At
from svmcompile.ir.walks import Walk, walk_hits
from svmcompile.progress import steps

PUBLISHED = (1.0,)  # the report's remedy: equal weights, so that the hull is the mean
EXIT_WEIGHTS = (30.0, 1.0)  # weights of the hard class that are tried besides, where an SVM follows
ALL, LAST = 1 << 30, (1 << 30) - 1  # nodes of a list, with and without a closing one
OUT = "lists"
SOME_ROWS = 1000  # tell whether rows are mostly zeros
ROUNDING = 2.0**-24  # of float32
NAMES = ("list_planes", "list_thresholds", "list_starts", "list_answers", "list_rest", "list_centre")


@dataclass(frozen=True, eq=False)
class Ruler:
    """A list that was grown, its planes, and the rows that set its thresholds."""

    grown: PlaneList
    planes: Array  # [m, d], as tables hold them
    sample: Sample
    excused: tuple[Flags, ...]  # hard rows that each node answered knowingly: copies with both signs
    centre: Array

    def first(self, count: int) -> Ruler:
        """The same for the first nodes alone."""
        grown = PlaneList(self.grown.nodes[:count], self.grown.rest)
        return Ruler(grown, self.planes[:count], self.sample, self.excused[:count], self.centre)

    def settled(self, shift: float = 0.0) -> PlaneList:
        """The list with thresholds moved by that many spreads of their planes."""
        nodes, left = list[HalfSpace](), np.ones(len(self.sample), dtype=bool)
        for index, plane in enumerate(self.planes):
            along = self.sample.points @ plane
            node = self._node(index, along, left, shift)
            nodes.append(node)
            left &= ~np.asarray(along > node.threshold)
        return PlaneList(tuple(nodes), self.grown.rest)

    def _node(self, index: int, along: Array, left: Flags, shift: float) -> HalfSpace:
        plane, node, excused = self.planes[index], self.grown.nodes[index], self.excused[index]
        hard = self.sample.hard(node.answer) & (left | node.closing) & ~excused
        gains = (self.sample.gains(node.answer) | excused) & left
        at, reach = threshold(along[hard], along[gains])
        if not np.isfinite(at):  # nobody is left
            at = reach = float(along.max())
        if np.isfinite(reach):
            at = max(at, reach + self._rounding(plane, hard, at))
        move = shift * float(along.std()) if shift else 0.0
        return replace(node, plane=plane, threshold=at + move, reach=reach)

    def _rounding(self, plane: Array, hard: Flags, at: float) -> float:
        """How far float32 may move a hard row's value or the threshold."""
        sizes = np.abs(self.sample.points[hard] - self.centre) @ np.abs(plane)
        size = float(sizes.max(initial=0.0)) + abs(at - float(plane @ self.centre))
        return ROUNDING * (len(plane) + 8) * size


def ruler(found: PlaneList, planes: Array, held: list[Flags], sample: Sample, centre: Array) -> Ruler:
    """For a list that was grown; `held` are the rows each node answered."""
    left, excused = np.ones(len(sample), dtype=bool), list[Flags]()
    for node, answered in zip(found.nodes, held, strict=True):
        excused.append(answered & left & sample.hard(node.answer))
        left = left & ~answered
    return Ruler(found, planes, sample, tuple(excused), centre)


def as_stored(planes: Array, dtype: str) -> Array:
    """Planes of unit length as tables of a number type hold them."""
    stored = narrow(planes / np.sqrt(np.square(planes).sum(axis=1, keepdims=True)), dtype, "planes")
    exact = np.asarray(stored.stored * stored.units[:, None])
    return nearest_float32(exact) if dtype == "f32" else exact


@dataclass(frozen=True, eq=False)
class Forest:
    """Lists with what sets their thresholds, and what growing them was like."""

    rulers: tuple[Ruler, ...]
    order: Order
    grown: int  # planes before pruning

    def first(self, count: int) -> Forest:
        """The first nodes of every list."""
        return replace(self, rulers=tuple(one.first(count) for one in self.rulers))

    @property
    def longest(self) -> int:
        return max(len(one.planes) for one in self.rulers)

    def lists(self, shift: float = 0.0) -> Lists:
        """The lists with thresholds moved by that many spreads of their planes."""
        return Lists(tuple(one.settled(shift) for one in self.rulers), self.order)


def growth_of(options: ListOptions, several: bool) -> Growth:
    """How lists of their own grow."""
    most = options.max_nodes or (PAIR_NODES if several else LIST_NODES)
    reduced = PUBLISHED if options.paper else options.reduced.values
    ways = Ways((options.hard_weight,), options.zero_factor, reduced, seed=options.seed)
    turn = options.turn and not options.paper
    return Growth(
        ways, options.level, most, noise=options.noise, sample=options.sample, turn=turn, seed=options.seed
    )


def exit_growth(options: ListOptions, min_gain: float) -> Growth:
    """How lists before an SVM grow: few nodes, each worth its while, of many candidates."""
    whole = growth_of(options, several=False)
    weights = (options.hard_weight, *(w for w in EXIT_WEIGHTS if w < options.hard_weight))
    return replace(
        whole,
        ways=replace(whole.ways, hard_weights=weights, always_reduced=True),
        most=options.max_nodes or EXIT_NODES,
        least_gain=min_gain,
        noise=0.0,
        mixed=False,
    )


def grown(
    rows: Rows, pairs: list[Pair], growth: Growth, options: ListOptions, band: float, factor: Array | None
) -> Forest:
    """A list per pair; directions are looked for in points times `factor`."""
    centre, made, count = rows.points.mean(axis=0), list[Ruler](), 0
    factor = np.ones(rows.points.shape[1]) if factor is None else factor
    growth = replace(growth, stored=_rounding(factor, DTYPES[options.planes]))
    total = sum(int(np.isin(rows.classes, pair).sum()) for pair in pairs)
    with steps("growing lists of half-spaces", total) as advance:
        for column, pair in enumerate(pairs):
            sample = rows.sample(pair, column, band)
            seen = sample if (factor == 1).all() else replace(sample, points=sample.points * factor)
            found = grow(seen, growth, advance)
            count += len(found.nodes)
            if growth.mixed and found.nodes:
                found = prune(found, seen, options.prune_tol)
            if growth.closing and found.nodes:
                found = closed(found, seen, growth)
            held = [node.holds(seen.points) for node in found.nodes]
            planes = np.array([node.plane * factor for node in found.nodes]).reshape(-1, len(factor))
            made.append(ruler(found, planes, held, sample, centre))
    return Forest(tuple(made), options.order, count)


def _rounding(factor: Array, dtype: str) -> Callable[[Array], Array]:
    """What becomes of planes for points times `factor` once tables hold them for points as they are."""
    back = np.where(factor > 0, 1 / np.where(factor > 0, factor, 1.0), 0.0)
    return lambda planes: as_stored(planes * factor, dtype) * back


def factors(points: Array, scale: str) -> Array | None:
    """What makes features alike: their deviations or ranges go to one; constant ones are left out."""
    if scale == "none":
        return None
    width = points.std(axis=0) if scale == "std" else np.ptp(points, axis=0) / 2
    return np.where(width > 0, 1 / np.where(width > 0, width, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Lists:
    """The lists of all scores, with their planes about a centre."""

    lists: tuple[PlaneList, ...]
    order: Order = "all"

    @property
    def nodes(self) -> list[HalfSpace]:
        return [node for one in self.lists for node in one.nodes]

    @property
    def starts(self) -> NDArray[np.int32]:
        return np.concatenate([[0], np.cumsum([len(one.nodes) for one in self.lists])]).astype(np.int32)

    @property
    def planes(self) -> Array:
        return np.array([node.plane for node in self.nodes])

    @property
    def thresholds(self) -> Array:
        return np.array([node.threshold for node in self.nodes])

    @property
    def longest(self) -> int:
        return max((len(one.nodes) for one in self.lists), default=0)

    def whole(self) -> Lists:
        """Without closing nodes, which say what the rest would get anyway."""
        own = (tuple(node for node in one.nodes if not node.closing) for one in self.lists)
        rests = (one.rest for one in self.lists)
        return Lists(tuple(map(PlaneList, own, rests)), self.order)

    def first(self, count: int) -> Lists:
        """The first nodes of each list, before an end that takes the rest; below zero: all but the last."""
        lists = self.lists if count == ALL else self.whole().lists
        return Lists(tuple(PlaneList(one.nodes[:count], 0) for one in lists), self.order)

    def node(self, x: str) -> ir.PlaneLists:
        return ir.PlaneLists(OUT, x, *NAMES, self.order)

    def tables(self, width: int, centre: Array, dtype: str) -> dict[str, NDArray[Any]]:
        """Tables of the node; without any plane there is one that holds no row."""
        if not self.nodes:
            none = PlaneList((HalfSpace(np.zeros(width), 1.0, 1, 1.0),), self.lists[-1].rest)
            return Lists((*self.lists[:-1], none), self.order).tables(width, centre, dtype)
        stored = narrow(self.planes, dtype, "planes")
        thresholds = (self.thresholds - self.planes @ centre) / stored.units
        tables = {"list_planes": stored.stored, "list_thresholds": thresholds}
        return {**tables, **self._marks(), "list_centre": centre}

    def _marks(self) -> dict[str, NDArray[Any]]:
        """Where each list starts, and what its nodes and its end answer."""
        answers = np.array([float(node.answer) for node in self.nodes])
        rest = np.array([float(one.rest) for one in self.lists])
        return {"list_starts": self.starts, "list_answers": answers, "list_rest": rest}

    def walk(self, hits: NDArray[np.bool_]) -> Walk:
        """What becomes of rows of which it is known [rows, planes] which half-spaces hold them."""
        return walk_hits(At(self.node("x"), self._marks()), hits, np.float64)


def centre_of(points: NDArray[np.floating[Any]]) -> Array:
    """What planes are taken about: the rows' mean as float32 numbers, or zero if most of them is zero."""
    if np.mean(spread(points, SOME_ROWS) == 0) >= SPARSE_ZEROS:
        return np.zeros(points.shape[1])
    return nearest_float32(points.mean(axis=0, dtype=np.float64))
