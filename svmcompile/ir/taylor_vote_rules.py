"""Type and cost of a vote of Taylor polynomials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from svmcompile.ir import nodes as ir
from svmcompile.ir.champions import UNSURE, pair_indices
from svmcompile.ir.kernel import Array
from svmcompile.ir.needs import (
    Tables,
    Types,
    class_counts,
    features,
    float32_only,
    need,
    pair_count,
    shapes,
    sound_kernel,
    within,
)
from svmcompile.ir.nodes import Kind, Type
from svmcompile.ir.rules import result_type
from svmcompile.ir.taylor_vote_meaning import Votes

CHUNK_VALUES = 1 << 20


@result_type.register
def _(node: ir.TaylorVote, types: Types, tables: Tables) -> Type:
    class_counts(node.counts)
    sound_kernel(node.kernel)
    need(node.kernel.kind == "rbf" and node.kernel.gamma >= 0, "only RBF sums have these polynomials")
    need(math.isfinite(node.reach) and 0 <= node.slack < 1 and node.rank >= 0, "a number makes no sense")
    k, d = len(node.counts), features(node, types)
    exact = types[node.exact]
    need((exact.kind, exact.width) == (Kind.LABEL, k), f"%{node.exact} is not a label of these classes")
    need(tables[node.vectors].ndim == 3, "vectors are not in blocks")
    need(tables[node.gaps].ndim == 5 and tables[node.gaps].size > 0, "gaps are missing")
    _shapes(node, tables, k, d)
    _routes(node, tables)
    float32_only(tables, node.centres)
    need(bool((tables[node.steps] > 0).all()), "steps are not above zero")
    for name in (node.gaps, node.margins, node.loose, node.rounding, node.closer):
        need(bool((tables[name] >= 0).all()), f"@{name} holds bounds below zero")
    return Type(Kind.LABEL, k)


def _shapes(node: ir.TaylorVote, tables: Tables, k: int, d: int) -> None:
    blocks, _, lanes = tables[node.vectors].shape
    orders, centres, cells, _, _ = tables[node.gaps].shape
    need(orders in (1, 2), f"order {orders} is neither 1 nor 2")
    need(all(count % lanes == 0 for count in node.counts), "a class does not end with a block")
    need(sum(node.counts) == blocks * lanes, "counts do not add up to the vectors")
    others, along, own = _whole(k - 1, lanes), node.rank or d, node.rank > 0
    rank, n = _whole(along, lanes), sum(_whole(row, lanes) for row in range(1, along + 1))
    guess, slopes, axes = ((count, d) for count in (_whole(k, lanes), others, rank))
    if lanes > 1:
        guess, slopes, axes = guess[::-1], slopes[::-1], axes[::-1]
    tests = len(tables[node.children]) if tables[node.planes].ndim > 1 else 0
    starts = (centres, others + (_whole(node.rank, lanes) if node.rank else 0))
    shapes(
        tables,
        guess_weights=(node.guess_weights, guess),
        guess_bias=(node.guess_bias, (_whole(k, lanes),)),
        roots=(node.roots, (k,)),
        planes=(node.planes, (tests, d) if tests else (1,)),
        thresholds=(node.thresholds, (max(tests, 1),)),
        children=(node.children, (max(tests, 1), 2)),
        centres=(node.centres, (centres, d)),
        steps=(node.steps, (centres,)),
        offsets=(node.offsets, (k, others)),
        constants=(node.constants, (centres, others)),
        slopes=(node.slopes, (centres, *slopes)),
        axes=(node.axes, (centres, *axes) if own else (1,)),
        squares=(node.squares, (centres, k - 1, n) if orders > 1 else (1,)),
        middles=(node.middles, (centres, others) if own else (1,)),
        loose=(node.loose, (centres, 2, others) if own else (1,)),
        gaps=(node.gaps, (orders, centres, cells, 2, others)),
        margins=(node.margins, (orders, centres, others)),
        vectors=(node.vectors, (blocks, d, lanes)),
        weights=(node.weights, (k - 1, blocks * lanes)),
        bias=(node.bias, (pair_count(k),)),
        rounding=(node.rounding, (pair_count(k), 2)),
        closer=(node.closer, (pair_count(k), 2)),
        norms=(node.norms, (sum(node.counts),) if len(tables[node.norms]) > 1 else (1,)),
        starts=(node.starts, starts if tables[node.starts].ndim > 1 else (1,)),
    )


def _whole(count: int, lanes: int) -> int:
    return count + -count % lanes


def _routes(node: ir.TaylorVote, tables: Tables) -> None:
    """Tests lead on to later tests or to centres."""
    roots, children = tables[node.roots], tables[node.children]
    centres = len(tables[node.centres])
    within(~roots[roots < 0], centres, "a root")
    if tables[node.planes].ndim == 1:
        need(bool((roots < 0).all()), "a root is a test, and there are none")
        return
    within(roots[roots >= 0], len(children), "a root")
    within(~children[children < 0], centres, "a child")
    own = np.arange(len(children))[:, None]
    later = (children < 0) | ((children > own) & (children < len(children)))
    need(bool(later.all()), "a test does not lead on to a later one or to a centre")


@dataclass(frozen=True, slots=True)
class VoteWork:
    """What rows meet in a vote of Taylor polynomials."""

    values: Array  # [rows], kernel values
    flops: Array  # [rows], beside those of the values
    unsure: NDArray[np.bool_]  # [rows]


def vote_work(node: ir.TaylorVote, x: NDArray[Any], tables: Mapping[str, NDArray[Any]]) -> VoteWork:
    """What each row costs."""
    step = max(1, CHUNK_VALUES // tables[node.slopes][0].size)
    starts = range(0, len(x), step) or range(1)
    parts = [_part(node, x[at : at + step], tables) for at in starts]
    fields = [(part.values, part.flops, part.unsure) for part in parts]
    return VoteWork(*(np.concatenate(arrays) for arrays in zip(*fields, strict=True)))


def _part(node: ir.TaylorVote, x: NDArray[Any], tables: Mapping[str, NDArray[Any]]) -> VoteWork:
    met, counts = Votes(node, x, tables).settled(), np.array(node.counts)
    prices = vote_flops(node, tables)
    flops: Any = prices.guess + prices.centre * met.champions + prices.test * met.tests
    flops = flops + prices.first * met.tried[:, 0] + prices.turn * met.tried[:, 1]
    flops = flops + prices.second * met.pairs[:, 0] + met.direct @ prices.direct
    return VoteWork((met.values @ counts).astype(np.float64), flops, met.label == UNSURE)


@dataclass(frozen=True, slots=True)
class VoteFlops:
    """Flops of the parts of a vote."""

    guess: int
    test: int
    centre: int  # the way from a centre
    first: int  # all pairs of a champion
    turn: int  # coordinates and their products, once for all pairs
    second: int  # a pair
    direct: Array  # [pairs], beside kernel values


def vote_flops(node: ir.TaylorVote, tables: Mapping[str, NDArray[Any]]) -> VoteFlops:
    """Of a node, from the shapes of its tables."""
    k, d = len(node.counts), tables[node.centres].shape[1]
    along = node.rank or d
    products = along * (along + 1) // 2
    turn = products + (2 * node.rank * (d + 1) + 3 if node.rank else 0)
    direct = np.array([4 * (node.counts[i] + node.counts[j]) for i, j in pair_indices(k)])
    return VoteFlops(2 * d * k, 2 * d, 3 * d + 18, (k - 1) * (2 * d + 6), turn, 2 * products + 12, direct)


def most_vote_work(node: ir.TaylorVote, tables: Mapping[str, NDArray[Any]]) -> tuple[float, float]:
    """Kernel values and flops of a row that meets everything."""
    prices, k = vote_flops(node, tables), len(node.counts)
    tests = len(tables[node.children]) if tables[node.planes].ndim > 1 else 0
    champion = prices.centre + prices.first + prices.turn + (k - 1) * prices.second
    return float(sum(node.counts)), float(
        prices.guess + k * champion + tests * prices.test + prices.direct.sum()
    )
