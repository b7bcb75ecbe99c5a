"""Bounded sums and votes for C: stages, vectors and triangles in blocks of lanes; jets where they pay.

A stage may come later than the math node asks, never earlier. What a row keeps
of the kernel's space only shrinks with more coordinates, and rounding only
grows; so a stage at a block's end takes the residual of the stage before it and
the slack and margin of the one after it. Bounds are rounded upwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.arithmetic import ARITHMETIC, Array, Number
from svmcompile.ir.graph import Tables, fresh, maker
from svmcompile.ir.layout import in_blocks
from svmcompile.ir.node import At
from svmcompile.ir.program import Program
from svmcompile.ir.stages import estimate_of
from svmcompile.lower.sums import (
    LANES,
    LARGEST,
    LIMITS,
    Lowered,
    check_reach,
    class_order,
    filled,
    in_lanes,
    picked,
)

Bounded = ir.BoundedSum | ir.BoundedVote
UNIT = 1.01 * 2.0**-24
MOST_COPIES, NEAR_NUMBERS = 2, 1 << 18  # of vectors in the bases of pairs; numbers that a near cache holds
# More than what a comparison of a score with its error adds to the rounding of each.
ABOVE: dict[Number, float] = {"f32": 1 + 2e-6, "f64": 1 + 1e-14}
NEVER = 1e30  # a margin that no score is above


def stage(program: Program, node: Bounded, number: Number, profile: str) -> Lowered:
    """The machine nodes and tables of one bounded node."""
    lay_out: Any = _sum if isinstance(node, ir.BoundedSum) else _vote
    if node.kernel.kind == "precomputed":  # its caller is asked for one value at a time
        points = program.tables[node.vectors].astype(np.int32)
        found, tables = lay_out(program, node, node.x, points, number, 1)
        return [found], tables | {node.vectors: tables[node.vectors].astype(np.int32)}
    lanes = LANES[number] if profile == "host" else 1
    prepare, made, moved = prepare_for(program, node, number)
    vectors = program.tables[node.vectors] - moved
    found, tables = lay_out(program, node, prepare.out, vectors, number, lanes)
    return [prepare, found], made | tables


def prepare_for(
    program: Program, node: Bounded | ir.TaylorVote, number: Number, moves: bool = True
) -> tuple[ir.Prepare, Tables, Array]:
    """What marks rows that are not finite; takes in a scaling, and how far the vectors move with it.

    A node whose tables do not move takes in no scaling that adds something.
    """
    rbf = node.kernel.kind == "rbf"
    scale = maker(program, node.x)
    width = program.tables[node.vectors].shape[1]
    x, shift, factor, moved = node.x, np.zeros(width), np.ones(width), np.zeros(width)
    if isinstance(scale, ir.Scale) and ((rbf and moves) or not program.tables[scale.offset].any()):
        x = scale.x
        shift, factor, moved = (program.tables[t] for t in (scale.shift, scale.factor, scale.offset))
    names = fresh(node.out, "shift", program.tables), fresh(node.out, "factor", program.tables)
    out = fresh(node.out, "z", [program.input.name, *(item.out for item in program.body)])
    limit = LIMITS[number] if rbf else LARGEST[number]
    if rbf:
        check_reach(program.tables[node.vectors], number)
    return ir.Prepare(out, x, *names, limit), dict(zip(names, (shift, factor), strict=True)), moved


@dataclass(frozen=True, slots=True)
class _Stages:
    """Where stages end, and their bounds."""

    ends: NDArray[np.int64]
    residuals: Array
    slacks: Array
    margins: Array

    def at(self, places: NDArray[np.int64], rank: int) -> tuple[NDArray[np.int64], _Stages]:
        """Stages at these places, where they tell something new, and whose turn it is at each.

        With more coordinates than the stage asked for, rounding is as after the next one; that is
        known only if the next one has coordinates alone, too.
        """
        kept: list[int] = []
        turns: list[int] = []
        rounds: list[int] = []
        for place in places.tolist():
            turn = int(np.searchsorted(self.ends, place, side="right")) - 1
            has = min(place, rank)
            more = turn >= 0 and self.ends[turn] < has
            known = not more or (turn + 1 < len(self.ends) and self.ends[turn + 1] <= rank)
            again = bool(turns) and turns[-1] == turn and min(kept[-1], rank) == has
            if turn >= 0 and known and not again:
                kept.append(place)
                turns.append(turn)
                rounds.append(turn + more)
        slacks, margins = (np.maximum(t[turns], t[rounds]) for t in (self.slacks, self.margins))
        return np.array(turns), _Stages(np.array(kept), self.residuals[turns], slacks, margins)


def _stages(node: Bounded, tables: Any, ends: NDArray[Any], part: slice = slice(None)) -> _Stages:
    residuals, slacks, margins = (tables[t][part] for t in (node.residuals, node.slacks, node.margins))
    return _Stages(ends.astype(np.int64), residuals, slacks, margins)


def _sum(
    program: Program, node: ir.BoundedSum, x: str, vectors: Array, number: Number, lanes: int
) -> tuple[ir.BoundedSum, Tables]:
    tables, rank = program.tables, len(program.tables[node.projection])
    asked = _stages(node, tables, tables[node.ends])
    places = asked.ends
    if lanes > 1:
        places = np.arange(lanes, asked.ends[-1] + lanes, lanes)
    turns, stages = asked.at(places, rank)
    estimates = [
        filled(estimate_of(At(node, tables), int(turn)), int(place))
        for turn, place in zip(turns, stages.ends, strict=True)
        if place > rank
    ]
    spread = [np.abs(estimate).sum() for estimate in estimates]
    beyond = stages.margins.copy()  # room for sums that the math node makes in another way
    beyond[len(beyond) - len(spread) :] += UNIT * (stages.ends[len(beyond) - len(spread) :] + 4) * spread
    made = {
        node.vectors: in_lanes(vectors, lanes),
        node.weights: filled(tables[node.weights], len(vectors) + -len(vectors) % lanes),
        node.bias: tables[node.bias],
        node.ends: stages.ends,
        node.coordinates: in_blocks(tables[node.coordinates], rank, lanes),
        node.projection: filled(tables[node.projection], max(1, rank + -rank % lanes)),
        node.estimates: np.concatenate(estimates) if estimates else np.zeros(1),
        **_bounds(node, tables, number, stages.residuals, stages.slacks, beyond),
    }
    exact = node.exact if node.tolerance < 0 else program.input.name
    return replace(node, x=x, exact=exact, rank=rank), made


def _vote(
    program: Program, node: ir.BoundedVote, x: str, vectors: Array, number: Number, lanes: int
) -> tuple[ir.BoundedVote, Tables]:
    tables = program.tables
    order = class_order(node.counts, lanes)
    counts = tuple(count + -count % lanes for count in node.counts)
    parts = _pairs(node, tables, lanes)
    picks = np.concatenate([part.picks for part in parts])
    ends = ("residuals", "slacks", "margins")
    bounds: Any = [np.concatenate([getattr(part.stages, end) for part in parts]) for end in ends]
    made = {
        node.vectors: in_lanes(picked(vectors, order), lanes),
        node.weights: picked(tables[node.weights].T, order).T,
        node.bias: tables[node.bias],
        node.starts: np.concatenate([[0], np.cumsum([len(part.picks) for part in parts])]),
        node.picks: np.argsort(np.where(order < 0, len(order), order))[picks],
        node.coordinates: np.concatenate([part.coordinates for part in parts]),
        node.projections: np.concatenate([part.projection for part in parts]),
        **_bounds(node, tables, number, *bounds),
    }
    basis = ""
    if lanes > 1:
        basis = fresh(node.out, "basis", tables)
        made[basis] = in_lanes(vectors[picks], lanes)
    block = node.block + -node.block % lanes
    return replace(node, x=x, block=block, counts=counts, basis=basis), made


@dataclass(frozen=True, slots=True)
class _Pair:
    """One pair of a vote, filled up to whole blocks."""

    picks: NDArray[np.int64]
    coordinates: Array
    projection: Array
    stages: _Stages


def _pairs(node: ir.BoundedVote, tables: Any, lanes: int) -> list[_Pair]:
    starts = tables[node.starts].astype(np.int64)
    most = _most_values(tables[node.vectors].shape, np.diff(starts), lanes)
    block, found, triangle, first = node.block + -node.block % lanes, [], 0, 0
    for start, stop in pairwise(starts.tolist()):
        asked = np.minimum(np.arange(node.block, stop - start + node.block, node.block), stop - start)
        part = slice(first, first + len(asked))
        least = int(asked[0]) + -int(asked[0]) % lanes
        size = min(stop - start, max(most, least))
        whole = size + -size % lanes
        places = np.minimum(np.arange(block, whole + block, block), whole)
        _, stages = _stages(node, tables, asked, part).at(places, stop - start)
        assert len(stages.ends) == len(places), "a pair's stages are all kept"
        coordinates = in_blocks(tables[node.coordinates][triangle:], size, lanes)
        picks = tables[node.picks][start : start + size].astype(np.int64)
        picks = np.concatenate([picks, np.repeat(picks[-1:], whole - size)])
        projection = filled(tables[node.projections][start : start + size], whole)
        found.append(_Pair(picks, coordinates, projection, stages))
        triangle, first = triangle + (stop - start) * (stop - start + 1) // 2, part.stop
    return found


def _most_values(shape: tuple[int, ...], sizes: NDArray[np.int64], lanes: int) -> int:
    """How many values the basis of a pair may have, where pairs have vectors of their own.

    All of them together take no more than a few times the vectors or a near cache; a pair that is
    not sure by then needs its classes' vectors, which serve the other pairs, too.
    """
    if lanes == 1:
        return int(sizes.max())
    room = max(MOST_COPIES * shape[0], NEAR_NUMBERS // shape[1])
    most = int(sizes.max())
    while most > lanes and np.minimum(sizes, most).sum() > room:
        most -= lanes
    return max(lanes, most // lanes * lanes) if most < sizes.max() else most


def _bounds(
    node: Bounded, tables: Any, number: Number, residuals: Array, slacks: Array, margins: Array
) -> Tables:
    """The tables of bounds, each number rounded upwards; a rounded bias is made up for."""
    lost = lost_of(tables[node.bias], number)
    rounding = tables[node.rounding] + np.array([0.0, lost])
    bounds = {
        node.residuals: np.square(residuals * ABOVE[number]),
        node.slacks: slacks,
        node.margins: margins + lost,
        node.rounding: rounding,
    }
    return {name: upwards(table, number) for name, table in bounds.items()}


def lost_of(bias: Array, number: Number) -> float:
    """What biases lose by rounding."""
    return float(np.abs(bias - bias.astype(np.float32)).max()) if number == "f32" else 0.0


def upwards(table: Array, number: Number) -> Array:
    """Numbers that rounding cannot make smaller than they are meant, nor lose below the smallest."""
    above = np.maximum(table * ABOVE[number], ARITHMETIC[number].smallest)
    if number == "f64":
        return above
    with np.errstate(over="ignore"):
        rounded = above.astype(np.float32)
    over = np.nextafter(rounded, np.float32(np.inf))
    return np.where(rounded < above, over, rounded).astype(np.float64)


def lay_out_jets(
    program: Program, node: ir.JetSum, number: Number, profile: str
) -> tuple[list[ir.Node], Tables]:
    """The machine nodes and tables; a host meets so many vectors at once that jets would save it little."""
    if profile == "host":
        plain, made = without_jets(node, program.tables)
        return stage(program.replace(tables={**program.tables, **made}), plain, number, profile)
    check_reach(program.tables[node.vectors], number)
    return [node], {name: program.tables[name] for name in ir.table_names(node)}


def without_jets(node: ir.JetSum, tables: Mapping[str, NDArray[Any]]) -> tuple[ir.BoundedSum, Tables]:
    """The same sum with one stage that is never sure: every row meets all vectors."""
    taken, made = [*tables], dict[str, NDArray[Any]]()

    def own(end: str, table: NDArray[Any]) -> str:
        taken.append(fresh(node.out, end, taken))
        made[taken[-1]] = table
        return taken[-1]

    made |= {name: tables[name] for name in (node.vectors, node.weights, node.bias, node.rounding)}
    found = ir.BoundedSum(
        node.out, node.x, node.exact, node.vectors, node.weights, node.bias,
        own("stages", np.ones(1, dtype=np.int32)), own("coordinates", np.zeros(1)),
        own("projection", np.zeros(0)), own("estimates", np.zeros(1)), own("residuals", np.ones(1)),
        own("slacks", np.zeros(1)), own("never", np.full(1, NEVER)), node.rounding,
        float(np.linalg.norm(tables[node.vectors], axis=1).max()), -1.0, node.kernel,
    )  # fmt: skip
    return found, made
